"""Who is let in, and what is written down of those who are not (GTW-010 to GTW-014, GTW-020, GTW-050).

Two judgements of one ladder. `look` and `judge` are over one snapshot, when a request comes. The other is inside the
unit of work that ends it, under the agent's lock: what it finds decides. Everything that ends in a unit here is
receipted in it, and the answer's hash with it.

What a refusal costs: a 429 charges, counts and spends nothing. Any other refusal of a known agent charges the coarse
rate. A wrong key counts against the address it came from. The fifth countable violation suspends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

import msgspec

from sayso.core.clock import Clock
from sayso.core.refusal import Refusal
from sayso.gateway.crossing import Answer, Crossing, Denial, Deny
from sayso.gateway.guard import standings
from sayso.gateway.guard.agents import AGENT_SUSPENDED
from sayso.gateway.guard.metrics import Metrics, outcome_of
from sayso.gateway.guard.rules import ladder
from sayso.gateway.guard.rules.addresses import network_of
from sayso.gateway.guard.rules.codes import find_code
from sayso.gateway.guard.rules.ladder import Knock, denied, judge
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.guard.rules.standing import Charged, Standing, judge_rates
from sayso.gateway.guard.watch import Watch, timed
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u
from sayso.store import buckets
from sayso.store.tables import micros
from sayso.store.unit import Reading, Store, Unit

__all__ = ("Ended", "Guard")

REFUSED = declare("crossing.refused", "A request at a door was refused; the code says why.")

_STRANGER = "stranger"
_GUARD = "gateway"
_STRANGERS_CODES = frozenset({"missing_key", "unknown_key"})
_NEVER_CHARGED = frozenset({"agent_suspended", *_STRANGERS_CODES})
_LEFT = b"x-osz-violations-left"
_TELL_LEFT = frozenset({403, 413})

Ended = tuple[Answer, str]
"""What is sent, and the code under which it was refused; empty where it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The guard of one owner's doors."""

    store: Store
    ledger: Ledger
    owner: str
    clock: Clock
    limits: Limits
    metrics: Metrics | None
    watch: Watch | None

    # -- when a request comes

    async def look(self, knock: Knock) -> tuple[datetime, Standing]:
        """Where the sender stands, and when that was, in one snapshot."""
        if self.watch is None:
            return await self.store.reading(partial(self._look, knock))
        began = self.clock.monotonic()
        seen = await self.store.reading(partial(self._look, knock))
        self.watch("read", self.clock.monotonic() - began)
        return seen

    def judge(self, knock: Knock, standing: Standing, now: datetime) -> Denial | None:
        """The ladder from `key` to `scope`."""
        if self.watch is None:
            return judge(ladder.ADMISSION, knock, standing, micros(now), self.limits)
        for rung in ladder.ADMISSION:
            rungs, now_us = (rung,), micros(now)
            denial = timed(self.watch, self.clock, rung.name, judge, rungs, knock, standing, now_us, self.limits)
            if denial is not None:
                return denial
        return None

    async def turn_away(self, crossing: Crossing, deny: Deny, why: Refusal, *, body_was_read: bool = True) -> Answer:
        """Refuses a request before anybody asked who sent it: the head's rungs, and a body that is too large."""
        denial = Denial(refusal=why, status=find_code(why.code).status)
        answer = _dress(deny(crossing, denial), denial)
        draft = _draft(crossing, _STRANGER, denial, answer, has_inputs=body_was_read)
        await self.store.unit(lambda unit: self.ledger.disclose_in(unit, draft))
        self.count(crossing, why.code, denial.status)
        return answer

    async def refuse(self, knock: Knock, deny: Deny, denial: Denial, standing: Standing) -> Answer:
        """Ends a request that a rung or the door refused; the answer is receipted."""
        if denial.refusal.code in _STRANGERS_CODES:
            work = partial(self.end_stranger, knock, deny, denial)
        else:
            work = partial(self.end, knock, deny, denial, standing.agent)
        answer, code = await self.store.unit(work)
        self.count(knock.crossing, code, answer.status)
        return answer

    def count(self, crossing: Crossing, code: str, status: int) -> None:
        """Tells the metrics of an end."""
        if self.metrics is not None:
            self.metrics.crossed(crossing.door, outcome_of(status) if code else "answered", code)

    # -- in the unit that ends it

    def locked(self, unit: Unit, knock: Knock, agent_id: str) -> Standing:
        """The agent's standing, which nobody else changes until the unit is over."""
        standings.lock(unit, self.owner, agent_id)
        return standings.read_standing(unit, self.owner, knock)

    def end(self, knock: Knock, deny: Deny, denial: Denial, agent_id: str, unit: Unit) -> Ended:
        """A refusal of a known agent, unless what comes before any other refusal has come meanwhile."""
        standing = self.locked(unit, knock, agent_id)
        denial = judge(ladder.AT_REFUSAL, knock, standing, micros(unit.now), self.limits) or denial
        return self.deny(unit, knock, deny, denial, standing)

    def end_stranger(self, knock: Knock, deny: Deny, denial: Denial, unit: Unit) -> Ended:
        """A wrong key counts against nobody's agent; it is limited by where it came from."""
        key = f"gateway {self.owner} address {network_of(knock.crossing.peer)}"
        verdict = buckets.charge(unit, [(key, self.limits.address)])
        if isinstance(verdict, buckets.Limited):
            denial = denied("too_many_attempts", retry_after=verdict.retry_after)
        return self._receipt(unit, knock.crossing, deny, denial, _STRANGER)

    def deny(self, unit: Unit, knock: Knock, deny: Deny, denial: Denial, standing: Standing) -> Ended:
        """Charges, counts, suspends and receipts a denial of a known agent, whose standing is locked."""
        code = denial.refusal.code
        if denial.retry_after is None and code not in _NEVER_CHARGED:
            charged = judge_rates(self.limits, standing, micros(unit.now), 0)
            if isinstance(charged, Charged):
                standings.charge(unit, self.owner, standing.agent, charged)
        # Only what a valid key's holder can do to itself counts, and an unsigned request proves nothing of that kind.
        counts = find_code(code).counts and knock.is_signed
        if counts:
            standings.count_violation(unit, self.owner, standing, knock, code=code)
        if denial.status in _TELL_LEFT:
            left = standings.violations_left(unit, self.owner, standing, self.limits)
            denial = msgspec.structs.replace(denial, left=left)
            if counts and not left:
                self._suspend(unit, standing)
        return self._receipt(unit, knock.crossing, deny, denial, standing.agent or _STRANGER)

    def _look(self, knock: Knock, view: Reading) -> tuple[datetime, Standing]:
        return view.now, standings.read_standing(view, self.owner, knock)

    def _suspend(self, unit: Unit, standing: Standing) -> None:
        # Invariant G-02: the violation that uses up the last of an agent's five suspends it in the same unit.
        if standings.suspend(unit, self.owner, standing.agent, by=_GUARD, reason="violations"):
            facts = {"agent": standing.agent, "cause": "violations", "key": standing.key_id}
            self.ledger.append_in(unit, Draft(kind=AGENT_SUSPENDED, actor=_GUARD, body=facts))

    def _receipt(self, unit: Unit, crossing: Crossing, deny: Deny, denial: Denial, actor: str) -> Ended:
        answer = _dress(deny(crossing, denial), denial)
        self.ledger.disclose_in(unit, _draft(crossing, actor, denial, answer))
        return answer, denial.refusal.code


def _dress(answer: Answer, denial: Denial) -> Answer:
    """What every door says alike, whatever shape its denials have."""
    more = [(b"cache-control", b"no-store")]
    if denial.retry_after is not None:
        more.append((b"retry-after", str(denial.retry_after).encode()))
    if denial.left is not None:
        more.append((_LEFT, str(denial.left).encode()))
    named = {name for name, _ in more}
    kept = [each for each in answer.headers if each[0].lower() not in named]
    return msgspec.structs.replace(answer, headers=(*kept, *more))


def _draft(crossing: Crossing, actor: str, denial: Denial, answer: Answer, *, has_inputs: bool = True) -> Draft:
    return Draft(
        kind=REFUSED,
        actor=actor,
        inputs_sha256=sha256_b64u(crossing.body) if has_inputs else None,
        output_sha256=sha256_b64u(answer.body),
        body={"door": crossing.door, "code": denial.refusal.code, "status": answer.status},
    )
