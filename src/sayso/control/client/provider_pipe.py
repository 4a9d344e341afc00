"""The provider profile over an endpoint's pipe, beside agent control: `provider.remote.Carriage` (OAP-137).

Answers are found by `in_reply_to`, events by `inference_id`, neither by position. Whoever leaves an inference before
its end, or before it was even answered, has it cancelled, and what still comes of it is passed over. A reader that
falls far behind is let go: nothing else on this pipe may wait for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from sayso.control.client.pipe import BUDGET, EndpointPipe
from sayso.control.client.requests import refusal_of
from sayso.control.protocol.envelope import (
    PROVIDER_PROFILE,
    Envelope,
    ProviderEnvelope,
    convert_provider_envelope,
    write_envelope,
)
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.inference import InferenceCancelRequest
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.recording import TERMINALS
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("ProviderPipe",)

_KEPT = 65_536
_EARLY_INFERENCES, _EARLY_EVENTS = 64, 1024


@dataclass(slots=True)
class _Owed:
    """What came for one request and was not read; `inference_id` once it has one."""

    envelopes: deque[ProviderEnvelope[Wire]] = field(default_factory=deque)
    failure: Exception | None = None
    more: anyio.Event = field(default_factory=anyio.Event)
    inference_id: str | None = None
    is_over: bool = False

    def add(self, envelope: ProviderEnvelope[Wire]) -> None:
        if len(self.envelopes) >= _KEPT:
            self.fail(PeerUnreachable("the endpoint", "this reader fell behind"))
            return
        self.envelopes.append(envelope)
        self.is_over = self.is_over or envelope.type in TERMINALS
        self.wake()

    def fail(self, failure: Exception) -> None:
        self.failure = self.failure or failure
        self.wake()

    def wake(self) -> None:
        more, self.more = self.more, anyio.Event()
        more.set()

    async def take(self) -> ProviderEnvelope[Wire]:
        """Raises what ended it, behind what came before."""
        while not self.envelopes:
            if self.failure is not None:
                raise self.failure
            await self.more.wait()
        return self.envelopes.popleft()


class ProviderPipe:
    """One pipe's provider half."""

    def __init__(self, pipe: EndpointPipe, ids: Ids, *, budget: float = BUDGET) -> None:
        self._pipe = pipe
        self._ids = ids
        self._budget = budget
        self._owed: dict[str, _Owed] = {}
        self._inferences: dict[str, _Owed] = {}
        self._early: dict[str, list[ProviderEnvelope[Wire]]] = {}
        self._left: set[str] = set()
        """Inferences that nobody reads any more, until they end."""
        pipe.halves[PROVIDER_PROFILE] = self

    @property
    def peer(self) -> str:
        """The program as people know it."""
        return self._pipe.peer

    async def aclose(self) -> None:
        """The pipe is its owner's to close."""

    async def ask(self, request: ProviderEnvelope[Any]) -> ProviderEnvelope[Wire]:
        owed = self._owed[request.id] = _Owed()
        try:
            return await self._first(request, owed)
        finally:
            del self._owed[request.id]

    async def stream(self, request: ProviderEnvelope[Any]) -> AsyncGenerator[ProviderEnvelope[Wire]]:
        owed = self._owed[request.id] = _Owed()
        try:
            yield await self._first(request, owed)
            while True:
                yield await owed.take()
        finally:
            del self._owed[request.id]
            self._leave(owed)

    async def _first(self, request: ProviderEnvelope[Any], owed: _Owed) -> ProviderEnvelope[Wire]:
        found: ProviderEnvelope[Wire] | None = None
        with anyio.move_on_after(self._budget):
            await self._pipe.send(write_envelope(request))
            found = await owed.take()
        if found is None:
            raise PeerUnreachable(self.peer, f"it gave no answer within {self._budget:g} s")
        return found

    def _leave(self, owed: _Owed) -> None:
        """Nobody reads on."""
        name = owed.inference_id
        if name is not None:
            self._inferences.pop(name, None)
            if not owed.is_over:
                self._stop(name)

    def _stop(self, name: str) -> None:
        """The inference is to end, and is known until it has."""
        if any(envelope.type in TERMINALS for envelope in self._early.pop(name, ())):
            return
        self._left.add(name)
        cancel = ProviderEnvelope(
            type="inference.cancel.request",
            id=self._ids.new("req"),
            inference_id=name,
            payload=InferenceCancelRequest(),
        )
        self._pipe.send_soon(write_envelope(cancel))

    # --- what comes in, told by the pipe ---

    def take(self, value: Mapping[str, object]) -> bool:
        try:
            envelope = convert_provider_envelope(value)
        except Refused:
            return False
        if envelope.in_reply_to is not UNSET:
            self._answered(envelope.in_reply_to, envelope)
        elif envelope.inference_id is not UNSET:
            self._told(envelope.inference_id, envelope)
        return True

    def refused(self, envelope: Envelope[Wire]) -> None:
        owed = self._owed.get(str(envelope.in_reply_to))
        if owed is not None and isinstance(envelope.payload, ErrorResponse):
            owed.fail(PeerRefused(self.peer, refusal_of(envelope.payload)))

    def fail(self, failure: Exception) -> None:
        # A refusal to the pipe is, to an inference, a transport that failed.
        why = (
            failure if isinstance(failure, PeerUnreachable | PeerRefused) else PeerUnreachable(self.peer, str(failure))
        )
        for owed in (*self._owed.values(), *self._inferences.values()):
            owed.fail(why)

    def _answered(self, request_id: str, envelope: ProviderEnvelope[Wire]) -> None:
        owed = self._owed.get(request_id)
        if owed is None:
            # It came too late, and whoever asked was told so: an inference it names runs for nobody.
            if envelope.type == "inference.create.response" and envelope.inference_id is not UNSET:
                self._stop(envelope.inference_id)
            return
        owed.add(envelope)
        if envelope.type == "inference.create.response" and envelope.inference_id is not UNSET:
            owed.inference_id = envelope.inference_id
            self._inferences[envelope.inference_id] = owed
            for early in self._early.pop(envelope.inference_id, ()):
                owed.add(early)

    def _told(self, name: str, envelope: ProviderEnvelope[Wire]) -> None:
        if name in self._left:
            if envelope.type in TERMINALS:
                self._left.discard(name)
            return
        owed = self._inferences.get(name)
        if owed is None:
            # An event may overtake the answer that names its inference.
            if name in self._early or len(self._early) < _EARLY_INFERENCES:
                self._early.setdefault(name, []).append(envelope)
                del self._early[name][_EARLY_EVENTS:]
            return
        owed.add(envelope)
        if owed.is_over:
            self._inferences.pop(name, None)
