"""Endpoints that break what a run, its gates, its replay and its cancel promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sayso.testing.breaking import fails
from sayso.testing.toy_endpoint import Refusal, Toy, ToyRun, Value, die

__all__ = (
    "CancelledBeforeTheAnswer",
    "DeafToAnswers",
    "DiesInTheRun",
    "EventAfterTerminal",
    "ForgetsTheCancel",
    "InsistsOnAnswers",
    "InventedReplay",
    "LyingGap",
    "MissingTerminal",
    "OpenCall",
    "ScopeMismatch",
    "SecondAnswer",
    "SequenceGap",
    "ShortReplay",
    "SilentToControls",
    "TakesLateCancels",
    "TwoTerminals",
    "WrongResponder",
)


# --- runs -------------------------------------------------------------------------------------------------------------


@fails("terminal", "did not come to its end")
class MissingTerminal(Toy):
    """A run never ends."""

    def finish(self, run: ToyRun) -> None:
        run.waits = None


@fails("trace", "duplicate_run_terminal")
class TwoTerminals(Toy):
    """A run ends twice."""

    def end(self, run: ToyRun, type_: str, **members: Any) -> None:
        super().end(run, type_, **members)
        super().end(run, type_, **members)


@fails("trace", "event_after_terminal")
class EventAfterTerminal(Toy):
    """A run speaks after its end."""

    def end(self, run: ToyRun, type_: str, **members: Any) -> None:
        super().end(run, type_, **members)
        self.tell(run, "content.delta", part={"type": "text", "text": "and another thing"})


@fails("trace", "sequence_gap")
class SequenceGap(Toy):
    """A number is left out."""

    def event(self, run: ToyRun, type_: str, members: Value) -> Value:
        event = super().event(run, type_, members)
        return {**event, "sequence": event["sequence"] + (event["sequence"] > 2)}


@fails("trace", "scope_mismatch")
class ScopeMismatch(Toy):
    """An event's envelope and payload name different sessions."""

    def event(self, run: ToyRun, type_: str, members: Value) -> Value:
        event = super().event(run, type_, members)
        if type_ == "content.delta":
            event["payload"]["session_id"] = "another"
        return event


@fails("trace", "pending_tool_at_terminal")
class OpenCall(Toy):
    """A run ends with its call open."""

    def call(self, run: ToyRun, step: str, **members: Any) -> None:
        if step != "completed":
            super().call(run, step, **members)


@fails("terminal")
class DiesInTheRun(Toy):
    """The process ends in the middle of a run."""

    def go_on(self, run: ToyRun) -> None:
        die("an accident")


# --- gates ------------------------------------------------------------------------------------------------------------


@fails("wrong_responder")
class WrongResponder(Toy):
    """Anybody may answer."""

    def judge_answer(self, run: ToyRun, payload: Value) -> None:
        super().judge_answer(run, {**payload, "responded_by": "user"})


@fails("second_answer")
class SecondAnswer(Toy):
    """An answer is taken again."""

    def resolve(self, asked: Value) -> None:
        payload = asked["payload"]
        run = self.runs[payload["run_id"]]
        if payload["responded_by"] == "user" and payload["interaction_id"] != run.interaction:
            scope = {name: payload[name] for name in ("interaction_id", "session_id", "run_id")}
            self.respond(asked, {**scope, "accepted": True})
            return
        super().resolve(asked)


@fails("decline", "refused")
class InsistsOnAnswers(Toy):
    """A question that allows to be declined is not let go."""

    def decline(self, asked: Value) -> None:
        self.refuse(asked, Refusal("resolution_rejected"))
        self.finish(self.runs[asked["payload"]["run_id"]])


@fails("permission", "refused")
class DeafToAnswers(Toy):
    """The declared responder is refused, and the run goes on all the same."""

    def resolve(self, asked: Value) -> None:
        payload = asked["payload"]
        run = self.runs[payload["run_id"]]
        if payload["responded_by"] == "user" and payload["interaction_id"] == run.interaction:
            self.refuse(asked, Refusal("resolution_rejected"))
            self.resolved(run, payload)
            return
        super().resolve(asked)


# --- replay and control frames ----------------------------------------------------------------------------------------


@fails("replay", "came again as another")
class InventedReplay(Toy):
    """What comes again is not what was told."""

    def again(self, run: ToyRun, after: int) -> Iterator[Value]:
        for event in super().again(run, after):
            yield {**event, "id": self.new("e")}


@fails("replay", "did not come")
class ShortReplay(Toy):
    """One event does not come again."""

    def again(self, run: ToyRun, after: int) -> Iterator[Value]:
        yield from run.events[after + 1 :]


@fails("replay", "a gap")
class LyingGap(Toy):
    """A gap that names what was never told."""

    def control(self, frame: Value) -> None:
        if frame["control"] == "replay" and frame["run_id"] in self.runs:
            gap = {"requested_after": frame["after"], "oldest_available": 500, "latest_available": 900}
            self.write({"control": "replay.gap", "id": frame["id"], **gap})
        else:
            super().control(frame)


@fails("unknown_control", "did not come")
class SilentToControls(Toy):
    """A control nobody knows is not answered."""

    def unknown_control(self, frame: Value) -> None:
        return


# --- cancel -----------------------------------------------------------------------------------------------------------


@fails("cancel", "before the answer")
class CancelledBeforeTheAnswer(Toy):
    """A run is cancelled before the cancel is answered."""

    def answer_cancel(self, asked: Value, run: ToyRun) -> None:
        self.wind_up(run)
        super().answer_cancel(asked, run)


@fails("cancel_late", "had to be refused")
class TakesLateCancels(Toy):
    """A cancel of a run that completed is accepted."""

    def judge_cancel(self, run: ToyRun) -> None:
        return


@fails("cancel", "did not come to its end")
class ForgetsTheCancel(Toy):
    """A cancel is accepted, and nothing comes of it."""

    def wind_up(self, run: ToyRun) -> None:
        return
