"""Endpoints that keep every promise, each in a way of its own that conformance must not mistake for a fault."""

from __future__ import annotations

import sys
from typing import Any

from sayso.testing.toy_endpoint import Refusal, Toy, ToyRun, Value

__all__ = ("HONEST",)

_ERROR = {"code": "provider_unavailable", "message": "no model server answers here"}
_KEPT = 5


class Forgetful(Toy):
    """Keeps the last events of a run only, and says so."""

    def control(self, frame: Value) -> None:
        run = self.runs.get(str(frame.get("run_id")))
        last = len(run.events) if run is not None else 0
        if frame["control"] != "replay" or not frame["after"] < last - _KEPT:
            super().control(frame)
            return
        bounds = {"oldest_available": last - _KEPT + 1, "latest_available": last}
        self.write({"control": "replay.gap", "id": frame["id"], "requested_after": frame["after"], **bounds})


class WithoutReplay(Toy):
    """Has no replay: the binding lets it."""

    def control(self, frame: Value) -> None:
        self.unknown_control(frame)

    def features(self) -> Value:
        return {**super().features(), "run.replay": {"level": "unavailable"}}


class WithoutGates(Toy):
    """Asks nobody anything."""

    def begin(self, run: ToyRun) -> None:
        self.tell(run, "run.started", status="running", model_id=run.model)
        self.tell(run, "content.delta", part={"type": "text", "text": "Done."})
        self.end(run, "run.completed", final_response={"role": "assistant", "content": "Done."}, stop_reason="end_turn")


class WithoutModelServer(Toy):
    """Admits every message, and fails every run: nobody needs a credential to conform."""

    def begin(self, run: ToyRun) -> None:
        self.tell(run, "run.started", status="running", model_id=run.model)
        self.end(run, "run.failed", error=_ERROR)


class FailsBeforeItStarts(Toy):
    """A run may be failed as its first and only event."""

    def begin(self, run: ToyRun) -> None:
        self.end(run, "run.failed", error=_ERROR)


class WithoutCancel(Toy):
    """Declares that a run cannot be cancelled, and refuses by that name."""

    def features(self) -> Value:
        return {**super().features(), "run.cancel": {"level": "unavailable"}}

    def cancel(self, asked: Value) -> None:
        raise Refusal("unsupported_feature", feature="run.cancel", reason="unadvertised")


class Overtaken(Toy):
    """Its events come before the answer that admitted their run: no order is promised between the two."""

    held: list[Value] | None = None

    def submit(self, asked: Value) -> None:
        self.held = []
        try:
            super().submit(asked)
        finally:
            held, self.held = self.held, None
        for value in (*held[1:], *held[:1]):
            self.write(value)

    def write(self, value: Value) -> None:
        if self.held is None:
            super().write(value)
        else:
            self.held.append(value)


class Talkative(Toy):
    """Has a lot to say to people, where people read."""

    def tell(self, run: ToyRun, type_: str, **members: Any) -> None:
        sys.stderr.write(f"{type_}\n" * 200)
        super().tell(run, type_, **members)


HONEST: dict[str, type[Toy]] = {
    "honest": Toy,
    "forgetful": Forgetful,
    "without_replay": WithoutReplay,
    "without_gates": WithoutGates,
    "without_model_server": WithoutModelServer,
    "fails_before_it_starts": FailsBeforeItStarts,
    "without_cancel": WithoutCancel,
    "overtaken": Overtaken,
    "talkative": Talkative,
}
