"""The memory machine by itself: its table, its refusals that change nothing, and any order of commands."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sayso.control.adapters.reference.machine import ELSE, TABLE, Begun, Close, Read, decide
from sayso.control.adapters.reference.offering import AGENT, DESCRIPTOR, TOOLS
from sayso.control.adapters.reference.opening import created
from sayso.control.adapters.reference.script import SCRIPTS
from sayso.control.adapters.reference.talk import MemorySession, Phase
from sayso.control.adapters.reference.views import models_of, state_of, tools_of
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    CallRefusal,
    PermissionResolveRequest,
)
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.interaction import UserInputCancelRequest, UserInputResolveRequest
from sayso.control.protocol.payloads.run import RunCancelRequest
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import SessionOpenRequest
from sayso.control.protocol.signals import TERMINALS
from sayso.control.protocol.types import AGENT_TYPES
from sayso.core.refusal import Refused
from tests.conftest import SHARED
from tests.control.adapters.reference.stage import SESSION, request, said
from tests.control.conftest import Trace, oracle

COMMANDS = (
    RunCancelRequest,
    PermissionResolveRequest,
    UserInputResolveRequest,
    UserInputCancelRequest,
    ActionCallResolveRequest,
)
CALLS_NOTHING: dict[str, Any] = {"tool_choice": {"allowed": []}}
CLIENT_TOOL = ToolDefinition(name="echo", input_schema={}, execution_owner="user", source="memory")


def test_every_command_to_a_run_is_answered_in_every_phase() -> None:
    """By the table, or by what the command comes to everywhere else; no pair falls through."""
    pairs = {(phase, command) for phase in Phase for command in COMMANDS}
    assert set(TABLE) <= pairs
    assert {pair for pair in pairs - set(TABLE) if pair[1] not in ELSE} == set()
    assert {phase for phase, command in TABLE if command is RunCancelRequest} == set(Phase)


def fresh() -> MemorySession:
    return MemorySession(session_id=SESSION, tools=(*TOOLS, CLIENT_TOOL))


@pytest.mark.req("OAP-016")
@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("session.message.submit.request", {"messages": said("x"), "delivery": "steer"}),
        ("session.message.submit.request", {"messages": said("x"), "delivery": "auto", "model_id": "x"}),
        ("session.model.switch.request", {"model_id": "x"}),
        ("run.cancel.request", {"run_id": "r9"}),
    ],
)
def test_a_refusal_changes_nothing(type_: str, payload: dict[str, Any]) -> None:
    """The session is a value; what raised gave none back, and the old one is as it was."""
    before = fresh()
    with pytest.raises(Refused):
        decide(before, request(type_, {"session_id": SESSION, **payload}, "q"))
    assert before == fresh()


def test_the_same_commands_give_the_same_session() -> None:
    """Ids are made from the session's own id and a count."""

    def play() -> list[Any]:
        session, seen = fresh(), []
        for number, text in enumerate(("script: plain", "go", "script: stream")):
            payload = {"session_id": SESSION, "messages": said(text), "delivery": "auto"}
            decision = decide(session, request("session.message.submit.request", payload, f"q{number}"))
            session = decision.session
            for name in session.live:
                if session.runs[name].phase is Phase.ENDED:
                    session = decide(session, Read(name)).session
            seen.append((decision.reply, decision.tellings))
        return [session, seen]

    assert play() == play()


class AnyOrder(RuleBasedStateMachine):
    """Requests in any order, events read late or at once: the whole trace is legal, at every moment and at the end.

    Like a hub, it lets what a run had told go out before a steer of that run is answered, and before a client is told
    that its call was settled.
    """

    def __init__(self) -> None:
        super().__init__()
        folder: Path | None = SHARED if (SHARED / "oap").is_dir() else None
        self.trace = Trace(oracle(folder, "envelope.schema.json"))
        self.session = fresh()
        self.announced = 0
        self.unread: dict[str, list[Envelope[Wire]]] = {}
        self.told: dict[str, int] = {}
        self.marks: dict[str, str] = {}
        self.gates: list[Any] = []
        self.ids = count(1)
        self._open()

    def _open(self) -> None:
        """The whole descriptor stands before everything, so that each answer is held against what it discloses."""
        initialize = {
            "protocol_versions": ["0.1"],
            "profiles": ["open-agent-protocol.agent-control-core"],
            "participant": {"id": "user"},
        }
        agreed = {"protocol_version": "0.1", "profile": initialize["profiles"][0], "endpoint": {"id": AGENT}}
        self._exchange("protocol.initialize", initialize, agreed, pin=False)
        capabilities = msgspec.to_builtins(DESCRIPTOR.capabilities)
        self._exchange("capabilities", {}, capabilities, pin=False)
        asked = {"session_id": SESSION, "tools": [msgspec.to_builtins(CLIENT_TOOL)]}
        self.session = created(msgspec.convert(asked, SessionOpenRequest), SESSION, "user")
        self._exchange("session.open", asked, msgspec.to_builtins(state_of(self.session)))

    def _exchange(self, type_: str, asked: dict[str, Any], reply: dict[str, Any], *, pin: bool = True) -> None:
        name = f"q{next(self.ids)}"
        revision = {"capability_revision": DESCRIPTOR.revision}
        self.trace.record(request(f"{type_}.request", asked, name, **(revision if pin else {})))
        answer = request(f"{type_}.response", {**reply}, f"a{name}", in_reply_to=name, **revision)
        self.trace.record(answer)

    def ask(self, type_: str, payload: dict[str, Any]) -> None:
        pin = DESCRIPTOR.revision
        asked = request(type_, {"session_id": SESSION, **payload}, f"q{next(self.ids)}", capability_revision=pin)
        self.trace.record(asked)
        try:
            decision = decide(self.session, asked)
        except Refused as refused:
            error = {"error": {"code": refused.refusal.code, "message": "no", "details": dict(refused.refusal.details)}}
            self.trace.record(
                request("error.response", error, f"a{asked.id}", in_reply_to=asked.id, capability_revision=pin)
            )
            return
        self.session = decision.session
        reply: Any = self._with_settlement(decision.reply)
        scope = {"run_id": reply.run_id} if asked.run_id is not UNSET else {}
        if getattr(reply, "admission", None) == "steered" or getattr(reply, "reason", None) == "already_resolved":
            self._read(reply.run_id, None)
        self.trace.record(
            Envelope(
                type=AGENT_TYPES[type_].answer,
                id=f"a{asked.id}",
                payload=reply,
                in_reply_to=asked.id,
                session_id=SESSION,
                capability_revision=DESCRIPTOR.revision,
                **scope,
            )
        )
        if decision.announced:
            self._announce()
        self._take(decision.tellings)

    def _announce(self) -> None:
        self.announced += 1
        self.trace.record(
            Envelope(
                type="session.state.updated",
                id=f"e{next(self.ids)}",
                payload=state_of(self.session),
                sequence=self.announced,
                session_id=SESSION,
                capability_revision=DESCRIPTOR.revision,
            )
        )

    def _with_settlement(self, reply: Any) -> Any:
        """Like the driver, it puts an envelope's id where the machine says which event it means."""
        if getattr(reply, "details", UNSET) is UNSET:
            return reply
        settlement = CallRefusal(settlement_id=self.marks[reply.details.settlement_id])
        return msgspec.structs.replace(reply, details=settlement)

    def _take(self, tellings: Any) -> None:
        for run_id, telling in tellings:
            number = self.told[run_id] = self.told.get(run_id, 0) + 1
            envelope: Envelope[Wire] = Envelope(
                type=telling.type,
                id=f"e{next(self.ids)}",
                payload=telling.payload,
                sequence=number,
                session_id=SESSION,
                run_id=run_id,
                tool_call_id=telling.tool_call_id or UNSET,
            )
            self.marks[f"{run_id}#{number}"] = envelope.id
            self.unread.setdefault(run_id, []).append(envelope)

    @rule(
        text=st.sampled_from([f"script: {name}" for name in SCRIPTS]),
        delivery=st.sampled_from(["auto", "queue", "steer"]),
        more=st.sampled_from(
            [{}, {}, {"model_id": "memory-large"}, {"model_id": "x"}, {"tool_choice": {"allowed": []}}]
        ),
    )
    def submit(self, text: str, delivery: str, more: dict[str, Any]) -> None:
        self.ask("session.message.submit.request", {"messages": said(text), "delivery": delivery, **more})

    @rule(continues=st.booleans(), focus=st.sampled_from(["x", "script: hold", "script: fail"]))
    def compact(self, continues: bool, focus: str) -> None:
        self.ask("session.compact.request", {"continue": continues, "focus": focus})

    @precondition(lambda self: self.session.runs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.ask("run.cancel.request", {"run_id": data.draw(st.sampled_from(sorted(self.session.runs)))})

    @rule()
    def look(self) -> None:
        """The state now, whatever has been told and not been read."""
        self._exchange("session.state", {"session_id": SESSION}, msgspec.to_builtins(state_of(self.session)))

    @rule()
    def list_models(self) -> None:
        self._exchange("models", {"session_id": SESSION}, msgspec.to_builtins(models_of(self.session)))

    @rule()
    def list_tools(self) -> None:
        self._exchange("action.tools.list", {"session_id": SESSION}, msgspec.to_builtins(tools_of(self.session)))

    @rule(model_id=st.sampled_from(["memory-small", "memory-large", "x"]))
    def switch(self, model_id: str) -> None:
        self.ask("session.model.switch.request", {"model_id": model_id})

    @precondition(lambda self: self.gates)
    @rule(data=st.data(), yes=st.booleans(), who=st.sampled_from(["user", "user", "someone"]))
    def answer(self, data: st.DataObject, yes: bool, who: str) -> None:
        asked = data.draw(st.sampled_from(self.gates[-3:]))
        gate = {
            "interaction_id": asked.interaction_id,
            "requested_by": AGENT,
            "responded_by": who,
            "run_id": asked.run_id,
        }
        if hasattr(asked, "questions"):
            answers = [{"question_id": "colour", "selected_option_ids": ["red"]}]
            what = {"answers": answers} if yes else {}
            self.ask(f"user.input.{'resolve' if yes else 'cancel'}.request", {**gate, **what})
        elif hasattr(asked, "choices"):
            self.ask("action.permission.resolve.request", {**gate, "granted": yes})
        else:
            word = {"result": 1} if yes else {"started": {}}
            self.ask("action.call.resolve.request", {**gate, "tool_call_id": asked.tool_call_id, **word})

    @precondition(lambda self: any(self.unread.values()))
    @rule(data=st.data(), many=st.booleans())
    def read(self, data: st.DataObject, many: bool) -> None:
        """One run's next event, or all it has told."""
        run_id = data.draw(st.sampled_from([name for name, left in self.unread.items() if left]))
        self._read(run_id, None if many else 1)

    def _read(self, run_id: str, many: int | None) -> None:
        for envelope in self.unread.get(run_id, [])[:many]:
            self.trace.record(envelope)
            self.unread[run_id].remove(envelope)
            asks = envelope.type.endswith(".requested")
            if asks and getattr(envelope.payload, "interaction_id", UNSET) is not UNSET:
                self.gates.append(envelope.payload)
            if envelope.sequence == 1:
                self.session = decide(self.session, Begun(run_id)).session
            if envelope.type in TERMINALS:
                decision = decide(self.session, Read(run_id))
                self.session = decision.session
                self._take(decision.tellings)

    @invariant()
    def it_is_legal(self) -> None:
        self.trace.verify(is_over=False)

    @invariant()
    def one_run_at_most_has_started(self) -> None:
        open_ = [run for run in self.session.live_runs if run.has_started and run.phase is not Phase.ENDED]
        assert len(open_) <= 1

    def teardown(self) -> None:
        decision = decide(self.session, Close())
        self.session = decision.session
        self._take(decision.tellings)
        while any(self.unread.values()):
            run_id = next(name for name, left in self.unread.items() if left)
            for envelope in self.unread.pop(run_id):
                self.trace.record(envelope)
        self.trace.verify()


TestAnyOrder = pytest.mark.req("OAP-013", "OAP-037", "OAP-053", "OAP-055")(AnyOrder.TestCase)
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
