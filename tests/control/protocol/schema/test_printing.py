"""Our JSON Schemas: printed from the typed payloads, under the published names, and three readers with one verdict."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import inspect

from docs.schemas import printed
from sayso.control.protocol.envelope import convert_envelope, convert_provider_envelope
from sayso.control.protocol.packs import PackDocument
from sayso.control.protocol.schema.printing import BASE, branch_of, documents
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES
from sayso.core import strictjson
from sayso.core.refusal import Refused
from tests.control.protocol.seeds import seeds
from tests.control.protocol.seeds import struct as filled
from tests.control.protocol.shapes import envelopes, spoilt, struct
from tests.control.protocol.test_types import mutations


@cache
def our(address: str) -> Any:
    registry = jsonschema_rs.Registry([(document["$id"], document) for document in documents().values()])
    return jsonschema_rs.validator_for({"$ref": address}, registry=registry)


def ours(value: dict[str, Any]) -> Any:
    is_provider = str(value.get("type")) in PROVIDER_TYPES
    return our(f"{BASE}{'provider-' if is_provider else ''}envelope.schema.json")


def is_read(value: dict[str, Any]) -> bool:
    convert = convert_provider_envelope if str(value.get("type")) in PROVIDER_TYPES else convert_envelope
    try:
        convert(value)
    except Refused:
        return False
    return True


def test_the_printed_files_are_what_the_payloads_say() -> None:
    """A schema beside the code that says something else would be a second truth."""
    assert {path.name: path.read_text() for path in printed()} == {path.name: text for path, text in printed().items()}


@pytest.mark.req("OAP-207")
def test_every_document_is_a_valid_schema_under_an_address_of_ours() -> None:
    """Other programs can register the files as they are; no reference leads out of the bundle."""
    for name, document in documents().items():
        jsonschema_rs.meta.validate(document)
        assert document["$id"] == f"{BASE}{name}"
        our(document["$id"])


@pytest.mark.req("OAP-023", "OAP-031")
def test_documents_and_their_definitions_have_the_published_names(shared: Path) -> None:
    """Whoever knows the published bundle finds the same shape under the same name."""
    published = {}
    for path in sorted((shared / "oap" / "schema" / "v0.1").glob("*.schema.json")):
        published[path.name] = set(json.loads(path.read_text()).get("$defs", {}))
    left_out = {name for name in published if name.startswith(("presentation", "manifest"))}
    assert {name: set(document["$defs"]) for name, document in documents().items()} == {
        name: names for name, names in published.items() if name not in left_out
    }


@pytest.mark.req("OAP-032")
def test_schema_and_reader_agree_on_a_packs_document(beside: Path | None) -> None:
    """A pack's author may check `pack.json` with the printed schema, and the loader will say the same of its shape."""
    schema = our(f"{BASE}pack.schema.json")
    theirs = published(beside / "oap" / "schema" / "v0.1", "pack.schema.json") if beside else schema
    whole = filled(inspect.type_info(PackDocument))  # type: ignore[arg-type]
    whole["id"] = "dev.sayso.x"
    assert schema.is_valid(whole)
    for path, what, changed in mutations(whole):
        try:
            msgspec.convert(changed, PackDocument, strict=True)
        except msgspec.ValidationError:
            is_pack = False
        else:
            is_pack = True
        assert {is_pack, theirs.is_valid(changed)} == {schema.is_valid(changed)}, (path, what)


def test_every_type_has_a_branch_that_accepts_its_full_envelope() -> None:
    """The branch of a type explains a refusal better than the choice among all branches can."""
    assert {name for name, seed in seeds().items() if our(str(branch_of(name))).is_valid(seed)} == {
        *AGENT_TYPES,
        *PROVIDER_TYPES,
    }
    assert branch_of("session.message.sumbit.request") is None


@pytest.mark.req("OAP-005", "OAP-009", "OAP-023")
@pytest.mark.parametrize("name", sorted(seeds()))
def test_schema_and_reader_agree_on_every_mutation_of_every_type(name: str) -> None:
    """One change anywhere, every kind of change: the printed schema says what the typed reader says."""
    schema = ours(seeds()[name])
    seen = [(path, what, is_read(one), schema.is_valid(one)) for path, what, one in mutations(seeds()[name])]
    assert [verdict for verdict in seen if verdict[2] != verdict[3]] == []


@pytest.mark.req("OAP-023")
def test_an_unknown_member_at_the_top_is_accepted_where_the_published_schema_is_open() -> None:
    """Agent control's top level is open, the provider profile's is closed (decision 0021); payloads never are."""
    agent, provider = seeds()["run.started"], seeds()["inference.started"]
    assert [is_read({**one, "scope": {}}) for one in (agent, provider)] == [True, False]
    assert not is_read({**agent, "payload": {**agent["payload"], "scope": {}}})


def verdicts(beside: Path | None, value: dict[str, Any]) -> set[bool]:
    """Of typed reader, printed schema and, where it lies beside us, published schema.

    Integers beyond 64 bits are refused by our reader alone (OAP-020), so it is not asked about a value that has one.
    """
    found = {ours(value).is_valid(value)}
    if not has_wild_number(value):
        found.add(is_read(value))
    if beside is not None:
        found.add(published_schema(beside, value).is_valid(value))
    return found


@pytest.mark.req("OAP-005", "OAP-008", "OAP-009", "OAP-023")
def test_three_readers_give_one_verdict_on_any_envelope(beside: Path | None) -> None:
    """On valid and spoilt envelopes of all types; drawing only one kind would agree with any reader."""
    seen: Counter[bool] = Counter()

    @settings(max_examples=1500, suppress_health_check=list(HealthCheck))
    @given(value=envelopes() | spoilt())
    def differ(value: dict[str, Any]) -> None:
        (verdict,) = verdicts(beside, value)
        seen[verdict] += 1

    differ()
    assert min(seen[True], seen[False]) > sum(seen.values()) // 8


@pytest.mark.req("OAP-023", "OAP-083")
@pytest.mark.parametrize("name", sorted(seeds()))
def test_three_readers_give_one_verdict_on_any_choice_of_members(beside: Path | None, name: str) -> None:
    """Members that exclude or need one another, in every type: drawn together and apart."""
    kind = AGENT_TYPES.get(name) or PROVIDER_TYPES[name]

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(payload=struct(kind.payload))
    def differ(payload: dict[str, Any]) -> None:
        assert len(verdicts(beside, {**seeds()[name], "payload": payload})) == 1

    differ()


@pytest.mark.req("OAP-023", "OAP-027")
def test_three_readers_give_one_verdict_on_every_envelope_of_every_fixture(shared: Path) -> None:
    """Positive, schema-invalid and semantic-invalid traces, envelope by envelope."""
    seen: Counter[bool] = Counter()
    for path in sorted((shared / "oap" / "fixtures").rglob("*.json")):
        for value in trace_of(path.read_bytes()):
            (verdict,) = verdicts(shared, value)
            seen[verdict] += 1
    assert seen[True] > 400
    assert seen[False] >= 10


def trace_of(data: bytes) -> list[dict[str, Any]]:
    """The envelopes of a file that is a trace, else none."""
    try:
        value: Any = strictjson.parse(data)
    except Refused:
        return []
    return [one for one in value if isinstance(one, dict) and "protocol" in one] if isinstance(value, list) else []


def has_wild_number(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(has_wild_number(inner) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and abs(value) >= 2.0**63


@cache
def published(folder: Path, root: str) -> Any:
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.schema.json"))]
    registry = jsonschema_rs.Registry([(document["$id"], document) for document in found])
    return jsonschema_rs.validator_for({"$ref": root}, registry=registry)


def published_schema(beside: Path, value: dict[str, Any]) -> Any:
    root = "provider-envelope.schema.json" if str(value.get("type")) in PROVIDER_TYPES else "envelope.schema.json"
    return published(beside / "oap" / "schema" / "v0.1", root)
