"""The table of types, held against the upstream schemas: the same verdicts on mutated envelopes of every type."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from sayso.control.protocol.envelope import convert_envelope, convert_provider_envelope
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES, Kind
from sayso.core.refusal import Refused
from tests.control.protocol.seeds import seeds


def is_read(value: Any) -> bool:
    convert = convert_provider_envelope if str(value.get("type")) in PROVIDER_TYPES else convert_envelope
    try:
        convert(value)
    except Refused:
        return False
    return True


def test_every_request_names_the_type_that_answers_it() -> None:
    """A request without its response could never be answered."""
    for types in (AGENT_TYPES, PROVIDER_TYPES):
        asked = [kind for kind in types.values() if kind.kind is Kind.REQUEST]
        assert {types[kind.answer].kind for kind in asked} == {Kind.RESPONSE}


@pytest.mark.usefixtures("shared")
def test_a_full_envelope_of_every_type_has_its_upstream_shape(agent_schema: Any, provider_schema: Any) -> None:
    """Every member we know is one upstream knows, for every type."""
    schemas = {**dict.fromkeys(AGENT_TYPES, agent_schema), **dict.fromkeys(PROVIDER_TYPES, provider_schema)}
    wrong = {name: error for name, seed in seeds().items() for error in schemas[name].iter_errors(seed)}
    assert wrong == {}


def test_a_full_envelope_of_every_type_is_read() -> None:
    """Nothing that our own writers may put into an envelope is refused."""
    assert [name for name, seed in seeds().items() if not is_read(seed)] == []


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value."""
    found = [here] if here else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += paths(inner, (*here, key))
    return found


def mutate(value: Any, path: tuple[Any, ...], what: str, new: Any) -> Any:
    changed = copy.deepcopy(value)
    *way, last = path
    inner = changed
    for step in way:
        inner = inner[step]
    if what == "drop":
        del inner[last]
    elif what == "rename" and isinstance(inner, dict):
        inner[f"{last}x"] = inner.pop(last)
    elif what == "twice" and isinstance(inner, list):
        inner.append(copy.deepcopy(inner[last]))
    else:
        inner[last] = new
    return changed


NEW = [None, True, 0, 1, -1, 2.0, -0.0, 2.5, 2**63 - 1, "", "x", [], {}, [None], {"a": 1}, ["x", "x"]]


def mutations(seed: Any) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    """Drop, rename, repeat and replace at every place inside a seed, its type apart."""
    for path in paths(seed):
        if path != ("type",):
            yield from ((path, what, mutate(seed, path, what, None)) for what in ("drop", "rename", "twice"))
            yield from ((path, f"set {new!r}", mutate(seed, path, "set", new)) for new in NEW)


@pytest.mark.req("OAP-005", "OAP-008", "OAP-009", "OAP-130", "OAP-131")
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", sorted(seeds()))
def test_mutated_envelopes_get_the_verdict_of_the_upstream_schemas(
    agent_schema: Any, provider_schema: Any, name: str
) -> None:
    """Whatever is changed wherever, both sides accept, or both refuse."""
    schema, seed = (provider_schema if name in PROVIDER_TYPES else agent_schema), seeds()[name]
    seen = [(path, what, is_read(changed), schema.is_valid(changed)) for path, what, changed in mutations(seed)]
    assert len(seen) > 100
    assert [verdict for verdict in seen if verdict[2] != verdict[3]] == []


@pytest.mark.req("OAP-075")
def test_what_a_later_text_adds_is_unknown_and_not_half_known() -> None:
    """The level `max` and the live change of settings: refused by shape until their text is here."""
    opened = copy.deepcopy(seeds()["session.open.request"])
    assert is_read(opened)
    opened["payload"]["reasoning_level"] = "max"
    update = {**opened, "type": "session.settings.update.request", "payload": {"session_id": "s1"}}
    assert [is_read(opened), is_read(update)] == [False, False]


@pytest.mark.req("OAP-217")
def test_presentation_control_is_refused_by_its_profile() -> None:
    """Nothing serves it, so no schema of it is bundled and no envelope of it is read."""
    shown = {**seeds()["run.started"], "profile": "open-agent-protocol.presentation-control"}
    assert not is_read(shown)
