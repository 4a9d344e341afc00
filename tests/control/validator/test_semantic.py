"""Phase three over generated conversations: no fault in a legal one, the right one at its place in a spoilt one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.validator.judging import MOST_FINDINGS, judge
from sayso.control.validator.shipped import FIXTURES, own_fixtures
from tests.control.validator.honest import conversations


def lines(trace: list[Any]) -> bytes:
    return b"\n".join(json.dumps(each).encode() for each in trace)


def found(trace: list[Any]) -> list[tuple[str, int | None]]:
    return [(each.code, each.index) for each in judge(lines(trace)).diagnostics]


@pytest.mark.req("OAP-012", "OAP-015", "OAP-029", "OAP-053", "OAP-056", "OAP-057")
@settings(max_examples=400)
@given(conversations())
def test_a_legal_conversation_gets_no_diagnostic(trace: list[dict[str, Any]]) -> None:
    """Whatever an honest endpoint was asked, in any order, at any level of its features."""
    assert found(trace) == []


@pytest.mark.req("OAP-011")
@settings(max_examples=300)
@given(conversations(), st.data())
def test_an_admission_may_come_behind_any_events(trace: list[dict[str, Any]], data: st.DataObject) -> None:
    """A raw recording has answers and events in the order of the pipe, and none is promised between them."""
    starts = [place for place, each in enumerate(trace) if each["payload"].get("admission") in ("started", "queued")]
    if not starts:
        return
    place = data.draw(st.sampled_from(starts))
    last = place + 1
    while last < len(trace) and "sequence" in trace[last]:
        last += 1
    behind = data.draw(st.integers(place + 1, last))
    moved = [*trace[:place], *trace[place + 1 : behind], trace[place], *trace[behind:]]
    assert found(moved) == []


@pytest.mark.req("OAP-011", "OAP-048")
def test_what_a_run_promised_is_judged_also_where_it_spoke_first() -> None:
    """A call that the run's filter excludes, told before the answer that admits the run, is found where it stands."""
    told = (FIXTURES / "traces" / "excluded-tool-called.jsonl").read_text().splitlines()
    trace = [json.loads(line) for line in told]
    place = next(number for number, each in enumerate(trace) if each["payload"].get("admission") == "started")
    call = next(number for number, each in enumerate(trace) if each["type"] == "action.call.requested")
    assert found(trace) == [("unapplied_control", call)]
    assert found([*trace[:place], *trace[place + 1 :], trace[place]]) == [("unapplied_control", call - 1)]


@pytest.mark.req("OAP-025")
@given(conversations(), st.data())
def test_a_repeated_envelope_is_found_where_it_stands(trace: list[dict[str, Any]], data: st.DataObject) -> None:
    """The copy and nothing else, wherever it is put behind its original."""
    first = data.draw(st.integers(0, len(trace) - 1))
    place = data.draw(st.integers(first + 1, len(trace)))
    assert found([*trace[:place], trace[first], *trace[place:]]) == [("duplicate_envelope_id", place)]


@pytest.mark.req("OAP-007", "OAP-025")
@given(conversations(), st.data())
def test_a_dropped_refusal_is_found_at_its_request(trace: list[dict[str, Any]], data: st.DataObject) -> None:
    """The request that was never answered, by its index and line."""
    refusals = [place for place, each in enumerate(trace) if each["type"] == "error.response"]
    if not refusals:
        return
    place = data.draw(st.sampled_from(refusals))
    asked = next(number for number, each in enumerate(trace) if each["id"] == trace[place]["in_reply_to"])
    report = judge(lines([*trace[:place], *trace[place + 1 :]]))
    assert [(each.code, each.index, each.line) for each in report.diagnostics] == [
        ("missing_response", asked, asked + 1)
    ]


@pytest.mark.req("OAP-010", "OAP-025")
@given(conversations(), st.data())
def test_a_dropped_delta_is_found_at_the_next_event_of_its_run(
    trace: list[dict[str, Any]], data: st.DataObject
) -> None:
    """A hole in one run's numbers, told where the next number comes."""
    deltas = [place for place, each in enumerate(trace) if each["type"] == "content.delta"]
    if not deltas:
        return
    place = data.draw(st.sampled_from(deltas))
    run = trace[place]["run_id"]
    left = [*trace[:place], *trace[place + 1 :]]
    after = next(n for n in range(place, len(left)) if left[n].get("run_id") == run and "sequence" in left[n])
    assert found(left) == [("sequence_gap", after)]


@given(st.data())
def test_shuffled_and_thinned_fixtures_never_raise(data: st.DataObject) -> None:
    """Well-shaped envelopes in no order at all: always a report, of either profile and mode."""
    some = [row for row in own_fixtures() if row.kind == "trace" and row.phase in ("", "semantic")]
    rows = data.draw(st.lists(st.sampled_from(some), min_size=1, max_size=4))
    envelopes = [line for row in rows for line in (FIXTURES / row.path).read_bytes().splitlines()]
    drawn = data.draw(st.lists(st.sampled_from(envelopes), max_size=30))
    report = judge(b"\n".join(drawn), mode="tolerant", profile=rows[0].profile)
    assert report.envelopes == len(drawn)


@pytest.mark.req("OAP-022")
def test_a_trace_is_judged_semantically_only_when_every_shape_is_right() -> None:
    """The first phase that finds anything is the one reported, wherever in the trace it does."""
    unanswered = json.loads((FIXTURES / "traces" / "never-answered.jsonl").read_text())
    assert found([unanswered]) == [("missing_response", 0)]
    assert found([unanswered, {}]) == [("schema_invalid", 1)]
    report = judge(lines([unanswered, {}]) + b"\n{")
    assert [(each.code, each.index) for each in report.diagnostics] == [("malformed_json", 2)]


def test_a_report_is_bounded() -> None:
    """A broken file of many lines is told by its first thousand, and how many more there were."""
    report = judge(b"[]\n" * (MOST_FINDINGS + 7))
    assert (len(report.diagnostics), report.left_out, report.valid) == (MOST_FINDINGS, 7, False)


@pytest.mark.req("OAP-024")
def test_tolerance_is_for_additions_alone() -> None:
    """At every depth; a value outside an enumeration, a wrong type and a missing member stay faults."""
    sound = json.loads((FIXTURES / "traces" / "plain-run.jsonl").read_bytes().splitlines()[0])

    def verdicts(change: Any) -> tuple[bool, bool]:
        each = json.loads(json.dumps(sound))
        change(each)
        shown = [{x.code for x in judge(lines([each]), mode=mode).diagnostics} for mode in ("strict", "tolerant")]  # type: ignore[arg-type]
        return "schema_invalid" in shown[0], "schema_invalid" in shown[1]

    assert verdicts(lambda each: each["payload"].update(mood="calm")) == (True, False)
    assert verdicts(lambda each: each["payload"]["messages"][0].update(mood="calm")) == (True, False)
    assert verdicts(lambda each: each["payload"].update(delivery="swift")) == (True, True)
    assert verdicts(lambda each: each["payload"]["messages"][0].update(role=7)) == (True, True)
    assert verdicts(lambda each: each["payload"].pop("messages")) == (True, True)
    assert verdicts(lambda each: each.pop("session_id")) == (True, True)
    assert verdicts(lambda each: each.update(type="org.example.more", payload=[])) == (True, True)
    assert verdicts(lambda each: each.update(type="org.example.more", sequence=0)) == (True, True)
    assert verdicts(lambda each: each.update(type="org.example.more")) == (True, False)


@pytest.mark.req("OAP-016", "OAP-029", "OAP-048")
def test_a_refusal_says_what_to_change() -> None:
    """The one that is owed, naming the lower key and why: another code, key or reason is no refusal of it."""
    trace = [
        json.loads(line)
        for line in (FIXTURES / "traces" / "feature-unadvertised-refused.jsonl").read_text().splitlines()
    ]

    def verdict(code: str, **details: str) -> list[tuple[str, int | None]]:
        error = {"code": code, "message": "no", "details": details}
        return found([*trace[:-1], {**trace[-1], "payload": {"error": error}}])

    lower, higher = "run.instructions", "run.model_selection"
    assert verdict("unsupported_feature", feature=lower, reason="unadvertised") == []
    assert verdict("unsupported_feature", feature=higher, reason="unadvertised") == [("unavailable_capability", 3)]
    assert verdict("unsupported_feature", feature=lower) == [("unavailable_capability", 3)]
    assert verdict("invalid_submission") == [("unavailable_capability", 3)]
    assert verdict("unknown_session") == []
