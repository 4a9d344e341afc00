"""What is printed of a run."""

from __future__ import annotations

import io
from typing import Any

import pytest

from sayso.apps.prompting.telling import JsonTelling, LinesTelling
from sayso.control.protocol.envelope import AGENT_PROFILE, PROTOCOL, VERSION, Envelope, read_envelope
from sayso.core import strictjson

WHO = {"session_id": "s", "run_id": "r"}


def event(type_: str, tool_call_id: str | None = None, **payload: Any) -> Envelope:
    """An event as it comes over a wire."""
    named = {} if tool_call_id is None else {"tool_call_id": tool_call_id}
    written = {
        "protocol": PROTOCOL,
        "version": VERSION,
        "profile": AGENT_PROFILE,
        "type": type_,
        "id": "e1",
        "sequence": 1,
        **WHO,
        **named,
        "payload": {**WHO, **named, **payload},
    }
    return read_envelope(strictjson.encode(written))


def lines(*events: Envelope) -> str:
    out = io.StringIO()
    telling = LinesTelling(out)
    for each in events:
        telling.hear(each)
    return out.getvalue()


def said(text: str) -> Envelope:
    return event("content.delta", part={"type": "text", "text": text}, message_id="m1")


def thought(text: str) -> Envelope:
    return event("content.delta", part={"type": "reasoning", "reasoning": text}, message_id="m1")


def completed(text: str, **more: Any) -> Envelope:
    final = {"role": "assistant", "content": text}
    return event("run.completed", final_response=final, stop_reason="end_turn", **more)


def requested(arguments: Any, name: str = "Read") -> Envelope:
    by = {"requested_by": "agent", "execution_owner": "agent"}
    return event("action.call.requested", "c1", name=name, arguments_json=arguments, **by)


def called(result: Any) -> Envelope:
    return event("action.call.completed", "c1", name="Read", execution_owner="agent", result=result)


def failed(type_: str, message: str, tool_call_id: str | None = None) -> Envelope:
    more = {} if tool_call_id is None else {"name": "Read", "execution_owner": "agent"}
    return event(type_, tool_call_id, error={"code": "tool_failed", "message": message}, **more)


def test_an_answer_stands_once_as_it_streamed() -> None:
    """The final message is not printed again; the line is ended."""
    assert lines(said("Hello "), said("world."), completed("Hello world.")) == "Hello world.\n"


def test_an_answer_that_was_not_streamed_is_printed_at_the_end() -> None:
    """A model that gives all at once is heard all the same; so is one that spoke only before its last call."""
    assert lines(completed("Hello.")) == "Hello.\n"
    told = lines(said("Let me see."), requested({"path": "README.md"}), called("12 lines"), completed("Done."))
    assert told == "Let me see.\n> Read README.md\n  12 lines\nDone.\n"


@pytest.mark.req("OAP-212")
def test_every_kind_of_event_has_its_line() -> None:
    """Calls and what came of them, a no, thinking, tokens and how the run ended."""
    resolved = event(
        "action.permission.resolved",
        "c1",
        interaction_id="q1",
        requested_by="agent",
        responded_by="user",
        outcome="rejected",
        granted=False,
    )
    told = lines(
        event("run.started", status="running", model_id="m"),
        thought("hm"),
        thought(", well"),
        requested({"path": "a", "limit": 3}),
        resolved,
        failed("action.call.failed", "no such file", "c1"),
        completed("No.", usage={"input_tokens": 1200, "output_tokens": 3}),
    )
    assert told == (
        "… thinking\n> Read path: a, limit: 3\n  not allowed\n  failed: tool_failed: no such file\nNo.\n"
        "(1,200 in, 3 out tokens)\n"
    )
    assert lines(failed("run.failed", "no model")) == "failed: tool_failed: no model\n"
    assert lines(said("half"), event("run.cancelled")) == "half\ncancelled\n"


def test_what_a_model_or_a_tool_says_cannot_drive_the_terminal() -> None:
    """Control sequences and bidirectional marks show as question marks, in text, arguments, results and errors."""
    hostile = "\x1b]0;owned\x07\x1b[2J\u202eabc\r"
    told = lines(
        said(hostile),
        requested({"path": hostile}, name=f"Read{hostile}"),
        called({"text": hostile}),
        failed("run.failed", hostile),
    )
    assert not {each for each in told if each in "\x1b\x07\r\u202e"}
    assert told.count("?]0;owned?") == 5


def test_a_long_result_is_cut_and_says_so() -> None:
    """A person reads the beginning; the model has it all."""
    told = lines(called("\n".join(f"line {n}" for n in range(40))))
    assert told.splitlines()[-1] == "  … 28 more lines"
    assert len(told.splitlines()) == 13


def test_each_event_is_one_line_for_a_program() -> None:
    """It is the envelope itself, which our own decoder takes; notes go elsewhere."""
    out, errors = io.BytesIO(), io.StringIO()
    telling = JsonTelling(out, errors)
    telling.note("conversation s")
    heard = [event("run.started", status="running", model_id="m"), said("a\u2028b\nc")]
    for each in heard:
        telling.hear(each)
    written = out.getvalue().split(b"\n")
    assert written.pop() == b""
    assert [read_envelope(line) for line in written] == heard
    assert errors.getvalue() == "conversation s\n"
