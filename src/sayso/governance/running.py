"""One approved act, from its claim to its outcome (GTW-030, GTW-033; design, Store and concurrency).

    claim      a unit: leased to this worker                                    (execution)
    look       what was approved is what is stored; evidence asked of the sources; no unit is open meanwhile
    intent     a unit: agent's standing and constitution judged now, proposal.executing receipted, intent marked
    run        the operation, within its time; the lease is renewed beside it   (execution)
    outcome    a unit: proposal.executed, .failed or .awaiting_person receipted, result kept, claim given back

A process may die between any two of them. Before the intent nothing has happened, so the next worker starts over. After
the outcome nothing is left. In between, the act's own promise decides: `idempotent` is run again under the same call
id, `probe` is asked first, `at_most_once` is never run again and ends `failed: unknown`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec
import structlog

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Corrupt, PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.governance import claims, machine, queue
from sayso.governance.acts import Act, Operation, Repeats
from sayso.governance.arguments import names_secret
from sayso.governance.claims import Claim
from sayso.governance.consent import Consent, Question
from sayso.governance.evidence import bind, consult, strongest
from sayso.governance.gate import Gate
from sayso.governance.kernel import PEER_UNREACHABLE, run_operation
from sayso.governance.limiting import TimeIsUp, within
from sayso.governance.machine import Again, Ask, Begin, Command, Drop, Fail, ProposalState, Succeed
from sayso.governance.outcomes import (
    UNKNOWN,
    broken,
    interrupted,
    mismatch,
    out_of_time,
    said_no,
    unknowable,
    unreachable,
)
from sayso.governance.proposal import Decision, Proposal
from sayso.governance.queue import Kept
from sayso.ledger.rules.record import Link
from sayso.proof.hashes import sha256_b64u
from sayso.store.outbox import backoff
from sayso.store.unit import Store, Unavailable, Unit

__all__ = ("MOST_TRIES", "Attempt", "Watch", "named")

MOST_TRIES = 8
"""How often an act that may be run again is: after that nobody tries on, and a person is told."""

Watch = Callable[[str, str], None]
"""Told of each step and the proposal: `claimed`, `intended`, `ran`, `settled`; for whoever measures or interrupts."""

_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=2), timedelta(minutes=1)
_log = structlog.get_logger(__name__)


class _Ready(msgspec.Struct, frozen=True):
    """What a run needs: the act, its body, the arguments as decoded, and the consent it rests on."""

    act: Act
    operation: Operation
    arguments: msgspec.Struct
    consent: Consent


class Attempt:
    """One attempt to carry out one act."""

    def __init__(self, store: Store, gate: Gate, clock: Clock, claim: Claim, watch: Watch | None) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock
        self._claim = claim
        self._watch = watch

    async def carry_out(self) -> None:
        """Carries it out as far as it goes. Refused: `claim_lost`, `proposal_moved`: somebody else has it now."""
        self._tell("claimed")
        kept = await self._store.reading(lambda view: queue.read_row(view, self._gate.owner, self._claim.proposal))
        proposal = kept.proposal
        if proposal.state not in (ProposalState.APPROVED, ProposalState.EXECUTING) or proposal.decision is None:
            await self._store.unit(lambda unit: claims.settle(unit, self._claim))
            return
        try:
            ready = await self._prepare(proposal, proposal.decision)
        except Refused as no:
            await self._turned_away(no.refusal)
        except (PeerRefused, PeerUnreachable) as peer:
            await self._cut_off(proposal, peer)
        except Unavailable:
            raise  # the lease ends, and the act is due again
        except TimeIsUp:
            await self._refuse(self._before(out_of_time(proposal.title, self._seconds(proposal))))
        except Exception as error:  # noqa: BLE001 - a bug in one act is that act's failure, and no other's
            _log.error("an act failed inside", act=proposal.act, proposal=proposal.id, error=named(error))
            await self._refuse(self._before(broken(proposal.title)))
        else:
            if ready is not None:
                self._tell("intended")
                await self._run(ready)

    # -- before anything is touched

    async def _prepare(self, proposal: Proposal, decision: Decision) -> _Ready | None:
        """Everything up to the intent; None where the act ended or waits before it was begun (again)."""
        act, operation = self._gate.registry.find(proposal.act)
        if self._claim.left and act.repeats is Repeats.AT_MOST_ONCE:
            await self._refuse(interrupted(proposal.title))
            return None
        _, sha256 = queue.hash_arguments(proposal.arguments)
        # Invariant PG-08: what runs is exactly what was decided.
        if sha256 != proposal.arguments_sha256 or bind(proposal, decision.constitution) != decision.subject_sha256:
            raise Refused(mismatch(act.title))
        arguments = act.decode(proposal.arguments)
        found = await self._limited(act, lambda: consult(self._gate.sources, act, arguments, proposal.answers))
        if isinstance(found, Question):
            await self._ask(found)
            return None
        if any(not answer.granted for answer in proposal.answers):
            raise Refused(said_no(act.title))
        ready = _Ready(act, operation, arguments, strongest(act, proposal, decision, found))
        if self._claim.left and await self._was_settled(proposal, ready):
            return None
        return ready if await self._store.unit(lambda unit: self._intend(unit, ready)) else None

    async def _was_settled(self, proposal: Proposal, ready: _Ready) -> bool:
        """Settles what an earlier attempt left behind, where it is there already or was tried too often."""
        probe = self._gate.registry.probe(ready.act.name)
        if probe is not None:
            result = await self._limited(ready.act, lambda: probe(ready.arguments, ready.consent))
            if result is not None:
                await self._succeed(result, probed=True)
                return True
        if self._claim.tries > MOST_TRIES:
            await self._refuse(interrupted(proposal.title))
            return True
        return False

    async def _turned_away(self, refusal: Refusal) -> None:
        match refusal.code:
            case claims.CLAIM_LOST | machine.PROPOSAL_MOVED:
                raise Refused(refusal)
            case machine.PROPOSAL_EXPIRED:
                await self._gate.expire_due()
            case _:
                await self._refuse(self._before(refusal))

    async def _cut_off(self, proposal: Proposal, peer: PeerRefused | PeerUnreachable) -> None:
        """A source or a probe needed another party and did not get it. While a deadline or a count bounds it, it is
        tried again.
        """
        bounded = proposal.state is ProposalState.APPROVED or self._claim.left
        if isinstance(peer, PeerUnreachable) and bounded and self._claim.tries < MOST_TRIES:
            await self._postpone()
        elif isinstance(peer, PeerUnreachable):
            await self._refuse(self._before(unreachable(peer)))
        else:
            await self._refuse(self._before(peer.refusal))

    def _before(self, refusal: Refusal) -> Refusal:
        """Why it was not begun; where an earlier attempt had begun it, its effect may be there all the same."""
        if self._claim.left:
            return unknowable(refusal)
        return msgspec.structs.replace(refusal, reason=None) if refusal.reason == UNKNOWN else refusal

    def _seconds(self, proposal: Proposal) -> int:
        act, _ = self._gate.registry.find(proposal.act)
        return act.seconds

    def _intend(self, unit: Unit, ready: _Ready) -> bool:
        kept = self._hold(unit)
        proposal = kept.proposal
        data, _ = queue.hash_arguments(proposal.arguments)
        constitution = self._gate.constitution
        verdict = constitution.judge_execution(
            proposal.agent,
            ready.act,
            door=proposal.door,
            scopes=proposal.scopes,
            names_secret=names_secret(data),
            decided=proposal.decision is not None and proposal.decision.approved,
            standing=self._gate.standing(unit, proposal.agent) or "unknown",
            evidence=int(ready.consent.evidence),
        )
        if not verdict.allowed:
            no = verdict.refusal(ready.act.title)
            self._end(unit, kept, unknowable(no) if self._claim.left else no)
            return False
        claims.intend(unit, self._claim)
        facts: dict[str, strictjson.JsonValue] = {
            "attempt": self._claim.attempt,
            "evidence": int(ready.consent.evidence),
            "subject_sha256": ready.consent.subject_sha256,
        }
        if proposal.decision is not None and proposal.decision.constitution != constitution.tag:
            facts["rejudged"] = constitution.tag
        document = ready.consent.document_sha256
        # Invariant PG-07: the intent is durable before the operation is called.
        self._gate.book.move(
            unit,
            kept,
            Begin() if proposal.state is ProposalState.APPROVED else Again(),
            actor=proposal.agent,
            facts=facts,
            links=() if document is None else (Link("consent", document),),
        )
        return True

    # -- the run

    async def _run(self, ready: _Ready) -> None:
        act = ready.act
        try:
            result, code = await self._limited(
                act, lambda: run_operation(ready.operation, ready.arguments, ready.consent)
            )
            if not isinstance(result, Question):
                strictjson.decode(strictjson.encode(result), dict[str, Any])  # what cannot be read back is no answer
        except TimeIsUp:
            await self._stopped(ready)
            return
        except Unavailable:
            raise  # the lease ends, and what the act promised decides
        except Exception as error:  # noqa: BLE001 - a bug in one act is that act's failure, and no other's
            _log.error("an act failed inside", act=act.name, proposal=self._claim.proposal, error=named(error))
            await self._refuse(broken(act.title))
            return
        self._tell("ran")
        if isinstance(result, Question):
            await self._ask(result)
        elif code is None:
            await self._succeed(result)
        elif code == PEER_UNREACHABLE:
            await self._unreached(ready, _refusal_in(result))
        else:
            await self._refuse(_refusal_in(result))

    async def _stopped(self, ready: _Ready) -> None:
        """The time is up; a probe may still tell."""
        probe = self._gate.registry.probe(ready.act.name)
        result = None
        if probe is not None:
            try:
                result = await self._limited(ready.act, lambda: probe(ready.arguments, ready.consent))
            except (TimeIsUp, Refused, PeerRefused, PeerUnreachable):
                result = None
        if result is not None:
            await self._succeed(result, probed=True)
        else:
            await self._refuse(out_of_time(ready.act.title, ready.act.seconds))

    async def _unreached(self, ready: _Ready, refusal: Refusal) -> None:
        """Nobody answered, so nobody knows: what may be run again is, a little later."""
        if ready.act.repeats is Repeats.AT_MOST_ONCE or self._claim.tries >= MOST_TRIES:
            await self._refuse(unknowable(refusal))
            return
        await self._postpone()

    async def _postpone(self) -> None:
        wait = backoff(self._claim.tries + 1, first=_FIRST_WAIT, most=_LONGEST_WAIT)
        await self._store.unit(lambda unit: claims.postpone(unit, self._claim, unit.now + wait))

    async def _limited(self, act: Act, work: Callable[[], Awaitable[Any]]) -> Any:
        return await within(self._clock, timedelta(seconds=act.seconds), work)

    # -- outcomes

    async def _succeed(self, result: Mapping[str, Any], *, probed: bool = False) -> None:
        data = strictjson.encode(result)
        facts = {"attempt": self._claim.attempt, "probed": True} if probed else {"attempt": self._claim.attempt}

        def body(unit: Unit) -> None:
            kept = self._hold(unit)
            claims.settle(unit, self._claim)
            self._move(unit, kept, Succeed(), {"result": result}, facts, sha256_b64u(data))

        await self._store.unit(body)
        self._tell("settled")

    async def _refuse(self, refusal: Refusal) -> None:
        if refusal.reason == UNKNOWN:
            _log.warning("an act's effect is unknown: a person has to look", proposal=self._claim.proposal)
        await self._store.unit(lambda unit: self._end(unit, self._hold(unit), refusal))
        self._tell("settled")

    def _end(self, unit: Unit, kept: Kept, refusal: Refusal) -> None:
        claims.settle(unit, self._claim)
        facts: dict[str, strictjson.JsonValue] = {"code": refusal.code, "attempt": self._claim.attempt}
        if refusal.reason is not None:
            facts["reason"] = refusal.reason
        article = refusal.details.get("article")
        begun = kept.proposal.state is ProposalState.EXECUTING
        self._move(unit, kept, Fail() if begun else Drop(), {"refusal": refusal}, facts, None, article)

    async def _ask(self, question: Question) -> None:
        facts: dict[str, strictjson.JsonValue] = {
            "kind": question.kind,
            "text_sha256": sha256_b64u(question.text.encode()),
            "document_sha256": sha256_b64u(question.document),
        }

        def body(unit: Unit) -> None:
            kept = self._hold(unit)
            if kept.proposal.state is ProposalState.APPROVED:
                kept = self._move(unit, kept, Begin(), {}, {"attempt": self._claim.attempt}, None)
            claims.park(unit, self._claim)
            until = question.expires or unit.now + self._gate.deadlines.answer
            self._move(unit, kept, Ask(until=until), {"question": question}, facts, None)

        await self._store.unit(body)
        self._tell("settled")

    def _hold(self, unit: Unit) -> Kept:
        kept = queue.read_row(unit, self._gate.owner, self._claim.proposal, hold=True)
        claims.hold(unit, self._claim)
        return kept

    def _move(
        self,
        unit: Unit,
        kept: Kept,
        command: Command,
        changes: Mapping[str, Any],
        facts: Mapping[str, strictjson.JsonValue],
        output_sha256: str | None,
        article: str | None = None,
    ) -> Kept:
        return self._gate.book.move(
            unit,
            kept,
            command,
            actor=kept.proposal.agent,
            changes=changes,
            facts=facts,
            output_sha256=output_sha256,
            article=article,
        )

    def _tell(self, step: str) -> None:
        if self._watch is not None:
            self._watch(step, self._claim.proposal)


def _refusal_in(result: Mapping[str, Any]) -> Refusal:
    """The refusal that an operation's answer carries, with who said so where it was another party."""
    refusal = msgspec.convert(result["refused"], Refusal)
    if "by" not in result:
        return refusal
    return msgspec.structs.replace(refusal, details={**refusal.details, "by": result["by"]})


def named(error: Exception) -> str:
    """An error for the operator's log: damage in full, of anything else its kind, for its words may be data."""
    return str(error) if isinstance(error, Corrupt) else type(error).__name__
