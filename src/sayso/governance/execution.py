"""The executor: carries out what people approved, in any number of processes (GTW-033; design, Store and concurrency).

It claims due acts, eight at once unless said otherwise, and keeps each lease alive while its act runs (`running`). What
a dead process left is due again when its lease ends, so starting an executor finishes or reports it. It sweeps the
gate's deadlines too. A worker whose lease was taken over, because it was stopped for longer than a lease, cancels its
act and writes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NoReturn

import anyio
import structlog
from anyio.abc import TaskGroup

from sayso.core.clock import Clock
from sayso.core.refusal import Misuse, Refused
from sayso.governance import claims, queue
from sayso.governance.claims import ACTS, CLAIM_LOST, Claim
from sayso.governance.gate import Gate
from sayso.governance.limiting import first_of
from sayso.governance.machine import PROPOSAL_MOVED
from sayso.governance.moving import GATE
from sayso.governance.running import Attempt, Watch, named
from sayso.store.unit import Reading, Store, Unavailable

__all__ = ("LEASE", "Executor")

LEASE = timedelta(seconds=10)
_RENEWALS = 3
"""How often a lease is renewed before it would end."""

_log = structlog.get_logger(__name__)


class Executor:
    """One process's share of the work. `worker` names it in the table, unlike any other's."""

    def __init__(
        self,
        *,
        store: Store,
        gate: Gate,
        clock: Clock,
        worker: str,
        lease: timedelta = LEASE,
        at_once: int = 8,
        watch: Watch | None = None,
    ) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock
        self._worker = worker
        self._lease = lease
        self._at_once = at_once
        self._watch = watch
        self._running = 0
        self._freed = anyio.Event()

    async def run(self) -> NoReturn:
        """Works until it is cancelled. An act that is cut off by that is taken up by whoever runs next."""
        async with anyio.create_task_group() as group:
            await self._work(group)
        raise Misuse("an executor ended by itself")

    async def run_once(self) -> int:
        """Carries out what is due now and returns; how many acts that were."""
        await self._gate.expire_due()
        claimed = await self._claim()
        async with anyio.create_task_group() as group:
            self._start(group, claimed)
        return len(claimed)

    async def _work(self, group: TaskGroup) -> None:
        wake = self._store.wake
        while True:
            acts, gate = wake.mark(ACTS), wake.mark(GATE)
            self._freed = anyio.Event()
            due, deadline = await self._store.reading(self._next)
            now = self._clock.now()
            if deadline is not None and deadline <= now:
                await self._gate.expire_due()
            elif due is not None and due <= now and (claimed := await self._claim()):
                self._start(group, claimed)
            else:
                await self._pause(acts, gate, due, deadline)

    def _start(self, group: TaskGroup, claimed: list[Claim]) -> None:
        for claim in claimed:
            self._running += 1
            group.start_soon(self._carry_out, claim)

    def _next(self, view: Reading) -> tuple[datetime | None, datetime | None]:
        owner = self._gate.owner
        return claims.next_due(view, owner), queue.next_deadline(view, owner)

    async def _claim(self) -> list[Claim]:
        free = self._at_once - self._running
        if free <= 0:
            return []
        owner = self._gate.owner
        return await self._store.unit(lambda unit: claims.claim(unit, owner, self._worker, self._lease, limit=free))

    async def _pause(self, acts: int, gate: int, due: datetime | None, deadline: datetime | None) -> None:
        """Until there may be something to do: an act offered, a slot freed, a deadline or the end of a lease."""
        wake, freed = self._store.wake, self._freed
        if self._running >= self._at_once:
            due = None
        moments = [moment for moment in (due, deadline) if moment is not None]

        async def until() -> None:
            if moments:
                await self._clock.sleep_until(min(moments))
            else:
                await anyio.sleep_forever()

        await first_of(lambda: wake.wait(ACTS, acts), lambda: wake.wait(GATE, gate), freed.wait, until)

    async def _carry_out(self, claim: Claim) -> None:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep, claim, group.cancel_scope)
                await self._run(claim)
                group.cancel_scope.cancel()
        finally:
            self._running -= 1
            self._freed.set()

    async def _run(self, claim: Claim) -> None:
        try:
            await Attempt(self._store, self._gate, self._clock, claim, self._watch).carry_out()
        except Refused as lost:
            if lost.refusal.code not in (CLAIM_LOST, PROPOSAL_MOVED):
                _log.error("an act could not be carried out", proposal=claim.proposal, code=lost.refusal.code)
        except Exception as error:  # noqa: BLE001 - the lease ends and the act is due again; the others go on
            _log.error("an act could not be carried out", proposal=claim.proposal, error=named(error))

    async def _keep(self, claim: Claim, scope: anyio.CancelScope) -> None:
        """Renews the lease until the act is over; cancels it where the lease is lost."""
        while True:
            await self._clock.sleep_until(self._next_renewal())
            try:
                await self._store.unit(lambda unit: claims.renew(unit, claim, self._lease))
            except Refused:
                _log.warning("a lease was lost; its act is left to whoever has it now", proposal=claim.proposal)
                scope.cancel()
                return
            except Unavailable:
                continue

    def _next_renewal(self) -> datetime:
        return self._clock.now() + self._lease / _RENEWALS
