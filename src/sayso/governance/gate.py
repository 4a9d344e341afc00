"""The Promotion Gate: where what agents ask for waits for a person (GTW-030..032, GTW-034; design, Consent).

An approval is bound to proposal, agent, act, hash of the validated arguments and the constitution it was given under.
It is given once, by a signed-in owner or approver and never by an agent, with a reason. For an act on another party a
yes is not enough: what the consent sources ask for has to be signed, and is checked through them before the yes is
stored. The executor takes it from there (`execution`).

Nothing waits in here. Whoever waits reads a row and is woken by its channel; a deadline counts at its instant, and the
sweep that follows only writes it down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import Literal, TypeAlias

import msgspec

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.governance import claims, queue
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.arguments import names_secret
from sayso.governance.consent import Answer, Consent, ConsentSource, Question
from sayso.governance.constitution import Constitution
from sayso.governance.evidence import bind, consult, strongest
from sayso.governance.machine import (
    NOTHING_ASKED,
    WAITING,
    Approve,
    Lapse,
    ProposalState,
    Reject,
    Withdraw,
    step,
)
from sayso.governance.machine import Answer as AnswerQuestion
from sayso.governance.moving import Book, channel
from sayso.governance.proposal import Ask, Decider, Decision, Prepared, Proposal
from sayso.governance.queue import Kept
from sayso.governance.receipts import ANSWERED
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.record import Link
from sayso.proof.hashes import sha256_b64u
from sayso.store.unit import Reading, Store, Unit

__all__ = ("AgentStanding", "Deadlines", "Gate", "StandingOf")

NOT_AN_EXECUTION = "not_an_execution"
REASON_REQUIRED = "reason_required"
SIGNATURE_REQUIRED = "signature_required"
LONGEST_REASON = 2000
LONGEST_PAGE = 200

AgentStanding: TypeAlias = Literal["active", "suspended"]
StandingOf: TypeAlias = Callable[[Reading, str], AgentStanding | None]
"""How an agent stands, read in the unit that decides; None for an id that is no agent's."""
Proposals: TypeAlias = list[Proposal]


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """How long each kind of waiting lasts before silence is a no."""

    decide: timedelta = timedelta(hours=24)
    """A proposal in the queue."""
    begin: timedelta = timedelta(hours=24)
    """An approval that nobody has begun."""
    answer: timedelta = timedelta(hours=1)
    """A second question that names no deadline of its own."""


class Gate:
    """The queue of one owner."""

    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        registry: Registry,
        sources: Sequence[ConsentSource],
        constitution: Constitution,
        owner: str,
        clock: Clock,
        ids: Ids,
        standing: StandingOf,
        deadlines: Deadlines | None = None,
    ) -> None:
        """`sources` is read at each use, so that a house may still add to it while it is being put together."""
        self.owner = owner
        self.registry = registry
        self.constitution = constitution
        self.sources = sources
        self.standing = standing
        self.deadlines = deadlines or Deadlines()
        self.book = Book(ledger, owner)
        self._store = store
        self._clock = clock
        self._ids = ids

    # -- agents

    def prepare(self, ask: Ask) -> Prepared:
        """Judges what an agent asks for; nothing is stored. A no of the constitution is a state, not a refusal.

        Refused: `unclassified_act`, `not_an_execution`, `schema_invalid`, `not_canonical`.
        """
        act, _ = self.registry.find(ask.act)
        if act.act_class is not ActClass.EXECUTION:
            raise Refused.because(
                NOT_AN_EXECUTION, f"{act.name} changes nothing, so it is not proposed", place="name", help="Call it."
            )
        arguments, sha256 = queue.hash_arguments(ask.arguments)
        act.decode(ask.arguments)
        verdict = self.constitution.judge_proposal(
            ask.agent, act, door=ask.door, scopes=ask.scopes, names_secret=names_secret(arguments)
        )
        now = self._clock.now()
        proposal = Proposal(
            id=self._ids.new("prop"),
            agent=ask.agent,
            owner=ask.owner,
            door=ask.door,
            act=act.name,
            title=act.title,
            arguments=ask.arguments,
            arguments_sha256=sha256,
            constitution=self.constitution.version,
            article=verdict.article,
            state=ProposalState.PENDING if verdict.allowed else ProposalState.REFUSED_BY_CONSTITUTION,
            context=ask.context,
            note=ask.note,
            scopes=ask.scopes,
            created_at=now,
            expires_at=now + self.deadlines.decide,
            changed_at=now,
            moves=1,
            refusal=None if verdict.allowed else verdict.refusal(act.title),
        )
        return Prepared(proposal=proposal)

    def file_in(self, unit: Unit, prepared: Prepared) -> Proposal:
        """Files it in the caller's unit, which takes no other lock afterwards."""
        return self.book.enter(unit, prepared).proposal

    async def file(self, prepared: Prepared) -> Proposal:
        """Files it in a unit of its own."""
        return await self._store.unit(lambda unit: self.file_in(unit, prepared))

    def withdraw_in(self, unit: Unit, proposal_id: str, agent: str) -> Proposal:
        """Takes an agent's proposal back before it begins, in the caller's unit, which takes no other lock afterwards.

        Refused: `unknown_proposal`, `already_decided`, `proposal_expired`.
        """
        kept = queue.read_row(unit, self.owner, proposal_id, agent=agent, hold=True)
        # Judged before anything is written, for a caller that goes on with its unit after a refusal.
        step(kept.proposal.standing, Withdraw(), unit.now)
        claims.drop(unit, self.owner, proposal_id)
        return self.book.move(unit, kept, Withdraw(), actor=agent).proposal

    async def withdraw(self, proposal_id: str, agent: str) -> Proposal:
        """`withdraw_in`, in a unit of its own."""
        return await self._store.unit(lambda unit: self.withdraw_in(unit, proposal_id, agent))

    # -- reading

    async def find(self, proposal_id: str, *, agent: str | None = None) -> Proposal:
        """A proposal as it stands. With `agent`, another agent's is `unknown_proposal` like one that does not exist."""
        found = await self._read(proposal_id, agent)
        if self._is_overdue(found):
            await self.expire_due()
            found = await self._read(proposal_id, agent)
        return found

    async def list(
        self,
        *,
        states: Collection[ProposalState] | None = None,
        agent: str | None = None,
        context: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Proposals:
        """Newest first; `after` is the id of the last one seen, `limit` 1 to 200. Refused: `unknown_proposal`."""
        limit = max(1, min(limit, LONGEST_PAGE))

        def body(view: Reading) -> Proposals:
            return queue.list_rows(
                view, self.owner, states=states, agent=agent, context=context, after=after, limit=limit
            )

        found = await self._store.reading(body)
        if any(self._is_overdue(each) for each in found):
            await self.expire_due()
            found = await self._store.reading(body)
        return found

    async def wait(self, proposal_id: str, moves: int) -> Proposal:
        """The proposal as soon as it has moved past `moves`; the caller brings its own deadline.

        Refused: `unknown_proposal`.
        """
        name = channel(proposal_id)
        mark = self._store.wake.mark(name)
        while (found := await self.find(proposal_id)).moves <= moves:
            mark = await self._store.wake.wait(name, mark)
        return found

    # -- people

    async def question(self, proposal_id: str) -> Question | None:
        """What the person has to sign now, made afresh: with the approval, or midway. None where a yes is enough.

        Refused: `unknown_proposal`, and as the sources say.
        """
        found = await self.find(proposal_id)
        if found.state is ProposalState.AWAITING_PERSON:
            return found.question
        if found.state is not ProposalState.PENDING:
            return None
        act, _ = self.registry.find(found.act)
        asked = await consult(self.sources, act, act.decode(found.arguments), ())
        return asked if isinstance(asked, Question) else None

    async def approve(self, proposal_id: str, by: Decider, *, reason: str, answers: Sequence[Answer] = ()) -> Proposal:
        """A person's yes. `answers` is what they signed where `question` asked for it.

        Refused: `unknown_proposal`; `refused_by_constitution` (Article VI: who may decide; or what is proposed is no
        longer allowed); `already_decided`, `proposal_expired`; `reason_required`; `signature_required` where a
        signature is asked for and there is none; `nothing_asked` where one is given that nobody asked for;
        `consent_required` where no signature covers an act on another party; and as the sources say.
        """
        words = _words(reason)
        found = await self.find(proposal_id)
        command = Approve(until=self._clock.now() + self.deadlines.begin)
        step(found.standing, command, self._clock.now())
        act, _ = self.registry.find(found.act)
        await self._store.reading(lambda view: self._check_decider(view, by, found, act))
        evidence = await self._evidence(act, found, answers)

        def body(unit: Unit) -> Proposal:
            kept = queue.read_row(unit, self.owner, proposal_id, hold=True)
            self._check_decider(unit, by, kept.proposal, act)
            self._check_allowed(kept.proposal, act)
            decision = self._decision(unit, kept.proposal, by, words, approved=True)
            consent = strongest(act, kept.proposal, decision, evidence)
            claims.offer(unit, self.owner, proposal_id)
            return self._decide(unit, kept, Approve(until=unit.now + self.deadlines.begin), decision, consent, answers)

        return await self._store.unit(body)

    async def reject(self, proposal_id: str, by: Decider, *, reason: str) -> Proposal:
        """A person's no. Refused: as `approve`, of which no signature is asked."""
        words = _words(reason)

        def body(unit: Unit) -> Proposal:
            kept = queue.read_row(unit, self.owner, proposal_id, hold=True)
            self._check_decider(unit, by, kept.proposal, self._act_of(kept.proposal))
            decision = self._decision(unit, kept.proposal, by, words, approved=False)
            return self._decide(unit, kept, Reject(), decision, None, ())

        return await self._store.unit(body)

    async def answer(self, proposal_id: str, by: Decider, answer: Answer) -> Proposal:
        """A person's answer to the question asked midway; the act then goes on, and a no is told to it there.

        Refused: as `approve`, `nothing_asked` where no question is open.
        """
        found = await self.find(proposal_id)
        step(found.standing, AnswerQuestion(), self._clock.now())
        act, _ = self.registry.find(found.act)
        await self._store.reading(lambda view: self._check_decider(view, by, found, act))
        answers = (*found.answers, answer)
        if answer.granted:
            await self._evidence(act, found, answers)

        def body(unit: Unit) -> Proposal:
            kept = queue.read_row(unit, self.owner, proposal_id, hold=True)
            self._check_decider(unit, by, kept.proposal, act)
            if kept.proposal.moves != found.moves:
                step(kept.proposal.standing, AnswerQuestion(), unit.now)
                raise Refused.because(NOTHING_ASKED, "Another question is open by now", help="Read the proposal again.")
            claims.offer_again(unit, self.owner, proposal_id)
            facts = {"granted": answer.granted, "role": by.role, "mode": by.mode}
            changes = {"answers": answers, "question": None}
            moved = self.book.move(
                unit, kept, AnswerQuestion(), actor=by.id, kind=ANSWERED, changes=changes, facts=facts
            )
            return moved.proposal

        return await self._store.unit(body)

    async def expire_due(self) -> int:
        """Writes down which deadlines have passed; how many."""
        done = 0
        while count := await self._store.unit(self._expire):
            done += count
        return done

    # -- inside

    async def _read(self, proposal_id: str, agent: str | None) -> Proposal:
        kept = await self._store.reading(lambda view: queue.read_row(view, self.owner, proposal_id, agent=agent))
        return kept.proposal

    def _is_overdue(self, found: Proposal) -> bool:
        return found.state in WAITING and found.expires_at <= self._clock.now()

    def _expire(self, unit: Unit) -> int:
        names = queue.overdue(unit, self.owner, unit.now)
        held = [queue.read_row(unit, self.owner, name, hold=True) for name in sorted(names)]
        lapsed = [kept for kept in held if self._lapses(kept.proposal, unit)]
        for kept in lapsed:
            claims.drop(unit, self.owner, kept.proposal.id)
        for kept in lapsed:
            self.book.move(unit, kept, Lapse(), actor=self.owner, changes={"question": None})
        return len(lapsed)

    def _lapses(self, found: Proposal, unit: Unit) -> bool:
        deadline = found.standing.deadline
        return deadline is not None and deadline <= unit.now

    async def _evidence(self, act: Act, found: Proposal, answers: Sequence[Answer]) -> Sequence[Consent]:
        asked = await consult(self.sources, act, act.decode(found.arguments), answers)
        if isinstance(asked, Question):
            raise Refused.because(
                SIGNATURE_REQUIRED,
                f"{act.title} needs the person's signature: {asked.title}",
                help="Answer the question on the person's own surface and sign there.",
                details={"kind": asked.kind},
            )
        if answers and not asked:
            raise Refused.because(NOTHING_ASKED, f"{act.title} asks for no signature", place="$.answers")
        return asked

    def _check_decider(self, view: Reading, by: Decider, found: Proposal, act: Act) -> None:
        is_agent = self.standing(view, by.id) is not None
        verdict = self.constitution.judge_decider(by.id, act, is_agent=is_agent, role=by.role, own=by.id == found.agent)
        if not verdict.allowed:
            raise Refused(verdict.refusal("This decision"))

    def _check_allowed(self, found: Proposal, act: Act) -> None:
        data, _ = queue.hash_arguments(found.arguments)
        verdict = self.constitution.judge_proposal(
            found.agent, act, door=found.door, scopes=found.scopes, names_secret=names_secret(data)
        )
        if not verdict.allowed:
            raise Refused(verdict.refusal(act.title))

    def _act_of(self, found: Proposal) -> Act:
        """The act, or what stands for one that is registered no more: it can still be rejected."""
        for act in self.registry.acts():
            if act.name == found.act:
                return act
        return Act(
            name=found.act, act_class=ActClass.EXECUTION, title=found.title, description="", arguments=msgspec.Struct,
            touches_others=True,
        )  # fmt: skip

    def _decision(self, unit: Unit, found: Proposal, by: Decider, words: str, *, approved: bool) -> Decision:
        tag = self.constitution.tag
        return Decision(
            by=by.id, name=by.name, role=by.role, approved=approved, reason=words, at=unit.now,
            subject_sha256=bind(found, tag), constitution=tag, mode=by.mode,
        )  # fmt: skip

    def _decide(
        self,
        unit: Unit,
        kept: Kept,
        command: Approve | Reject,
        decision: Decision,
        consent: Consent | None,
        answers: Sequence[Answer],
    ) -> Proposal:
        document = None if consent is None else consent.document_sha256
        moved = self.book.move(
            unit,
            kept,
            command,
            actor=decision.by,
            changes={"decision": decision, "answers": tuple(answers)},
            facts={
                "role": decision.role,
                "mode": decision.mode,
                "subject_sha256": decision.subject_sha256,
                "reason_sha256": sha256_b64u(decision.reason.encode()),
                "constitution": decision.constitution,
                **({} if consent is None else {"evidence": int(consent.evidence)}),
            },
            links=() if document is None else (Link("consent", document),),
        )
        return moved.proposal


def _words(reason: str) -> str:
    words = reason.strip()
    if not words or len(words) > LONGEST_REASON:
        raise Refused.because(
            REASON_REQUIRED,
            f"A decision has a reason of 1 to {LONGEST_REASON} characters",
            place="$.reason",
            help="Say in a few words why.",
        )
    return words
