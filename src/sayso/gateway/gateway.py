"""The one way in: a request is judged, answered, and receipted in one unit of work (GTW-007, GTW-013, GTW-050).

`enter` judges a request on one snapshot of the store. What passes is a `Passage`, on which the door reads the body,
asks governance, and ends with exactly one `settle` or `refuse`. The unit behind `settle` judges the decisive rungs
again under the agent's lock, charges the rates, spends the signature, files proposals and keeps the receipts: so a
disclosure costs one commit, limits are exact across processes, one signed request has one effect, and no byte is
answered before its receipt is durable (GTW-053).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refusal, Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.crossing import Agent, Answer, Crossing, Denial, Deny
from sayso.gateway.guard import standings
from sayso.gateway.guard.guard import Ended, Guard
from sayso.gateway.guard.metrics import Metrics
from sayso.gateway.guard.rules import ladder
from sayso.gateway.guard.rules.codes import find_code, refusal
from sayso.gateway.guard.rules.headers import read_presented
from sayso.gateway.guard.rules.ladder import Knock, denied, judge, judge_class_rate, read_knock
from sayso.gateway.guard.rules.limits import Limits, check_payload
from sayso.gateway.guard.rules.standing import Charged, Standing, judge_rates, read_scopes
from sayso.gateway.guard.watch import Watch, timed
from sayso.governance.acts import Act
from sayso.governance.governor import Disclosed, Governor
from sayso.governance.kernel import ActCall
from sayso.governance.proposal import Ask, Prepared
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.store.tables import micros
from sayso.store.unit import Store, Unit

__all__ = ("Gateway", "Passage")

ANSWERED = declare("crossing.answered", "A request at a door was answered; hashes of what came in and went out.")

_LONGEST_ABOUT = 128


class Gateway:
    """One owner's gateway: the guard, and governance behind it."""

    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        governor: Governor,
        owner: str,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        metrics: Metrics | None = None,
        watch: Watch | None = None,
    ) -> None:
        """`watch` is told how long each step took, for whoever measures."""
        self.store = store
        self.ledger = ledger
        self.governor = governor
        self.owner = owner
        self.clock = clock
        self.ids = ids
        self.limits = limits
        self.watch = watch
        self._running: Counter[str] = Counter()
        self.guard = Guard(
            store=store, ledger=ledger, owner=owner, clock=clock, limits=limits, metrics=metrics, watch=watch
        )

    async def enter(self, crossing: Crossing, deny: Deny) -> Passage | Answer:
        """Admits a request, or answers it: the ladder from `headers` to `scope`. The answer is receipted already."""
        try:
            knock = read_knock(crossing, read_presented(crossing.headers))
        except Refused as no:
            return await self.guard.turn_away(crossing, deny, no.refusal)
        now, standing = await self.guard.look(knock)
        denial = self.guard.judge(knock, standing, now)
        if denial is not None:
            return await self.guard.refuse(knock, deny, denial, standing)
        return Passage(gateway=self, standing=standing, now=now, knock=knock, deny=deny)

    async def turn_away(self, crossing: Crossing, deny: Deny, why: Refusal) -> Answer:
        """Refuses a request whose body was not read to its end. The answer is receipted already."""
        return await self.guard.turn_away(crossing, deny, why, body_was_read=False)

    @contextmanager
    def running(self, agent_id: str) -> Iterator[None]:
        """One act of an agent's, while it runs: as many at once as it may call in a minute, and not one more.

        What comes at once is let in on one snapshot, before any of it was charged. Refused: `unavailable`.
        """
        if self._running[agent_id] >= self.limits.minute.burst:
            raise Refused(refusal("unavailable", "Too much of this agent's is under way"))
        self._running[agent_id] += 1
        try:
            yield
        finally:
            self._running[agent_id] -= 1
            if not self._running[agent_id]:
                del self._running[agent_id]


class Passage:
    """A request that was let in, until it is settled or refused, once.

    `now` is when it was let in; `agent` who sent it.
    """

    __slots__ = ("_acts", "_deny", "_gateway", "_guard", "_is_over", "_knock", "_standing", "agent", "crossing", "now")

    def __init__(self, *, gateway: Gateway, standing: Standing, now: datetime, knock: Knock, deny: Deny) -> None:
        scopes = read_scopes(standing.scopes)
        self.agent = Agent(id=standing.agent, name=standing.name, owner=gateway.owner, scopes=scopes)
        self.crossing = knock.crossing
        self.now = now
        self._gateway = gateway
        self._guard = gateway.guard
        self._knock = knock
        self._deny = deny
        self._standing = standing
        self._acts = 0
        self._is_over = False

    @property
    def governor(self) -> Governor:
        """What decides over acts, for doors that list them."""
        return self._gateway.governor

    @property
    def limits(self) -> Limits:
        """The limits that doors check bodies against."""
        return self._gateway.limits

    @property
    def is_over(self) -> bool:
        """Whether it was settled or refused."""
        return self._is_over

    async def disclose(self, name: str, arguments: JsonValue, *, place: str) -> Disclosed:
        """Runs an act that only discloses; `place` is where the arguments stand in the body. Nothing is stored yet.

        Refused: `payload_limits`, `missing_scope`; `too_many_calls`, `too_many_requests`, `unavailable` for what could
        not be answered anyway; and as `Governor.disclose`.
        """
        gateway = self._gateway
        self._check("disclose", arguments, place)
        call = self._call(name, _object(arguments, place))
        self.afford()
        with gateway.running(self.agent.id):
            if gateway.watch is None:
                return await gateway.governor.disclose(call)
            began = gateway.clock.monotonic()
            disclosed = await gateway.governor.disclose(call)
            gateway.watch("act", gateway.clock.monotonic() - began)
            return disclosed

    def look(self, act: Act, arguments: JsonValue, *, place: str) -> Disclosed:
        """Judges what the door shows by itself, a resource or a prompt, under a disclosure of its own. What it returns
        is settled like any other; the door finds the result.

        Refused: `payload_limits`, `missing_scope`, and as `Governor.look`.
        """
        self._check("disclose", arguments, place)
        return self._gateway.governor.look(self._call(act.name, _object(arguments, place)), act)

    def propose(
        self, name: str, arguments: JsonValue, *, place: str, context: str | None = None, note: bytes = b""
    ) -> Prepared:
        """Prepares a proposal of an act that changes something; `settle` files it.

        Refused: `payload_limits`, `missing_scope`, and as `Governor.prepare`.
        """
        self._check("propose", arguments, place)
        ask = Ask(
            agent=self.agent.id,
            owner=self.agent.owner,
            door=self.crossing.door,
            act=name,
            arguments=_object(arguments, place),
            scopes=self.agent.scopes,
            context=context,
            note=note,
        )
        return self._gateway.governor.prepare(ask)

    async def settle(
        self,
        answer: Answer,
        *,
        about: str,
        charges: int = 1,
        disclosed: Sequence[Disclosed] = (),
        prepared: Sequence[Prepared] = (),
        effect: Callable[[Unit], None] | None = None,
    ) -> Answer:
        """Ends the passage with an answer. What it returns is to be sent: `answer`, or the last judgement's denial.

        `about` is the protocol's own name for what was asked, a method or a route, never a payload. `charges` is how
        many calls of the class rate it was: none for a handshake or a notification, several for a batch. `effect` is
        run in the same unit; a `Refused` from it undoes the unit and is raised here, and the passage goes on.

        Refused: `too_many_calls`, where the request asks for more at once than a burst holds.
        """
        self._fit_a_burst(charges)
        drafts = self._drafts(answer, about, disclosed, prepared)
        return await self._finish(partial(self._settle, answer, drafts, charges, prepared, effect))

    async def refuse(self, why: Refusal, *, status: int | None = None) -> Answer:
        """Ends the passage with a refusal, counted where its code counts. What it returns is to be sent."""
        wait = why.details.get("retry_after") if why.code == "too_many_requests" else None
        denial = Denial(refusal=why, status=status or find_code(why.code).status, retry_after=wait)
        return await self._finish(partial(self._guard.end, self._knock, self._deny, denial, self.agent.id))

    async def _finish(self, work: Callable[[Unit], Ended]) -> Answer:
        if self._is_over:
            raise Misuse("a passage is settled or refused once")
        gateway = self._gateway
        began = gateway.clock.monotonic() if gateway.watch else 0.0
        answer, code = await gateway.store.unit(work)
        self._is_over = True
        if gateway.watch:
            gateway.watch("settle", gateway.clock.monotonic() - began)
        self._guard.count(self.crossing, code, answer.status)
        return answer

    def _settle(
        self,
        answer: Answer,
        drafts: Sequence[Draft],
        charges: int,
        prepared: Sequence[Prepared],
        effect: Callable[[Unit], None] | None,
        unit: Unit,
    ) -> Ended:
        gateway, guard, knock = self._gateway, self._guard, self._knock
        watch, clock = gateway.watch, gateway.clock
        standing = timed(watch, clock, "again", guard.locked, unit, knock, self.agent.id)
        denial = self._judge_again(unit, standing) or timed(watch, clock, "rate", self._charge, unit, standing, charges)
        if denial is None and knock.is_signed and not timed(watch, clock, "spend", self._spend, unit):
            denial = denied("replayed_signature", place="X-OSz-Signature")
        if denial is not None:
            return guard.deny(unit, knock, self._deny, denial, standing)
        timed(watch, clock, "file", self._carry_out, unit, prepared, effect)
        for draft in drafts:
            timed(watch, clock, "receipt", gateway.ledger.disclose_in, unit, draft)
        return answer, ""

    def _judge_again(self, unit: Unit, standing: Standing) -> Denial | None:
        limits = self.limits
        if unit.now - self.now > limits.settle_within:
            # Past this the signature's slot may be gone, and with it the proof that this is its only effect.
            return denied("took_too_long")
        return judge(ladder.DECISIVE, self._knock, standing, micros(unit.now), limits)

    def _charge(self, unit: Unit, standing: Standing, charges: int) -> Denial | None:
        charged = judge_rates(self.limits, standing, micros(unit.now), charges)
        if not isinstance(charged, Charged):
            return denied("too_many_requests", retry_after=charged)
        standings.charge(unit, self._gateway.owner, standing.agent, charged)
        return None

    def _spend(self, unit: Unit) -> bool:
        return standings.spend(unit, self._gateway.owner, self.agent.id, self._knock, self.limits)

    def _carry_out(self, unit: Unit, prepared: Sequence[Prepared], effect: Callable[[Unit], None] | None) -> None:
        # Filing takes the log's lock, which is the last a unit takes.
        if effect is not None:
            effect(unit)
        for each in prepared:
            self._gateway.governor.gate.file_in(unit, each)

    def _drafts(
        self, answer: Answer, about: str, disclosed: Sequence[Disclosed], prepared: Sequence[Prepared]
    ) -> list[Draft]:
        """The receipts of this crossing, each with the hashes of what came in and went out.

        A disclosure's own receipt is the crossing's; a proposal's are the Gate's, so such a crossing has one more.
        """
        came, went = sha256_b64u(self.crossing.body), sha256_b64u(answer.body)
        facts: dict[str, JsonValue] = {"door": self.crossing.door, "about": about[:_LONGEST_ABOUT]}
        drafts = [
            Draft(
                kind=each.draft.kind,
                actor=each.draft.actor,
                article=each.draft.article,
                inputs_sha256=came,
                output_sha256=went,
                links=each.draft.links,
                body={**each.draft.body, **facts},
            )
            for each in disclosed
        ]
        if drafts and not prepared:
            return drafts
        facts["status"] = answer.status
        if prepared:
            facts["proposals"] = [each.id for each in prepared]
        own = Draft(kind=ANSWERED, actor=self.agent.id, inputs_sha256=came, output_sha256=went, body=facts)
        return [*drafts, own]

    def _fit_a_burst(self, calls: int) -> None:
        most = min(self.limits.minute.burst, self.limits.second.burst)
        if calls > most:
            raise Refused(refusal("too_many_calls", most=most))

    def afford(self) -> None:
        """Judges the class rate over the snapshot, before anything is done that is charged: a 429 charges nothing, so
        whoever is at its limit could otherwise have work done for nothing. `disclose` asks this itself.

        Refused: `too_many_calls`, `too_many_requests`.
        """
        self._acts += 1
        self._fit_a_burst(self._acts)
        denial = judge_class_rate(self._standing, micros(self._gateway.clock.now()), self.limits, self._acts)
        if denial is not None:
            raise Refused(denial.refusal)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ActCall:
        return ActCall(
            call_id=self._gateway.ids.new("call"),
            name=name,
            arguments=arguments,
            actor=self.agent.id,
            door=self.crossing.door,
            scopes=self.agent.scopes,
        )

    def _check(self, scope: str, arguments: JsonValue, place: str) -> None:
        if scope not in self.agent.scopes:
            raise Refused(refusal("missing_scope", place=scope))
        check_payload(arguments, place, self.limits)


def _object(arguments: JsonValue, place: str) -> Mapping[str, Any]:
    if not isinstance(arguments, Mapping):
        raise Refused(refusal("schema_invalid", "The arguments are an object", place=place))
    return arguments
