"""Loading packs: the document's shape, paths that lead out, references, and what several packs are to one another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sayso.control.validator.compiling import compile_schema
from sayso.control.validator.judging import judge
from sayso.control.validator.pack_loading import PackRefused, load_packs
from sayso.control.validator.shipped import FIXTURES, STORAGE
from sayso.core.refusal import Refused

SOUND = FIXTURES / "packs" / "sound"


def refusals(*paths: Path) -> list[str]:
    try:
        load_packs(paths)
    except PackRefused as refused:
        return [each.code for each in refused.findings]
    return []


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of a sound pack to spoil."""
    shutil.copytree(SOUND, tmp_path / "pack")
    return tmp_path / "pack"


def change(pack: Path, **members: Any) -> Path:
    document = json.loads((pack / "pack.json").read_text())
    (pack / "pack.json").write_text(json.dumps({**document, **members}))
    return pack


@pytest.mark.req("OAP-032")
def test_a_pack_document_is_closed_and_complete(pack: Path) -> None:
    """An unknown member, a missing one, an id that is no reverse name: refused before anything else is looked at."""
    assert refusals(pack) == []
    assert refusals(change(pack, colour="red")) == ["schema_invalid"]
    shutil.copy(SOUND / "pack.json", pack)
    assert refusals(change(pack, id="shed")) == ["schema_invalid"]
    shutil.copy(SOUND / "pack.json", pack)
    assert refusals(change(pack, schemas=[])) == ["schema_invalid"]
    (pack / "pack.json").write_text('{"id":"org.example.shed","id":"org.example.shed"}')
    assert refusals(pack) == ["duplicate_key"]
    (pack / "pack.json").write_text("{")
    assert refusals(pack) == ["malformed_json"]
    (pack / "pack.json").unlink()
    assert refusals(pack) == ["pack_schema_path_escape"]


@pytest.mark.req("OAP-034")
def test_no_path_leads_out_of_the_folder(pack: Path, tmp_path: Path) -> None:
    """Not by dots, not from the root, and not through a link; the file behind it is never read."""
    outside = tmp_path / "outside.json"
    outside.write_text("not even JSON")
    (pack / "link.json").symlink_to(outside)
    for name in ("../outside.json", str(outside), "link.json", "gone.json", "."):
        shutil.copy(SOUND / "pack.json", pack)
        assert refusals(change(pack, schemas=["shed.schema.json", name])) == ["pack_schema_path_escape"]
    shutil.copy(SOUND / "pack.json", pack)
    assert refusals(change(pack, fixtures="link.json")) == ["pack_schema_path_escape"]


@pytest.mark.req("OAP-034")
@pytest.mark.parametrize(
    "reference",
    ["file:///etc/hostname", "https://example.com/a.json", "../outside.json#/x", "gone.schema.json"],
)
def test_no_reference_leads_out_of_what_is_loaded(pack: Path, reference: str) -> None:
    """Neither from a branch nor from an added member; the core's documents may be named, in full or by their file."""
    schema = json.loads((pack / "shed.schema.json").read_text())
    payload = schema["$defs"]["moved"]["properties"]
    for core in ("common.schema.json", "https://sayso.example/schema/oap/0.1/common.schema.json"):
        payload["payload"] = {"properties": {"x": {"$ref": f"{core}#/$defs/opaqueID"}}}
        (pack / "shed.schema.json").write_text(json.dumps(schema))
        assert refusals(pack) == []
    payload["payload"] = {"$ref": reference}
    (pack / "shed.schema.json").write_text(json.dumps(schema))
    assert refusals(pack) == ["pack_external_ref"]
    shutil.copy(SOUND / "shed.schema.json", pack)
    name = "org.example.shed.key"
    target = {"payload_type": "session.message.submit.request", "member": name}
    gates = [*json.loads((pack / "pack.json").read_text())["gates"], {**target, "ungated": True}]
    change(pack, payload_members=[{**target, "schema": {"items": {"$ref": reference}}}], gates=gates)
    assert refusals(pack) == ["pack_external_ref"]


@pytest.mark.req("OAP-034")
def test_a_dependency_is_of_exactly_that_version(pack: Path) -> None:
    """And opens its schemas to the one that declares it, to no other."""
    schema = json.loads((pack / "shed.schema.json").read_text())
    there = (
        "https://sayso.example/schema/packs/storage/1.0.0/storage.schema.json#/$defs/objectChanged/properties/payload"
    )
    schema["$defs"]["moved"]["properties"]["payload"] = {"$ref": there}
    (pack / "shed.schema.json").write_text(json.dumps(schema))
    assert refusals(pack, STORAGE) == ["pack_external_ref"]
    change(pack, depends_on=[{"id": "dev.sayso.storage", "version": "1.0.1"}])
    assert sorted(refusals(pack, STORAGE)) == ["pack_dependency_missing", "pack_external_ref"]
    change(pack, depends_on=[{"id": "dev.sayso.storage", "version": "1.0.0"}])
    assert refusals(pack, STORAGE) == []
    packs = load_packs([pack, STORAGE])
    assert packs.types["org.example.shed.door.moved"].check({"type": "org.example.shed.door.moved"}) is not None


@pytest.mark.req("OAP-034")
def test_ids_of_the_loaded_set_do_not_nest(pack: Path) -> None:
    """Equal ones neither; a name that only begins alike is another."""
    assert refusals(pack, SOUND) == ["pack_id_collision"]
    names = {"capability_keys": [], "error_codes": [], "envelope_types": [], "gates": []}
    assert refusals(change(pack, id="org.example.sheds", **names), SOUND) == []
    assert refusals(change(pack, id="org.example"), SOUND) == ["pack_id_collision"]


def test_every_fault_of_every_pack_is_told(pack: Path) -> None:
    """A vendor mends a pack in one go."""
    document = json.loads((pack / "pack.json").read_text())
    types = document["envelope_types"]
    del types[2]["role"]
    types[0]["refusals"].append("org.example.shed.jammed")
    assert sorted(refusals(change(pack, envelope_types=types, error_codes=["stuck"]))) == [
        "pack_refusal_undeclared", "pack_refusal_undeclared", "pack_role_undeclared", "pack_unprefixed_name",
    ]  # fmt: skip


@pytest.mark.req("OAP-051")
def test_a_schema_is_compiled_and_nothing_is_fetched(tmp_path: Path) -> None:
    """A reference to a file that is there is refused all the same."""
    there = tmp_path / "there.json"
    there.write_text("{}")
    with pytest.raises(Refused, match="no usable JSON Schema"):
        compile_schema({"$ref": there.as_uri()})
    with pytest.raises(Refused):
        compile_schema({"type": "objekt"})
    check = compile_schema({"type": "object", "properties": {"a": {"items": {"type": "string"}}}})
    assert (check({"a": ["x"]}), check({"a": ["x", 1]})) == (None, '1 is not of type "string" at $.a[1]')


@pytest.mark.req("OAP-035")
def test_a_packs_member_is_judged_apart_and_the_core_by_the_rest() -> None:
    """A wrong member is a fault of its own place; beside a right one, the core's faults are still the core's."""
    packs = load_packs([STORAGE])
    lines = (STORAGE / "traces" / "objects-handed-over.jsonl").read_bytes().splitlines()
    submit = json.loads(lines[2])

    def places(**payload: Any) -> list[str | None]:
        changed = {**submit, "payload": {**submit["payload"], **payload}}
        data = b"\n".join([*lines[:2], json.dumps(changed).encode(), *lines[3:]])
        return [each.place for each in judge(data, packs=packs).diagnostics]

    assert places() == []
    assert places(**{"dev.sayso.storage.objects": [1]}) == ["$.payload.dev.sayso.storage.objects"]
    assert places(delivery="swift") == ["$.payload.delivery"]
    assert places(**{"dev.sayso.storage.other": 1}) == ["$.payload"]
