"""Endpoints that break one promise each: what conformance has to find (OAP-199).

`python -m sayso.testing.broken_endpoints NAME` is the endpoint, over standard input and output; `honest` breaks none.
`BROKEN` says of each which check has to fail, and where that is the trace, with which diagnostic.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sayso.testing.toy_endpoint import REVISION, Refusal, Toy, ToyRun, Value, die, serve

__all__ = ("BROKEN", "Broken", "main")


@dataclass(frozen=True, slots=True)
class Broken:
    """One kind: the endpoint, the check that has to fail, and a word its detail has to have."""

    endpoint: type[Toy]
    check: str
    word: str = ""


BROKEN: dict[str, Broken] = {}


def _fails(check: str, word: str = "") -> Any:
    """Registers a kind under its class's name in snake case."""

    def register(kind: type[Toy]) -> type[Toy]:
        name = "".join(f"_{each.lower()}" if each.isupper() else each for each in kind.__name__).lstrip("_")
        BROKEN[name] = Broken(kind, check, word)
        return kind

    return register


# --- runs ------------------------------------------------------------------------------------------------------------


@_fails("terminal", "did not come to its end")
class MissingTerminal(Toy):
    """A run never ends."""

    def finish(self, run: ToyRun) -> None:
        run.waits = None


@_fails("trace", "duplicate_run_terminal")
class TwoTerminals(Toy):
    """A run ends twice."""

    def end(self, run: ToyRun, type_: str, **members: Any) -> None:
        super().end(run, type_, **members)
        super().end(run, type_, **members)


@_fails("trace", "event_after_terminal")
class EventAfterTerminal(Toy):
    """A run speaks after its end."""

    def end(self, run: ToyRun, type_: str, **members: Any) -> None:
        super().end(run, type_, **members)
        self.tell(run, "content.delta", part={"type": "text", "text": "and another thing"})


@_fails("trace", "sequence_gap")
class SequenceGap(Toy):
    """A number is left out."""

    def event(self, run: ToyRun, type_: str, members: Value) -> Value:
        event = super().event(run, type_, members)
        return {**event, "sequence": event["sequence"] + (event["sequence"] > 2)}


@_fails("trace", "scope_mismatch")
class ScopeMismatch(Toy):
    """An event's envelope and payload name different sessions."""

    def event(self, run: ToyRun, type_: str, members: Value) -> Value:
        event = super().event(run, type_, members)
        if type_ == "content.delta":
            event["payload"]["session_id"] = "another"
        return event


@_fails("trace", "pending_tool_at_terminal")
class OpenCall(Toy):
    """A run ends with its call open."""

    def call(self, run: ToyRun, step: str, **members: Any) -> None:
        if step != "completed":
            super().call(run, step, **members)


@_fails("terminal")
class DiesInTheRun(Toy):
    """The process ends in the middle of a run."""

    def go_on(self, run: ToyRun) -> None:
        die("an accident")


# --- gates -----------------------------------------------------------------------------------------------------------


@_fails("wrong_responder")
class WrongResponder(Toy):
    """Anybody may answer."""

    def judge_answer(self, run: ToyRun, payload: Value) -> None:
        super().judge_answer(run, {**payload, "responded_by": "user"})


@_fails("second_answer")
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


@_fails("permission", "refused")
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


# --- replay and control frames ---------------------------------------------------------------------------------------


@_fails("replay", "came again as another")
class InventedReplay(Toy):
    """What comes again is not what was told."""

    def again(self, run: ToyRun, after: int) -> Iterator[Value]:
        for event in super().again(run, after):
            yield {**event, "id": self.new("e")}


@_fails("replay", "did not come")
class ShortReplay(Toy):
    """One event does not come again."""

    def again(self, run: ToyRun, after: int) -> Iterator[Value]:
        yield from run.events[after + 1 :]


@_fails("replay", "a gap")
class LyingGap(Toy):
    """A gap that names what was never told."""

    def control(self, frame: Value) -> None:
        if frame["control"] == "replay" and frame["run_id"] in self.runs:
            gap = {"requested_after": frame["after"], "oldest_available": 500, "latest_available": 900}
            self.write({"control": "replay.gap", "id": frame["id"], **gap})
        else:
            super().control(frame)


@_fails("unknown_control", "did not come")
class SilentToControls(Toy):
    """A control nobody knows is not answered."""

    def unknown_control(self, frame: Value) -> None:
        return


# --- requests and answers --------------------------------------------------------------------------------------------


@_fails("initialize", "did not come")
class Hangs(Toy):
    """Nothing is ever answered."""

    def take(self, line: bytes) -> None:
        return


@_fails("state", "did not come")
class Chatty(Toy):
    """Lines nobody asked for, and not the one that was."""

    def state(self, asked: Value) -> None:
        def chat() -> None:
            while True:
                event = {**asked, "type": "session.state.updated", "id": self.new("e"), "sequence": next(self.number)}
                self.write({**event, "payload": self.told_state(asked["payload"]["session_id"])})
                threading.Event().wait(0.01)

        threading.Thread(target=chat, daemon=True).start()


@_fails("trace", "duplicate_response")
class AnswersTwice(Toy):
    """One request, two answers."""

    def respond(self, asked: Value, payload: Value) -> None:
        super().respond(asked, payload)
        if asked["type"] == "session.open.request":
            super().respond(asked, payload)


@_fails("unknown_type", "ended before")
class DiesOfAStranger(Toy):
    """An envelope of a type it does not know ends the process."""

    def envelope(self, asked: Value) -> None:
        if str(asked["type"]).startswith("dev.sayso."):
            die("a stranger")
        super().envelope(asked)


@_fails("lines", "neither an envelope")
class GarbageOnStdout(Toy):
    """A banner where the protocol is."""

    def initialize(self, asked: Value) -> None:
        self._out(b'"Welcome to the toy!"')
        super().initialize(asked)


@_fails("lines", "Welcome")
class TextOnStdout(Toy):
    """A line that is no JSON at all."""

    def initialize(self, asked: Value) -> None:
        self._out(b"Welcome to the toy!")
        super().initialize(asked)


@_fails("trace", "schema_invalid")
class StrayMember(Toy):
    """A payload has a member the protocol does not know."""

    def told_state(self, session_id: str) -> Value:
        return {**super().told_state(session_id), "mood": "good"}


# --- revisions -------------------------------------------------------------------------------------------------------


@_fails("stale_revision", "invalid_request")
class WrongStaleCode(Toy):
    """A stale pin is refused for another reason."""

    def judge_pin(self, asked: Value) -> None:
        try:
            super().judge_pin(asked)
        except Refusal:
            raise Refusal("invalid_request") from None


@_fails("stale_revision", "details name")
class SilentAboutRevisions(Toy):
    """A stale pin is refused without saying what is current."""

    def judge_pin(self, asked: Value) -> None:
        try:
            super().judge_pin(asked)
        except Refusal:
            raise Refusal("stale_capabilities") from None


@_fails("stale_revision", "had to be refused")
class TakesStalePins(Toy):
    """A stale pin is not looked at."""

    def judge_pin(self, asked: Value) -> None:
        return


@_fails("discovery")
class BlockedDiscovery(Toy):
    """A stale pin blocks discovery."""

    def judge_pin(self, asked: Value) -> None:
        if asked.get("capability_revision", REVISION) != REVISION:
            raise Refusal(
                "stale_capabilities", expected_revision=REVISION, current_revision="conformance-stale-revision"
            )


@_fails("trace", "stale_capability_revision")
class ForgetsThePin(Toy):
    """An answer does not say under which revision it was given."""

    def respond(self, asked: Value, payload: Value) -> None:
        if asked["type"] != "session.state.request":
            super().respond(asked, payload)
            return
        answer = {"type": "session.state.response", "in_reply_to": asked["id"], "session_id": payload["session_id"]}
        self.write(
            {
                **{name: asked[name] for name in ("protocol", "version", "profile")},
                **answer,
                "id": self.new("a"),
                "payload": payload,
            }
        )


# --- cancel ----------------------------------------------------------------------------------------------------------


@_fails("cancel", "before the answer")
class CancelledBeforeTheAnswer(Toy):
    """A run is cancelled before the cancel is answered."""

    def answer_cancel(self, asked: Value, run: ToyRun) -> None:
        self.wind_up(run)
        super().answer_cancel(asked, run)


@_fails("cancel_late", "had to be refused")
class TakesLateCancels(Toy):
    """A cancel of a run that completed is accepted."""

    def judge_cancel(self, run: ToyRun) -> None:
        return


@_fails("cancel", "did not come to its end")
class ForgetsTheCancel(Toy):
    """A cancel is accepted, and nothing comes of it."""

    def wind_up(self, run: ToyRun) -> None:
        return


# --- promises --------------------------------------------------------------------------------------------------------


@_fails("trace", "unavailable_capability")
class UndeclaredCapability(Toy):
    """It asks questions, and does not advertise that it can."""

    def features(self) -> Value:
        features = super().features()
        del features["user_input"]
        return features


@_fails("queue", "run_active")
class RunActiveBelowTheBound(Toy):
    """A queue is advertised, and nothing is ever queued."""

    def features(self) -> Value:
        return {**super().features(), "session.message.delivery.queue": {"level": "native"}}

    def capabilities(self, asked: Value) -> None:
        limits = {"max_queued_runs_per_session": 2}
        self.respond(asked, {"endpoint": {"id": "toy-agent"}, "features": self.features(), "limits": limits})


@_fails("models", "changed")
class ChangingCatalog(Toy):
    """The catalog changes within a revision."""

    def list_models(self, asked: Value) -> None:
        super().list_models(asked)
        self.models = (*self.models, self.new("toy"))


@_fails("model_selection", "had to be refused")
class TakesAnyModel(Toy):
    """A model that is not listed is taken."""

    def judge_submission(self, payload: Value) -> None:
        super().judge_submission({**payload, "model_id": self.models[0]})


@_fails("delivery", "had to be refused")
class AnotherDelivery(Toy):
    """A delivery it does not have is replaced by one it has."""

    def submit(self, asked: Value) -> None:
        if asked["payload"]["delivery"] in ("queue", "steer", "btw"):
            asked = {**asked, "payload": {**asked["payload"], "delivery": "auto"}}
        super().submit(asked)


@_fails("run_controls", "had to be refused")
class DroppedControl(Toy):
    """A control it does not have is taken and dropped."""

    def judge_wanted(self, payload: Value, keys: Any) -> None:
        super().judge_wanted({name: value for name, value in payload.items() if name != "instructions"}, keys)


@_fails("run_controls", "details.feature")
class NamelessRefusal(Toy):
    """A control it does not have is refused, and not by its name."""

    def judge_wanted(self, payload: Value, keys: Any) -> None:
        try:
            super().judge_wanted(payload, keys)
        except Refusal as refusal:
            if refusal.details["feature"].startswith("run."):
                raise Refusal("unsupported_feature", feature="everything", reason="unadvertised") from None
            raise


# --- the end ---------------------------------------------------------------------------------------------------------


@_fails("exit_clean", "7 instead of 0")
class ExitCode(Toy):
    """A clean end, and an exit code that says otherwise."""

    def hung_up(self) -> int:
        return 7


@_fails("exit_clean", "did not end")
class DeafToTheEnd(Toy):
    """The end of input ends nothing."""

    def hung_up(self) -> int:
        threading.Event().wait()
        return 0


@_fails("no_invented_end", "run.failed")
class InventedEnd(Toy):
    """A run that waited is failed when nobody reads any more."""

    def hung_up(self) -> int:
        for run in self.runs.values():
            if run.waits == "permission":
                self.tell(
                    run,
                    "action.permission.resolved",
                    interaction_id=run.interaction,
                    requested_by="toy-agent",
                    responded_by="user",
                    outcome="failed",
                )
                self.call(run, "failed", error={"code": "hung_up", "message": "nobody is there"})
                self.end(run, "run.failed", error={"code": "hung_up", "message": "nobody is there"})
        return 0


@_fails("exit_signal", "instead of 0")
class DiesOfSigterm(Toy):
    """SIGTERM is an accident to it."""

    def terminated(self) -> int | None:
        return 143


@_fails("exit_malformed", "0 instead of")
class ForgivesMalformedLines(Toy):
    """A line it cannot read is passed over."""

    def malformed(self) -> None:
        sys.stdout.flush()
        raise SystemExit(0)


@_fails("exit_malformed", "did not end")
class GoesOnBehindMalformedLines(Toy):
    """A line it cannot read is passed over, and it goes on as though nothing were in doubt."""

    def malformed(self) -> None:
        return


def main(arguments: list[str]) -> int:
    """Serves the kind that is named."""
    name = arguments[0] if len(arguments) == 1 else ""
    kinds: dict[str, type[Toy]] = {"honest": Toy, **{each: broken.endpoint for each, broken in BROKEN.items()}}
    if name not in kinds:
        sys.stderr.write(f"one of: {', '.join(kinds)}\n")
        return 2
    return serve(kinds[name])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
