"""The reader of envelopes: closed shapes, flat scope, the same verdicts as the upstream schemas on their fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.protocol.envelope import (
    convert_envelope,
    convert_provider_envelope,
    read_envelope,
    read_provider_envelope,
    scope_disagreements,
    write_envelope,
)
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES
from sayso.core.refusal import Refused

SUBMIT = {
    "protocol": "open-agent-protocol",
    "version": "0.1",
    "profile": "open-agent-protocol.agent-control-core",
    "type": "session.message.submit.request",
    "id": "r1",
    "session_id": "s1",
    "payload": {"session_id": "s1", "messages": [{"role": "user", "content": "go"}], "delivery": "auto"},
}


def changed(**members: Any) -> dict[str, Any]:
    return {key: value for key, value in {**SUBMIT, **members}.items() if value is not ...}


def refusal(value: object) -> tuple[str, str | None]:
    with pytest.raises(Refused) as caught:
        convert_envelope(value)
    return caught.value.refusal.code, caught.value.refusal.place


def fixtures(shared: Path, index: str) -> list[tuple[str, list[Any]]]:
    entries = json.loads((shared / "oap" / "fixtures" / index).read_text())
    kinds = ("positive", "semantic-invalid")
    return [
        (entry["path"], json.loads((shared / "oap" / "fixtures" / entry["path"]).read_text()))
        for entry in entries
        if entry["kind"] in kinds
    ]


@pytest.mark.req("OAP-005")
def test_an_envelope_reads_and_writes_back_unchanged() -> None:
    """What is written is what was read, member for member."""
    assert json.loads(write_envelope(convert_envelope(SUBMIT))) == SUBMIT


@pytest.mark.req("OAP-005", "OAP-008", "OAP-009")
@pytest.mark.parametrize(
    ("value", "place"),
    [
        (changed(id=...), "$.id"),
        (changed(version=...), "$.version"),
        (changed(version="0.2"), "$.version"),
        (changed(profile="open-agent-protocol.model-provider-core"), "$.profile"),
        (changed(type="session.message.sumbit.request"), "$.type"),
        (changed(session_id=...), "$.session_id"),
        (changed(id=""), "$.id"),
        (changed(sequence=True), "$.sequence"),
        (changed(in_reply_to=None), "$.in_reply_to"),
        (changed(payload={**SUBMIT["payload"], "priority": 1}), "$.payload"),
        (changed(payload={**SUBMIT["payload"], "messages": []}), "$.payload.messages"),
        ([SUBMIT], "$"),
    ],
)
def test_a_shape_that_is_not_its_types_is_refused_with_the_place(value: object, place: str) -> None:
    """Missing, foreign, empty, null and mistyped members: each is refused where it stands."""
    assert refusal(value) == ("schema_invalid", place)


@pytest.mark.req("OAP-020")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"type":"a","type":"b"}', "duplicate_member"),
        (b'{"payload":{"a":1,"\\u0061":2}}', "duplicate_member"),
        (b'{"id":NaN}', "not_finite"),
        (b'{"id":1e400}', "number_out_of_range"),
        (b'{"id":"\\ud800"}', "lone_surrogate"),
        (b"[" * 100 + b"]" * 100, "too_deep"),
        (b'{"id":"\xff"}', "not_utf8"),
    ],
)
def test_bytes_two_readers_could_read_differently_are_refused(data: bytes, reason: str) -> None:
    """The strict reader stands in front of every envelope."""
    with pytest.raises(Refused) as caught:
        read_envelope(data)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("malformed_json", reason)


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_raise_anything_but_a_refusal(data: bytes) -> None:
    """One funnel, one kind of no."""
    for read in (read_envelope, read_provider_envelope):
        with pytest.raises(Refused):
            read(data)


@pytest.mark.req("OAP-005", "OAP-009")
@pytest.mark.parametrize("index", ["index-positive.json", "index-negative.json"])
def test_every_upstream_trace_of_known_types_has_its_shape(shared: Path, index: str) -> None:
    """Each envelope of a fixture that is invalid only in meaning, or not at all, is read and written back unchanged."""
    read = 0
    for _path, trace in fixtures(shared, index):
        for value in trace:
            if value.get("type") in AGENT_TYPES:
                envelope: Any = convert_envelope(value)
            elif value.get("type") in PROVIDER_TYPES:
                envelope = convert_provider_envelope(value)
            else:
                continue
            assert json.loads(write_envelope(envelope)) == value
            read += 1
    assert read > 150


@pytest.mark.req("OAP-005", "OAP-023")
def test_ids_nested_in_a_member_of_their_own_count_for_nothing() -> None:
    """The published schema leaves the top level open: a foreign member is read over, and never stands for a flat id."""
    nested = changed(scope={"session_id": "s1"})
    assert json.loads(write_envelope(convert_envelope(nested))) == SUBMIT
    assert refusal({**nested, "session_id": None}) == ("schema_invalid", "$.session_id")
    assert refusal({key: value for key, value in nested.items() if key != "session_id"})[1] == "$.session_id"


@pytest.mark.req("OAP-020")
@pytest.mark.parametrize(("number", "read"), [(1.0, 1), (7e2, 700), (2**53, 2**53)])
def test_an_integer_written_with_a_point_is_the_integer(number: float, read: int) -> None:
    """JSON has one kind of number; the published schemas count 1.0 as an integer."""
    assert convert_envelope(changed(sequence=number)).sequence == read


@pytest.mark.req("OAP-020")
@pytest.mark.parametrize("number", [True, 1.5, 1e19, -0.0, "1"])
def test_what_is_no_integer_of_64_bits_is_refused(number: object) -> None:
    """A boolean is no integer, and one that could not be written back is not taken in."""
    assert refusal(changed(sequence=number)) == ("schema_invalid", "$.sequence")


@pytest.mark.req("OAP-008")
def test_scope_ids_that_differ_between_envelope_and_payload_are_named() -> None:
    """The reader lets them pass, the machine and the hub do not."""
    payload = {**SUBMIT["payload"], "session_id": "s2"}
    assert scope_disagreements(convert_envelope(changed(payload=payload))) == ["session_id"]
    assert scope_disagreements(convert_envelope(SUBMIT)) == []
