"""The Agent Communication Protocol's door: each call is read, done and settled (GTW-004, GTW-034).

A disclosure's run is over when its call returns. An execution's run awaits a person: its proposal is filed in the same
unit that keeps the run, and resuming asks how far it is. Ping and the agents' manifests are this protocol's handshake
and are not charged. Everything else about who may call, how often and with what is the guard's.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Answer, Crossing, Denial, Stream
from sayso.gateway.doors.acp import read, rows, wire, write
from sayso.gateway.doors.acp.manifest import GENERAL_AGENT, manifest_of, manifests
from sayso.gateway.doors.acp.order import Order, act_of, is_withdrawal, read_order
from sayso.gateway.doors.acp.write import Facts, Outcome
from sayso.gateway.gateway import Passage
from sayso.gateway.guard.rules.codes import Code, declare, refusal
from sayso.governance.acts import ActClass, Registry
from sayso.governance.gate import Gate
from sayso.governance.proposal import Prepared, Proposal
from sayso.store.unit import Store, Unit

__all__ = ("AcpDoor",)

NOTHING_AWAITED = declare(
    Code("nothing_awaited", 403, 40360, "This run never asked for anything", "Read it: it is over.")
).code
RUN_OVER = declare(Code("run_over", 403, 40361, "This run can no longer be taken back", "Read it again.")).code


class AcpDoor:
    """One house's door for the protocol."""

    name = "acp"

    def __init__(self, *, store: Store, registry: Registry, gate: Gate, owner: str, ids: Ids) -> None:
        self._store = store
        self._registry = registry
        self._gate = gate
        self._owner = owner
        self._ids = ids

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        """A no in the protocol's own shape."""
        return write.deny(crossing, denial)

    async def answer(self, passage: Passage) -> Answer | Stream:
        """Does what is asked. Refused: as `read.read_call`, `order.read_order`, the passage and the gate; and
        `unknown_entity`, `nothing_awaited`, `run_over`.
        """
        match read.read_call(passage.crossing):
            case read.StartRun(create):
                return await self._start(passage, create)
            case read.ResumeRun(run_id, resume):
                return await self._resume(passage, run_id, resume)
            case read.Cancel(run_id):
                return await self._cancel(passage, run_id)
            case read.ReadRun(run_id):
                _, run = await self._look(passage, run_id)
                return await passage.settle(write.write_json(run), about="run")
            case read.ReadEvents(run_id):
                facts, run = await self._look(passage, run_id)
                events = wire.EventList(events=write.events_of(run, facts))
                return await passage.settle(write.write_json(events), about="events")
            case read.ReadSession(session_id):
                return await self._session(passage, session_id)
            case greeting:
                # The protocol's handshake: a client looks who is there before it asks for anything.
                found = self._greet(greeting)
                return await passage.settle(write.write_json(found), about="greeting", charges=0)

    def _greet(self, asked: read.Ping | read.ListAgents | read.DescribeAgent) -> msgspec.Struct:
        acts = self._registry.acts()
        match asked:
            case read.Ping():
                return wire.Pong()
            case read.ListAgents(limit, offset):
                return wire.AgentList(agents=manifests(acts)[offset : offset + limit])
            case read.DescribeAgent(name):
                act = act_of(name, acts)
                return GENERAL_AGENT if act is None else manifest_of(name, act)

    async def _start(self, passage: Passage, create: wire.Create) -> Answer:
        act = act_of(create.agent_name, self._registry.acts())
        session_id = self._session_of(create)
        order = read_order(act, create.input)
        asked, _ = self._registry.find(order.act)
        facts = Facts(
            run_id=self._new_uuid(),
            session_id=session_id,
            agent_name=create.agent_name,
            act=order.act,
            created_at=passage.now,
        )
        if asked.act_class is ActClass.DISCLOSURE:
            return await self._disclose(passage, facts, order, create.mode)
        return await self._propose(passage, facts, order, create.mode)

    async def _disclose(self, passage: Passage, facts: Facts, order: Order, mode: wire.Mode) -> Answer:
        disclosed = await passage.disclose(order.act, order.arguments, place=order.place)
        outcome = Outcome(result=disclosed.result, is_error=disclosed.is_error)
        facts = msgspec.structs.replace(facts, outcome=outcome)
        answer = _answer(write.run_of(facts, None), facts, mode)
        return await self._keep(passage, facts, answer, disclosed=[disclosed])

    async def _propose(self, passage: Passage, facts: Facts, order: Order, mode: wire.Mode) -> Answer:
        note = facts.run_id.encode()
        prepared: Prepared = passage.propose(
            order.act, order.arguments, place=order.place, context=facts.session_id, note=note
        )
        facts = msgspec.structs.replace(facts, proposal=prepared.id)
        answer = _answer(write.run_of(facts, prepared.proposal), facts, mode)
        return await self._keep(passage, facts, answer, prepared=[prepared])

    async def _keep(self, passage: Passage, facts: Facts, answer: Answer, **done: Any) -> Answer:
        """The run's row is written in the unit that charges, files and receipts it, or not at all."""
        owner, agent = self._owner, passage.agent.id
        return await passage.settle(
            answer, about=facts.agent_name, effect=lambda unit: rows.keep_run(unit, owner, agent, facts), **done
        )

    async def _resume(self, passage: Passage, run_id: str, resume: wire.Resume) -> Answer:
        facts = await self._facts(passage, run_id)
        if facts.proposal is None:
            raise Refused(refusal(NOTHING_AWAITED))
        proposal = await self._proposal(passage, facts.proposal)
        run = write.run_of(facts, proposal)
        if run.status == "awaiting" and is_withdrawal(resume.await_resume.message):
            withdrawn = write.withdrawn(run, passage.now)
            answer = _answer(withdrawn, facts, resume.mode, resumed=True)
            return await self._withdraw(passage, proposal, answer)
        return await passage.settle(_answer(run, facts, resume.mode, resumed=True), about="resume")

    async def _cancel(self, passage: Passage, run_id: str) -> Answer:
        facts, run = await self._look(passage, run_id)
        if run.status != "awaiting" or facts.proposal is None:
            raise Refused(refusal(RUN_OVER))
        proposal = await self._proposal(passage, facts.proposal)
        cancelling = msgspec.structs.replace(run, status="cancelling", await_request=None)
        return await self._withdraw(passage, proposal, write.write_json(cancelling, 202, cancelling.run_id))

    async def _withdraw(self, passage: Passage, proposal: Proposal, answer: Answer) -> Answer:
        """Takes the proposal back in the unit that answers. Refused: `run_over` where it has begun or was decided."""

        def effect(unit: Unit) -> None:
            try:
                self._gate.withdraw_in(unit, proposal.id, passage.agent.id)
            except Refused as late:
                raise Refused(refusal(RUN_OVER, late.refusal.message)) from None

        return await passage.settle(answer, about="withdraw", effect=effect)

    async def _session(self, passage: Passage, session_id: str) -> Answer:
        agent = passage.agent.id
        if not await self._store.reading(lambda view: rows.has_session(view, self._owner, agent, session_id)):
            raise Refused(refusal("unknown_entity", "There is no such session of yours", reason="session"))
        # What was said stays with whoever said it: the house keeps hashes of it, and shows no history.
        return await passage.settle(write.write_json(wire.AcpSession(id=UUID(session_id))), about="session")

    async def _look(self, passage: Passage, run_id: str) -> tuple[Facts, wire.AcpRun]:
        facts = await self._facts(passage, run_id)
        proposal = None if facts.proposal is None else await self._proposal(passage, facts.proposal)
        return facts, write.run_of(facts, proposal)

    async def _facts(self, passage: Passage, run_id: str) -> Facts:
        agent = passage.agent.id
        facts = await self._store.reading(lambda view: rows.find_run(view, self._owner, agent, run_id))
        if facts is None:
            raise Refused(refusal("unknown_entity", "There is no such run of yours", reason="run"))
        return facts

    async def _proposal(self, passage: Passage, proposal_id: str) -> Proposal:
        return await self._gate.find(proposal_id, agent=passage.agent.id)

    def _session_of(self, create: wire.Create) -> str:
        ids = {each for each in (create.session_id, create.session and create.session.id) if each is not None}
        if len(ids) > 1:
            raise Refused(refusal("malformed_request", "Two sessions are named", reason="session", place="$.session"))
        return str(ids.pop()) if ids else self._new_uuid()

    def _new_uuid(self) -> str:
        return str(UUID(bytes=self._ids.random(16), version=4))


def _answer(run: wire.AcpRun, facts: Facts, mode: wire.Mode, *, resumed: bool = False) -> Answer:
    if mode == "stream":
        return write.write_events(write.events_of(run, facts, resumed=resumed), run.run_id)
    return write.write_json(run, 202 if mode == "async" else 200, run.run_id)
