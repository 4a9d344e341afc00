"""Messages that the house pushes to addresses other parties named, kept in the outbox until they arrive.

Every address goes through `net.fetch`: https only, on listed ports, each address a name has judged when it is dialled
(never loopback, private or link-local ones), no redirect followed. So nobody can make the house knock at a door that
only it can reach. What cannot arrive is tried again with growing pauses, then given up; an address that may not be
reached is given up at once. Each end has a receipt, which holds hashes and never the address or what was sent.

Delivery is at least once, and a message that was tried again may come after a later one.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Never

import anyio
import msgspec

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u
from sayso.store import outbox
from sayso.store.unit import Store, Unit

__all__ = ("Push", "Pusher", "put_push")

PUSHED = declare("push.delivered", "A message arrived at the address that an agent named for it.")
GIVEN_UP = declare("push.given_up", "A message for an agent did not arrive and is not tried again; the code says why.")

_TOPIC = "gateway push"
_LEASE = timedelta(seconds=60)
_FIRST, _MOST = timedelta(seconds=5), timedelta(hours=1)
_ATTEMPTS = 8
_AT_ONCE = 32  # half of the fetcher's connections
_SECONDS = 10.0
# More than a page of thanks: an answer that is longer counts as none, and what arrived would be sent again.
_ANSWER_BYTES = 65_536


class Push(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message: where to, with which headers and bytes; for which agent, and about what."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    agent: str
    about: str

    def __repr__(self) -> str:
        return f"Push({self.about!r}, {len(self.body)} bytes)"


def put_push(unit: Unit, key: str, push: Push) -> bool:
    """Keeps a message for sending, in the unit that causes it; False where one with that key is kept already."""
    return outbox.put(unit, _TOPIC, key, strictjson.encode(push))


class Pusher:
    """Sends what is due. Any number of processes may; `worker` names this one."""

    def __init__(self, store: Store, ledger: Ledger, fetcher: Fetcher, clock: Clock, worker: str) -> None:
        self._store = store
        self._ledger = ledger
        self._fetcher = fetcher
        self._clock = clock
        self._worker = worker

    async def run(self) -> Never:
        """Until it is cancelled."""
        channel = outbox.channel(_TOPIC)
        while True:
            mark = self._store.wake.mark(channel)
            if await self.send_due():
                continue
            due = await self._store.reading(lambda view: outbox.next_due(view, _TOPIC))
            async with anyio.create_task_group() as group:
                if due is not None:
                    group.start_soon(self._sleep, due, group.cancel_scope)
                await self._store.wake.wait(channel, mark)
                group.cancel_scope.cancel()

    async def send_due(self) -> int:
        """Tries everything that is due now, at the same time; how many there were."""
        claimed = await self._store.unit(lambda unit: outbox.claim(unit, _TOPIC, self._worker, _LEASE, limit=_AT_ONCE))
        async with anyio.create_task_group() as group:
            for each in claimed:
                group.start_soon(self._send, each)
        return len(claimed)

    async def _sleep(self, due: object, scope: anyio.CancelScope) -> None:
        await self._clock.sleep_until(due)  # type: ignore[arg-type]
        scope.cancel()

    async def _send(self, delivery: outbox.Delivery) -> None:
        push = strictjson.decode(delivery.payload, Push)
        code, is_final = await self._post(push)
        try:
            await self._store.unit(lambda unit: self._settle(unit, delivery, push, code, is_final=is_final))
        except Refused as refused:
            if refused.refusal.code != "claim_lost":
                raise

    async def _post(self, push: Push) -> tuple[str, bool]:
        """Empty where it arrived, or why not; and whether trying again is of no use."""
        try:
            response = await self._fetcher.request(
                "POST", push.url, headers=push.headers, body=push.body, max_bytes=_ANSWER_BYTES, seconds=_SECONDS
            )
        except Refused as refused:
            return refused.refusal.code, True
        except PeerRefused as refused:
            return refused.refusal.code, True
        except PeerUnreachable:
            return "unreachable", False
        return ("", True) if response.is_success else (f"status_{response.status}", False)

    def _settle(self, unit: Unit, delivery: outbox.Delivery, push: Push, code: str, *, is_final: bool) -> None:
        if code and not is_final and delivery.attempt < _ATTEMPTS:
            outbox.retry(unit, delivery, outbox.backoff(delivery.attempt, first=_FIRST, most=_MOST), code)
            return
        if code:
            outbox.give_up(unit, delivery, code)
        else:
            outbox.done(unit, delivery)
        body: dict[str, strictjson.JsonValue] = {"about": push.about, "attempt": delivery.attempt}
        if code:
            body["code"] = code
        draft = Draft(
            kind=GIVEN_UP if code else PUSHED,
            actor="gateway",
            output_sha256=sha256_b64u(push.body),
            body={**body, "agent": push.agent},
        )
        self._ledger.disclose_in(unit, draft)
