"""Endpoints that break what requests, revisions, capabilities and the end of a connection promise."""

from __future__ import annotations

import sys
import threading
from typing import Any

from sayso.testing.breaking import fails
from sayso.testing.toy_endpoint import REVISION, Refusal, Toy, Value, die

__all__ = (
    "AnotherDelivery",
    "AnswersTwice",
    "BlockedDiscovery",
    "ChangingCatalog",
    "Chatty",
    "DeafToTheEnd",
    "DiesOfAStranger",
    "DiesOfSigterm",
    "DroppedControl",
    "ExitCode",
    "ForgetsLiveRuns",
    "ForgetsThePin",
    "ForgivesMalformedLines",
    "GarbageOnStdout",
    "GoesOnBehindMalformedLines",
    "Hangs",
    "InventedEnd",
    "NamelessRefusal",
    "RunActiveBelowTheBound",
    "SilentAboutRevisions",
    "StrayMember",
    "TakesAnyModel",
    "TakesStalePins",
    "TextOnStdout",
    "UndeclaredCapability",
    "WrongStaleCode",
)


# --- requests and answers ---------------------------------------------------------------------------------------------


@fails("initialize", "did not come")
class Hangs(Toy):
    """Nothing is ever answered."""

    def take(self, line: bytes) -> None:
        return


@fails("state", "did not come")
class Chatty(Toy):
    """Lines nobody asked for, and not the one that was."""

    def state(self, asked: Value) -> None:
        def chat() -> None:
            while True:
                event = {**asked, "type": "session.state.updated", "id": self.new("e"), "sequence": next(self.number)}
                self.write({**event, "payload": self.told_state(asked["payload"]["session_id"])})
                threading.Event().wait(0.01)

        threading.Thread(target=chat, daemon=True).start()


@fails("trace", "duplicate_response")
class AnswersTwice(Toy):
    """One request, two answers."""

    def respond(self, asked: Value, payload: Value) -> None:
        super().respond(asked, payload)
        if asked["type"] == "session.open.request":
            super().respond(asked, payload)


@fails("unknown_type", "ended before")
class DiesOfAStranger(Toy):
    """An envelope of a type it does not know ends the process."""

    def envelope(self, asked: Value) -> None:
        if str(asked["type"]).startswith("dev.sayso."):
            die("a stranger")
        super().envelope(asked)


@fails("lines", "neither an envelope")
class GarbageOnStdout(Toy):
    """A banner where the protocol is."""

    def initialize(self, asked: Value) -> None:
        self._out(b'"Welcome to the toy!"')
        super().initialize(asked)


@fails("lines", "Welcome")
class TextOnStdout(Toy):
    """A line that is no JSON at all."""

    def initialize(self, asked: Value) -> None:
        self._out(b"Welcome to the toy!")
        super().initialize(asked)


@fails("state_live", "and the state names")
class ForgetsLiveRuns(Toy):
    """The state does not name the run that waits."""

    def told_state(self, session_id: str) -> Value:
        told = super().told_state(session_id)
        return {name: value for name, value in told.items() if not name.startswith("active_run")}


@fails("trace", "schema_invalid")
class StrayMember(Toy):
    """A payload has a member the protocol does not know."""

    def told_state(self, session_id: str) -> Value:
        return {**super().told_state(session_id), "mood": "good"}


# --- revisions --------------------------------------------------------------------------------------------------------


@fails("stale_revision", "invalid_request")
class WrongStaleCode(Toy):
    """A stale pin is refused for another reason."""

    def judge_pin(self, asked: Value) -> None:
        try:
            super().judge_pin(asked)
        except Refusal:
            raise Refusal("invalid_request") from None


@fails("stale_revision", "details name")
class SilentAboutRevisions(Toy):
    """A stale pin is refused without saying what is current."""

    def judge_pin(self, asked: Value) -> None:
        try:
            super().judge_pin(asked)
        except Refusal:
            raise Refusal("stale_capabilities") from None


@fails("stale_revision", "had to be refused")
class TakesStalePins(Toy):
    """A stale pin is not looked at."""

    def judge_pin(self, asked: Value) -> None:
        return


@fails("discovery")
class BlockedDiscovery(Toy):
    """A stale pin blocks discovery."""

    def judge_pin(self, asked: Value) -> None:
        if asked.get("capability_revision", REVISION) != REVISION:
            raise Refusal(
                "stale_capabilities", expected_revision=REVISION, current_revision="conformance-stale-revision"
            )


@fails("trace", "stale_capability_revision")
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


# --- promises ---------------------------------------------------------------------------------------------------------


@fails("trace", "unavailable_capability")
class UndeclaredCapability(Toy):
    """It asks questions, and does not advertise that it can."""

    def features(self) -> Value:
        features = super().features()
        del features["user_input"]
        return features


@fails("queue", "run_active")
class RunActiveBelowTheBound(Toy):
    """A queue is advertised, and nothing is ever queued."""

    def features(self) -> Value:
        return {**super().features(), "session.message.delivery.queue": {"level": "native"}}

    def capabilities(self, asked: Value) -> None:
        limits = {"max_queued_runs_per_session": 2}
        self.respond(asked, {"endpoint": {"id": "toy-agent"}, "features": self.features(), "limits": limits})


@fails("models", "changed")
class ChangingCatalog(Toy):
    """The catalog changes within a revision."""

    def list_models(self, asked: Value) -> None:
        super().list_models(asked)
        self.models = (*self.models, self.new("toy"))


@fails("model_selection", "had to be refused")
class TakesAnyModel(Toy):
    """A model that is not listed is taken."""

    def judge_submission(self, payload: Value) -> None:
        super().judge_submission({**payload, "model_id": self.models[0]})


@fails("delivery", "had to be refused")
class AnotherDelivery(Toy):
    """A delivery it does not have is replaced by one it has."""

    def submit(self, asked: Value) -> None:
        if asked["payload"]["delivery"] in ("queue", "steer", "btw"):
            asked = {**asked, "payload": {**asked["payload"], "delivery": "auto"}}
        super().submit(asked)


@fails("run_controls", "had to be refused")
class DroppedControl(Toy):
    """A control it does not have is taken and dropped."""

    def judge_wanted(self, payload: Value, keys: Any) -> None:
        super().judge_wanted({name: value for name, value in payload.items() if name != "instructions"}, keys)


@fails("run_controls", "details.feature")
class NamelessRefusal(Toy):
    """A control it does not have is refused, and not by its name."""

    def judge_wanted(self, payload: Value, keys: Any) -> None:
        try:
            super().judge_wanted(payload, keys)
        except Refusal as refusal:
            if refusal.details["feature"].startswith("run."):
                raise Refusal("unsupported_feature", feature="everything", reason="unadvertised") from None
            raise


# --- the end ----------------------------------------------------------------------------------------------------------


@fails("exit_clean", "7 instead of 0")
class ExitCode(Toy):
    """A clean end, and an exit code that says otherwise."""

    def hung_up(self) -> int:
        return 7


@fails("exit_clean", "did not end")
class DeafToTheEnd(Toy):
    """The end of input ends nothing."""

    def hung_up(self) -> int:
        threading.Event().wait()
        return 0


@fails("no_invented_end", "run.failed")
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


@fails("exit_signal", "instead of 0")
class DiesOfSigterm(Toy):
    """SIGTERM is an accident to it."""

    def terminated(self) -> int | None:
        return 143


@fails("exit_malformed", "0 instead of")
class ForgivesMalformedLines(Toy):
    """A line it cannot read is passed over."""

    def malformed(self) -> None:
        sys.stdout.flush()
        raise SystemExit(0)


@fails("exit_malformed", "did not end")
class GoesOnBehindMalformedLines(Toy):
    """A line it cannot read is passed over, and it goes on as though nothing were in doubt."""

    def malformed(self) -> None:
        return
