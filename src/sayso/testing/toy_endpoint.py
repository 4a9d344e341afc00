"""A whole endpoint in one file, honest and small: what conformance drives to see that it passes others than ours.

It shares nothing with the hub, the loop and the adapters: a fault they have in common would hide here. One session at a
time is enough, and each run does the same: it says something, asks leave for a tool, asks a question, and completes.
`sayso.testing.broken_endpoints` breaks it, one promise at a time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, NoReturn

from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("AGENT", "REVISION", "Toy", "ToyRun", "serve")

Value = dict[str, Any]
AGENT = "toy-agent"
REVISION = "toy-1"
CONTROLS = {
    "instructions": "run.instructions",
    "output_schema": "run.structured_output",
    "tool_choice": "run.tool_selection",
}
HEAD = {"protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.agent-control-core"}


class Refusal(Exception):
    """The answer is no."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


class ToyRun:
    """One run: what was told of it, and what it waits for."""

    def __init__(self, session_id: str, run_id: str, model: str) -> None:
        self.session_id = session_id
        self.id = run_id
        self.model = model
        self.events: list[Value] = []
        self.waits: str | None = None
        """`permission` or `question`."""
        self.ended: str | None = None

    @property
    def interaction(self) -> str:
        """What it asks under now."""
        return f"{self.id}.{self.waits}"


class Toy:
    """Takes lines, and gives lines to `out`. Each method is one promise, for a broken one to break."""

    models: tuple[str, ...] = ("toy-small", "toy-large")

    def __init__(self, out: Callable[[bytes], None]) -> None:
        self._out = out
        self.number = count(1)
        self.runs: dict[str, ToyRun] = {}
        self.sessions: set[str] = set()

    # --- lines ---

    def take(self, line: bytes) -> None:
        """One line of the host. Ends the process for one whose boundaries are in doubt."""
        try:
            value = strictjson.parse(line)
        except Refused:
            self.malformed()
            return
        if isinstance(value, Mapping) and "protocol" in value and isinstance(value.get("id"), str):
            self.envelope(dict(value))
        elif isinstance(value, Mapping) and "control" in value and "protocol" not in value:
            self.control(dict(value))
        else:
            self.malformed()

    def malformed(self) -> None:
        """A line that cannot be answered."""
        die("a malformed line")

    def write(self, value: Value) -> None:
        """One line out."""
        self._out(strictjson.encode(value))

    def new(self, prefix: str) -> str:
        """An id nobody had."""
        return f"{prefix}-{next(self.number)}"

    # --- requests ---

    def envelope(self, asked: Value) -> None:
        """One request, answered once."""
        act = {
            "protocol.initialize.request": self.initialize,
            "capabilities.request": self.capabilities,
            "session.open.request": self.open,
            "session.state.request": self.state,
            "models.request": self.list_models,
            "session.message.submit.request": self.submit,
            "run.cancel.request": self.cancel,
            "action.permission.resolve.request": self.resolve,
            "user.input.resolve.request": self.resolve,
            "user.input.cancel.request": self.decline,
        }.get(str(asked.get("type")))
        try:
            if act is None:
                name = str(asked.get("type")).removesuffix(".request")
                attached = {"session.provider.attach": "action.providers.attach"}
                feature = "auth.login" if name.startswith("auth.login.") else attached.get(name, name)
                raise Refusal("unsupported_feature", feature=feature, reason="unadvertised")
            self.judge_pin(asked)
            act(asked)
        except Refusal as refusal:
            self.refuse(asked, refusal)
        except (KeyError, TypeError, AttributeError) as error:
            self.refuse(asked, Refusal("schema_invalid", missing=str(error)))

    def judge_pin(self, asked: Value) -> None:
        """A request for another revision is refused; discovery is not."""
        pin = asked.get("capability_revision", REVISION)
        if pin != REVISION and asked["type"] not in ("protocol.initialize.request", "capabilities.request"):
            raise Refusal("stale_capabilities", expected_revision=REVISION, current_revision=pin)

    def respond(self, asked: Value, payload: Value) -> None:
        """The answer; it repeats the ids that scope it, and says under which revision it was given."""
        scope: Value = {name: payload[name] for name in ("session_id", "run_id") if name in payload}
        if "submit" in asked["type"]:
            scope.pop("run_id", None)
        answer = {"type": asked["type"].replace(".request", ".response"), "in_reply_to": asked["id"]}
        self.write(
            {**HEAD, **answer, "id": self.new("a"), "capability_revision": REVISION, **scope, "payload": payload}
        )

    def refuse(self, asked: Value, refusal: Refusal) -> None:
        """The answer when it is no."""
        error = {"code": refusal.code, "message": refusal.code.replace("_", " "), "details": refusal.details}
        self.write(
            {
                **HEAD,
                "type": "error.response",
                "id": self.new("a"),
                "in_reply_to": asked["id"],
                "payload": {"error": error},
            }
        )

    def initialize(self, asked: Value) -> None:
        """Version and profile."""
        payload = {"protocol_version": "0.1", "profile": HEAD["profile"], "endpoint": {"id": AGENT}}
        self.respond(asked, payload)

    def features(self) -> Value:
        """What is offered."""
        native = (
            "action.tools",
            "models.list",
            "permissions",
            "run.cancel",
            "run.replay",
            "run.status",
            "run.streaming",
            "session.message.delivery.auto",
            "session.message.submit",
            "session.open",
            "session.state",
            "user_input",
        )
        selection = {"run.model_selection": {"level": "native", "scope": "run"}}
        return {**{key: {"level": "native"} for key in native}, **selection}

    def capabilities(self, asked: Value) -> None:
        """The descriptor."""
        tools = [{"name": "write_note", "input_schema": {"type": "object"}, "execution_owner": AGENT}]
        self.respond(asked, {"endpoint": {"id": AGENT}, "features": self.features(), "tools": tools})

    def open(self, asked: Value) -> None:
        """A session, with nothing that is not offered."""
        payload = asked["payload"]
        wanted = {
            "reopen": "session.open.reopen",
            "subscribe": "session.open.subscribe",
            "tool_sources": "action.tool_sources.attach",
            "tools": "action.tools.provide",
            "reasoning_level": "session.reasoning",
            "compaction_policy": "session.compaction.policy",
        }
        self.judge_wanted(payload, wanted)
        session_id = payload.get("session_id") or self.new("s")
        if session_id in self.sessions:
            raise Refusal("session_exists")
        self.sessions.add(session_id)
        self.respond(asked, self.told_state(session_id))

    def judge_wanted(self, payload: Value, keys: Mapping[str, str]) -> None:
        """What is not offered is refused by its key, the lowest first."""
        for key in sorted(key for member, key in keys.items() if member in payload):
            if key not in self.features():
                raise Refusal("unsupported_feature", feature=key, reason="unadvertised")

    def state(self, asked: Value) -> None:
        """What is true now."""
        if asked["payload"]["session_id"] not in self.sessions:
            raise Refusal("unknown_session")
        self.respond(asked, self.told_state(asked["payload"]["session_id"]))

    def told_state(self, session_id: str) -> Value:
        """Idle, or with the one run that is under way."""
        live = [run for run in self.runs.values() if run.session_id == session_id and run.ended is None]
        runs = [{"run_id": run.id, "status": "waiting_for_input", "relationship": "primary"} for run in live]
        active = {"active_run_id": live[0].id, "active_runs": runs} if live else {}
        status = "waiting_for_input" if live else "idle"
        return {"session_id": session_id, "status": status, "current_model_id": self.models[0], **active}

    def list_models(self, asked: Value) -> None:
        """The catalog."""
        rows = [{"id": name, "default": name == self.models[0]} for name in self.models]
        session_id = asked["payload"]["session_id"]
        self.respond(asked, {"session_id": session_id, "models": rows, "current_model_id": self.models[0]})

    # --- runs ---

    def submit(self, asked: Value) -> None:
        """A run, to its first gate."""
        payload = asked["payload"]
        self.judge_submission(payload)
        run = ToyRun(payload["session_id"], self.new("run"), payload.get("model_id") or self.models[0])
        self.runs[run.id] = run
        admitted = {
            "session_id": run.session_id,
            "accepted": True,
            "submission_id": self.new("sub"),
            "requested_delivery": payload["delivery"],
            "effective_delivery": "start",
            "admission": "started",
            "run_id": run.id,
            "status": "running",
            "model_id": run.model,
        }
        self.respond(asked, admitted)
        self.begin(run)

    def judge_submission(self, payload: Value) -> None:
        """The ladder: what is not offered, then what cannot be had, then whether the session is free."""
        delivery = payload["delivery"]
        if not isinstance(delivery, str):
            raise TypeError("delivery")
        keys = {**CONTROLS, "delivery": f"session.message.delivery.{delivery}"}
        self.judge_wanted(payload, keys)
        if payload.get("model_id", self.models[0]) not in self.models:
            raise Refusal("model_not_found", model_id=payload["model_id"])
        if any(run.session_id == payload["session_id"] and run.ended is None for run in self.runs.values()):
            raise Refusal("run_active")

    def begin(self, run: ToyRun) -> None:
        """Says something, and asks leave for its tool."""
        self.tell(run, "run.started", status="running", model_id=run.model)
        self.tell(run, "content.delta", part={"type": "text", "text": "A note will be written. "})
        self.call(run, "requested", requested_by=AGENT, arguments_json={})
        run.waits = "permission"
        choices = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        self.ask(run, "action.permission.requested", title="Write a note", choices=choices, tool_call_id=f"{run.id}.c")

    def go_on(self, run: ToyRun) -> None:
        """Behind the permission: the tool, and a question."""
        self.call(run, "started")
        self.call(run, "completed", result={"written": True})
        run.waits = "question"
        questions = [{"id": "why", "prompt": "Why?", "kind": "text"}]
        self.tell(run, "run.status.updated", status="waiting_for_input", pending_user_input_id=run.interaction)
        self.ask(run, "user.input.requested", title="One question", questions=questions, allow_cancel=True)

    def finish(self, run: ToyRun) -> None:
        """Behind the question: the end."""
        run.waits = None
        self.tell(run, "run.status.updated", status="running")
        self.end(run, "run.completed", final_response={"role": "assistant", "content": "Done."}, stop_reason="end_turn")

    def end(self, run: ToyRun, type_: str, **members: Any) -> None:
        """The one terminal."""
        run.ended = type_
        self.tell(run, type_, settled_by="observed", **members)

    def call(self, run: ToyRun, step: str, **members: Any) -> None:
        """An event of the run's one call."""
        name = {} if step == "cancelled" else {"name": "write_note"}
        self.tell(run, f"action.call.{step}", tool_call_id=f"{run.id}.c", execution_owner=AGENT, **name, **members)

    def ask(self, run: ToyRun, type_: str, **members: Any) -> None:
        """A gate, which `user` alone may answer."""
        self.tell(run, type_, interaction_id=run.interaction, requested_by=AGENT, responded_by="user", **members)

    def tell(self, run: ToyRun, type_: str, **members: Any) -> None:
        """The run's next event."""
        event = self.event(run, type_, members)
        run.events.append(event)
        self.write(event)

    def event(self, run: ToyRun, type_: str, members: Value) -> Value:
        """An event with its number, not told yet."""
        scope = {"session_id": run.session_id, "run_id": run.id}
        call = {"tool_call_id": members["tool_call_id"]} if "tool_call_id" in members else {}
        head = {**HEAD, "type": type_, "id": self.new("e"), "sequence": len(run.events) + 1}
        return {**head, **scope, **call, "payload": {**scope, **members}}

    def resolve(self, asked: Value) -> None:
        """An answer by the one who was asked, once."""
        payload = asked["payload"]
        run = self.runs.get(payload["run_id"])
        if run is None:
            raise Refusal("run_not_found")
        self.judge_answer(run, payload)
        scope = {name: payload[name] for name in ("interaction_id", "session_id", "run_id")}
        self.respond(asked, {**scope, "accepted": True})
        self.resolved(run, payload)

    def decline(self, asked: Value) -> None:
        """The question is not answered, and the run goes on without."""
        payload = asked["payload"]
        run = self.runs[payload["run_id"]]
        self.judge_answer(run, payload)
        self.respond(
            asked, {**{name: payload[name] for name in ("interaction_id", "session_id", "run_id")}, "accepted": True}
        )
        by = {name: payload[name] for name in ("interaction_id", "requested_by", "responded_by")}
        self.tell(run, "user.input.resolved", **by, status="cancelled")
        self.finish(run)

    def judge_answer(self, run: ToyRun, payload: Value) -> None:
        """Raises `Refusal` for anybody else's answer, and for a second one."""
        if run.waits is None or payload["interaction_id"] != run.interaction:
            raise Refusal("resolution_rejected", reason="unknown_interaction")
        if payload["responded_by"] != "user":
            raise Refusal("resolution_rejected", reason="wrong_responder")

    def resolved(self, run: ToyRun, payload: Value) -> None:
        """What follows an answer."""
        by = {name: payload[name] for name in ("interaction_id", "requested_by", "responded_by")}
        if run.waits == "permission":
            outcome = {"outcome": "resolved", "granted": payload["granted"], "tool_call_id": f"{run.id}.c"}
            chosen = {"choice_id": payload["choice_id"]} if "choice_id" in payload else {}
            self.tell(run, "action.permission.resolved", **by, **outcome, **chosen)
            self.go_on(run)
        else:
            self.tell(run, "user.input.resolved", **by, status="submitted", answers=payload["answers"])
            self.finish(run)

    def cancel(self, asked: Value) -> None:
        """The answer, then the end."""
        payload = asked["payload"]
        run = self.runs.get(payload["run_id"])
        if run is None:
            raise Refusal("run_not_found")
        self.judge_cancel(run)
        self.answer_cancel(asked, run)
        if run.ended is None:
            self.wind_up(run)

    def judge_cancel(self, run: ToyRun) -> None:
        """Raises `Refusal` for a run that ended otherwise."""
        if run.ended not in (None, "run.cancelled"):
            raise Refusal("run_already_terminal")

    def answer_cancel(self, asked: Value, run: ToyRun) -> None:
        """Intent only."""
        status = "cancelled" if run.ended else "cancelling"
        payload = {"session_id": run.session_id, "run_id": run.id, "accepted": True, "status": status}
        self.respond(asked, payload)

    def wind_up(self, run: ToyRun) -> None:
        """Closes what is open, and ends."""
        by = {"interaction_id": run.interaction, "requested_by": AGENT, "responded_by": "user"}
        if run.waits == "permission":
            self.tell(run, "action.permission.resolved", **by, outcome="cancelled", tool_call_id=f"{run.id}.c")
            self.call(run, "cancelled")
        elif run.waits == "question":
            self.tell(run, "user.input.resolved", **by, status="cancelled")
        run.waits = None
        self.end(run, "run.cancelled")

    # --- control frames ---

    def control(self, frame: Value) -> None:
        """A replay, or something this endpoint does not know."""
        if frame["control"] != "replay":
            self.unknown_control(frame)
            return
        run = self.runs.get(str(frame.get("run_id")))
        if run is None or frame["after"] > len(run.events):
            code = "run_not_found" if run is None else "replay_cursor_future"
            self.write({"control": "replay.error", "id": frame["id"], "code": code, "message": code})
            return
        self.write({"control": "replay.accepted", "id": frame["id"], "run_id": run.id, "after": frame["after"]})
        for event in self.again(run, frame["after"]):
            self.write(event)

    def unknown_control(self, frame: Value) -> None:
        """Answered, never fatal."""
        code = "unsupported_control"
        self.write({"control": "replay.error", "id": frame.get("id"), "code": code, "message": code})

    def again(self, run: ToyRun, after: int) -> Iterator[Value]:
        """The same events."""
        yield from run.events[after:]

    # --- the end ---

    def hung_up(self) -> int:
        """The exit code at the end of input."""
        return 0

    def terminated(self) -> int | None:
        """The exit code at SIGTERM; None to stay."""
        return 0


def die(why: str) -> NoReturn:
    """One line for people, and no exit code 0."""
    sys.stderr.write(f"{why}\n")
    sys.stderr.flush()
    os._exit(1)


def serve(kind: Callable[[Callable[[bytes], None]], Toy]) -> int:
    """Serves our own standard input and output to its end."""

    def out(line: bytes) -> None:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()

    toy = kind(out)

    def stop(_signal: int, _frame: object) -> None:
        code = toy.terminated()
        if code is not None:
            os._exit(code)

    signal.signal(signal.SIGTERM, stop)
    for line in sys.stdin.buffer:
        toy.take(line.rstrip(b"\n"))
    return toy.hung_up()
