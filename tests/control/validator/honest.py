"""An endpoint that keeps its word, as a source of legal conversations: what it is asked is drawn, its answers are not.

It has its own idea of what is legal and shares no code with the machine it is judged by.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

HEAD = {
    "protocol": "open-agent-protocol",
    "version": "0.1",
    "profile": "open-agent-protocol.agent-control-core",
}
SESSION = "s"
KEYS = (
    "session.message.delivery.queue", "session.message.delivery.steer", "session.compact", "run.compaction",
    "tools", "permissions", "user_input", "models.list", "action.tools.list", "run.instructions",
)  # fmt: skip
QUEUED = 2
MODELS = [{"id": "oak", "default": True}, {"id": "elm"}]


class Honest:
    """One session; every method says one thing or does nothing when it would not be legal now."""

    def __init__(self, levels: dict[str, str]) -> None:
        self.trace: list[dict[str, Any]] = []
        self.levels = levels
        self.waiting: list[str] = []
        self.live: str | None = None
        self.last = self.count = 0
        self.calls: dict[str, str] = {}
        self.gates: dict[str, str] = {}
        self.steers: list[str] = []
        self.is_cancelled = False
        features = {key: {"level": level, "reason": "drawn"} for key, level in levels.items()}
        self._say("capabilities.request", {}, id="caps")
        limits = {"max_queued_runs_per_session": QUEUED}
        self._answer("caps", "capabilities.response", {"endpoint": {"id": "e"}, "features": features, "limits": limits})
        self.trace[-1]["capability_revision"] = "r1"

    def has(self, key: str) -> bool:
        return self.levels.get(key, "unavailable") != "unavailable"

    def _say(self, kind: str, payload: dict[str, Any], **top: Any) -> str:
        name = top.pop("id", None) or f"e{len(self.trace)}"
        self.trace.append({**HEAD, "type": kind, "id": name, **top, "payload": payload})
        return str(name)

    def _ask(self, kind: str, payload: dict[str, Any], **top: Any) -> str:
        return self._say(kind, {"session_id": SESSION, **payload}, session_id=SESSION, **top)

    def _answer(self, request: str, kind: str, payload: dict[str, Any], **top: Any) -> None:
        self._say(kind, payload, in_reply_to=request, **top)

    def _refuse(self, request: str, code: str, **details: str) -> None:
        error = {"code": code, "message": "no", **({"details": details} if details else {})}
        self._answer(request, "error.response", {"error": error}, session_id=SESSION)

    def _event(self, kind: str, call: str | None = None, **payload: Any) -> None:
        self.last += 1
        scope = {"session_id": SESSION, "run_id": self.live, **({"tool_call_id": call} if call else {})}
        self._say(kind, {**scope, **payload}, **scope, sequence=self.last)

    # --- what may be asked -------------------------------------------------------------------------------------------

    def submit(self, delivery: str = "auto", **controls: Any) -> None:
        request = self._ask(
            "session.message.submit.request",
            {"messages": [{"role": "user", "content": "x"}], "delivery": delivery, **controls},
        )
        if refusal := self._gate(delivery, controls):
            self._refuse(request, *refusal[:1], **refusal[1])
        elif delivery == "steer":
            self._steer(request)
        else:
            self._admit(request, delivery, "session.message.submit.response")

    def _gate(self, delivery: str, controls: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
        keys = sorted(
            [f"session.message.delivery.{delivery}"] * (delivery != "auto")
            + ["run.instructions"] * ("instructions" in controls)
        )
        for key in keys:
            if not self.has(key):
                return "unsupported_feature", {"feature": key, "reason": "unadvertised"}
        for key in keys:
            if self.levels[key] == "degraded" and key not in controls.get("allow_degraded_features", ()):
                return "capability_degraded", {"feature": key}
        if delivery == "steer" and "instructions" in controls:
            return "unsupported_feature", {"feature": "run.instructions"}
        return None

    def _steer(self, request: str) -> None:
        if self.live is None:
            self._refuse(request, "invalid_steer_target", reason="no_run")
            return
        body = self._admission(request, "steer", "steered", "steer", self.live)
        del body["status"]
        body["target_sequence"] = self.last
        self._answer(request, "session.message.submit.response", body, session_id=SESSION)
        self.steers.append(request)

    def _admit(self, request: str, delivery: str, kind: str) -> None:
        is_busy = self.live is not None
        may_queue = self.has("session.message.delivery.queue")
        is_degraded = self.levels.get("session.message.delivery.queue") == "degraded"
        if delivery == "auto" and is_busy and (not may_queue or is_degraded):
            self._refuse(request, "run_active")
            return
        if (is_busy or delivery == "queue") and len(self.waiting) >= QUEUED:
            self._refuse(request, "run_active")
            return
        self.count += 1
        run = f"r{self.count}"
        if is_busy or delivery == "queue":
            body = self._admission(request, delivery, "queued", "queue", run)
            if delivery == "auto":
                body["delivery_resolution"] = "session_busy"
            self.waiting.append(run)
            self._answer(request, kind, body, session_id=SESSION)
            self._promote()
        else:
            self._answer(request, kind, self._admission(request, delivery, "started", "start", run), session_id=SESSION)
            self._start(run)

    def _admission(self, request: str, asked: str, how: str, effective: str, run: str) -> dict[str, Any]:
        status = {"started": "running", "queued": "queued", "steered": "running"}[how]
        return {
            "session_id": SESSION,
            "accepted": True,
            "submission_id": f"sub-{request}",
            "requested_delivery": asked,
            "effective_delivery": effective,
            "admission": how,
            "run_id": run,
            "status": status,
        }

    def _start(self, run: str) -> None:
        self.live, self.last, self.is_cancelled = run, 0, False
        self.calls, self.gates, self.steers = {}, {}, []
        self._event("run.started", status="running")

    def _promote(self) -> None:
        if self.live is None and self.waiting:
            self._start(self.waiting.pop(0))

    # --- what a run does ---------------------------------------------------------------------------------------------

    def speak(self) -> None:
        if self.live is not None:
            self._event("content.delta", part={"type": "text", "text": "x"})

    def call(self) -> None:
        if self.live is None or not self.has("tools"):
            return
        name = f"t{len(self.calls)}"
        self.calls[name] = "requested"
        self._event("action.call.requested", name, requested_by="e", execution_owner="e", name="saw", arguments_json={})

    def work(self) -> None:
        for name, state in list(self.calls.items()):
            if state == "requested":
                self.calls[name] = "started"
                self._event("action.call.started", name, execution_owner="e", name="saw")
                return
            if state == "started":
                self.calls[name] = "over"
                self._event("action.call.completed", name, execution_owner="e", result=1)
                return

    def question(self) -> None:
        if self.live is None or not self.has("user_input"):
            return
        name = f"q{len(self.gates)}"
        self.gates[name] = "open"
        questions = [{"id": "q", "prompt": "?", "kind": "text"}]
        self._event("user.input.requested", **_gate(name), title="?", questions=questions)

    def resolve(self, who: str = "user") -> None:
        for name, state in self.gates.items():
            scope = {"session_id": SESSION, "run_id": self.live}
            answers = [{"question_id": "q", "text": "x"}]
            body = {**scope, **_gate(name), "responded_by": who, "answers": answers}
            request = self._say("user.input.resolve.request", body, **scope)
            is_right = state == "open" and who == "user"
            if not is_right:
                self._refuse(request, "resolution_rejected")
                return
            self._answer(
                request, "user.input.resolve.response", {**scope, "interaction_id": name, "accepted": True}, **scope
            )
            self.gates[name] = "closed"
            self._event("user.input.resolved", **_gate(name), status="submitted", answers=answers)
            return

    def compact(self) -> None:
        if self.live is not None and self.has("run.compaction"):
            name = f"c{len(self.trace)}"
            self._event("run.compaction.started", compaction_id=name, reason="threshold")
            self._event("run.compaction.ended", compaction_id=name, outcome="completed")

    def cancel(self) -> None:
        if self.live is None:
            return
        scope = {"session_id": SESSION, "run_id": self.live}
        request = self._say("run.cancel.request", dict(scope), **scope)
        self._answer(request, "run.cancel.response", {**scope, "accepted": True, "status": "cancelling"}, **scope)
        self.is_cancelled = True

    def cancel_waiting(self) -> None:
        if not self.waiting:
            return
        run = self.waiting.pop()
        scope = {"session_id": SESSION, "run_id": run}
        request = self._say("run.cancel.request", dict(scope), **scope)
        self._answer(request, "run.cancel.response", {**scope, "accepted": True, "status": "cancelling"}, **scope)
        self._say("run.cancelled", dict(scope), **scope, sequence=1)

    def end(self, how: str = "completed") -> None:
        if self.live is None:
            return
        for name, state in self.gates.items():
            if state == "open":
                self._event("user.input.resolved", **_gate(name), status="cancelled")
        for name, state in self.calls.items():
            if state != "over":
                self._event("action.call.cancelled", name, execution_owner="e")
        for request in self.steers:
            sub = {"submission_id": f"sub-{request}", "request_id": request}
            self._event("run.steer.dropped", **sub, reason={"code": "run_terminated", "message": "over"})
        if self.is_cancelled and how == "cancelled":
            self._event("run.cancelled")
        elif how == "failed":
            self._event("run.failed", error={"code": "endpoint_error", "message": "no"})
        else:
            final = {"role": "assistant", "content": "x"}
            self._event("run.completed", final_response=final, stop_reason="end_turn")
        self.live, self.calls, self.gates, self.steers = None, {}, {}, []
        self._promote()

    # --- what may be read --------------------------------------------------------------------------------------------

    def state(self) -> None:
        request = self._ask("session.state.request", {})
        rows = [{"run_id": self.live, "status": "running", "relationship": "primary"}] if self.live else []
        rows += [
            {"run_id": run, "status": "queued", "relationship": "primary", "queue_position": place}
            for place, run in enumerate(self.waiting, 1)
        ]
        body = {"session_id": SESSION, "status": "running" if self.live else "idle", "active_runs": rows}
        if self.live:
            body["active_run_id"] = self.live
        self._answer(request, "session.state.response", body, session_id=SESSION)

    def models(self) -> None:
        request = self._ask("models.request", {})
        if not self.has("models.list"):
            self._refuse(request, "unsupported_feature", feature="models.list", reason="unadvertised")
        elif self.levels["models.list"] == "degraded":
            self._refuse(request, "capability_degraded", feature="models.list")
        else:
            body = {"session_id": SESSION, "models": MODELS}
            self._answer(request, "models.response", body, session_id=SESSION, capability_revision="r1")

    def tools(self) -> None:
        request = self._say("action.tools.list.request", {"allow_degraded_features": ["action.tools.list"]})
        if not self.has("action.tools.list"):
            self._refuse(request, "unsupported_feature", feature="action.tools.list", reason="unadvertised")
        else:
            self._answer(request, "action.tools.list.response", {"tools": [], "sources": []}, capability_revision="r1")

    def finish(self) -> list[dict[str, Any]]:
        while self.live is not None:
            self.end()
        return self.trace


def _gate(name: str) -> dict[str, str]:
    return {"interaction_id": name, "requested_by": "e", "responded_by": "user"}


ACTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("submit", (), {}),
    ("submit", ("queue",), {}),
    ("submit", ("queue",), {"allow_degraded_features": ["session.message.delivery.queue"]}),
    ("submit", ("steer",), {"allow_degraded_features": ["session.message.delivery.steer"]}),
    ("submit", ("steer",), {"instructions": "hum"}),
    ("submit", (), {"instructions": ""}),
    ("submit", (), {"instructions": "hum", "allow_degraded_features": ["run.instructions"]}),
    ("speak", (), {}),
    ("call", (), {}),
    ("work", (), {}),
    ("question", (), {}),
    ("resolve", (), {}),
    ("resolve", ("stranger",), {}),
    ("compact", (), {}),
    ("cancel", (), {}),
    ("cancel_waiting", (), {}),
    ("end", (), {}),
    ("end", ("failed",), {}),
    ("end", ("cancelled",), {}),
    ("state", (), {}),
    ("models", (), {}),
    ("tools", (), {}),
]
LEVELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["native", "emulated", "degraded", "unavailable"]))


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A legal conversation, whole."""
    endpoint = Honest(draw(LEVELS))
    for name, args, kwargs in draw(st.lists(st.sampled_from(ACTS), max_size=40)):
        getattr(endpoint, name)(*args, **kwargs)
    return endpoint.finish()
