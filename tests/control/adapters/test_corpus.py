"""The corpus kit, on a toy harness whose codec and reducer are ten lines each, and on the shared corpora's files."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sayso.control.adapters.corpus import Case, Step, differences, normalised, read_case, read_corpus
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.content import Message, TextPart
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.run import ContentDelta, RunCompleted, RunFailed, RunStarted
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused

TOY = Path(__file__).with_name("corpus") / "toy-1"


class Toy:
    """A harness adapter without its process. `flaw` makes it wrong in one way."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw
        self._ids = CountingIds()
        self._run, self._message = self._ids.new("run"), self._ids.new("msg")
        self._text = ""
        self._told = 0

    def feed(self, step: Step) -> Iterable[Envelope[Wire]]:
        frame: Any = step.frame
        match frame["toy"]:
            case "begin":
                yield self._tell("run.started", RunStarted(session_id="s", run_id=self._run, status="running"))
            case "say":
                self._text += frame["text"]
                part = TextPart(text=frame["text"].upper() if self.flaw == "shouts" else frame["text"])
                message = self._ids.new("msg") if self.flaw == "forgets ids" else self._message
                yield self._tell(
                    "content.delta", ContentDelta(session_id="s", run_id=self._run, part=part, message_id=message)
                )
            case "end" if self.flaw != "never ends":
                final = Message(role="assistant", content=self._text, id=self._message)
                yield self._tell(
                    "run.completed",
                    RunCompleted(session_id="s", run_id=self._run, final_response=final, stop_reason="end_turn"),
                )
            case "spinner" if self.flaw == "tells spinners":
                yield self._tell(
                    "content.delta", ContentDelta(session_id="s", run_id=self._run, part=TextPart(text=""))
                )
            case "teleport" if self.flaw != "ignores the unknown":
                error = ProtocolError(code="protocol_violation", message="teleport is not mapped")
                yield self._tell("run.failed", RunFailed(session_id="s", run_id=self._run, error=error))

    def finish(self) -> Iterable[Envelope[Wire]]:
        return ()

    def _tell(self, type_: str, payload: Wire) -> Envelope[Wire]:
        self._told += 1
        return Envelope(
            type=type_,
            id=self._ids.new("ev"),
            payload=payload,
            sequence=self._told,
            timestamp_ms=self._told * 7,
            session_id="s",
            run_id=self._run,
        )


@pytest.mark.req("OAP-046")
def test_an_adapter_that_conforms_shows_no_difference() -> None:
    """Other ids, other times, no revision: the same events."""
    cases = read_corpus(TOY)
    assert [case.name for case in cases] == ["toy-1/cannot-be-mapped", "toy-1/says-one-thing"]
    assert {case.name: differences(case, lambda _case: Toy()) for case in cases} == {case.name: [] for case in cases}


@pytest.mark.req("OAP-045", "OAP-046")
@pytest.mark.parametrize(
    ("flaw", "case", "said"),
    [
        ("shouts", "says-one-thing", "event 2: `payload` is"),
        ("forgets ids", "says-one-thing", "event 3: `payload` is"),
        ("never ends", "says-one-thing", "2 events were told, 3 are expected"),
        ("tells spinners", "says-one-thing", "step 2 is observed-only and told content.delta"),
        ("ignores the unknown", "cannot-be-mapped", "step 2 is required-unmapped and did not fail the run"),
    ],
)
def test_every_kind_of_difference_is_seen(flaw: str, case: str, said: str) -> None:
    """A kit that finds nothing would pass every adapter."""
    found = differences(read_case(TOY / case), lambda _case: Toy(flaw))
    assert any(each.startswith(said) for each in found), found


def test_ids_are_renamed_and_their_equalities_stay() -> None:
    """Two events of one message must name the same one, whatever it is called."""
    (case,) = [case for case in read_corpus(TOY) if case.name.endswith("one-thing")]
    _started, delta, done = normalised(case.expected)
    assert delta["payload"]["message_id"] == done["payload"]["final_response"]["id"]
    assert {delta["id"], delta["run_id"], delta["session_id"]} & {"event-02", "run-a", "session-1"} == set()
    assert "timestamp_ms" not in delta
    assert "capability_revision" not in delta


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("native.jsonl", '{"classification":"guessed","raw":{}}\n', "schema_invalid"),
        ("native.jsonl", "[]\n", "schema_invalid"),
        ("native.jsonl", '{"classification":"mapped","classification":"mapped"}\n', "malformed_json"),
        ("expected-oap.json", "{}", "schema_invalid"),
        ("expected-oap.json", '[{"type":"run.started"}]', "schema_invalid"),
        ("case.json", "[]", "schema_invalid"),
    ],
)
def test_files_that_are_not_a_cases_are_refused(tmp_path: Path, name: str, text: str, code: str) -> None:
    """A corpus that is read half would prove half."""
    folder = tmp_path / "v1" / "case"
    shutil.copytree(TOY / "says-one-thing", folder)
    (folder / name).write_text(text)
    with pytest.raises(Refused) as refused:
        read_case(folder)
    assert refused.value.refusal.code == code


@pytest.mark.req("OAP-046")
def test_the_shared_corpora_have_the_shape_the_kit_reads(shared: Path) -> None:
    """Every case, every step with a frame, every expected event typed and numbered from 1 for each run."""
    cases: list[Case] = read_corpus(shared / "oap" / "fixtures" / "adapters")
    assert len(cases) >= 30
    kinds = Counter(step.classification for case in cases for step in case.steps)
    assert (kinds["mapped"] > 200, kinds["required-unmapped"] >= 1) == (True, True)
    for case in cases:
        numbers: dict[object, list[object]] = {}
        for envelope in case.expected:
            numbers.setdefault(envelope.run_id, []).append(envelope.sequence)
        assert all(told == [*range(1, len(told) + 1)] for told in numbers.values()), case.name
        assert normalised(case.expected) == normalised(case.expected)
