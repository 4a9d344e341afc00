"""Drives one inference over one wire: asks, repeats what is worth repeating, reads, writes, stops (OAP-131..133).

The order is: everything that can be decided is refused at create; then accepted and started, because an attempt may
wait; then attempts until one streams; then the vendor's events as parts; then exactly one terminal. A cancel is heard
wherever the inference waits (for a connection, for a repetition, for bytes), closes the connection and settles as
`aborted`. Nothing is repeated once a byte of the stream was read: the caller has heard parts by then.

What leaves holds no credential: errors are written here and not quoted from the HTTP library, a vendor's words are cut
and searched for the secret, and logs name codes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Self

import structlog

from sayso.control.loop.history import calls_in
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
    ProviderErrorCode,
)
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.parts import PartEvent
from sayso.control.provider.stopping import Stoppable, Stopped
from sayso.control.provider.wires.asking import Ask, object_to, object_to_headers, read_ask
from sayso.control.provider.wires.connection import Answering, Client, Failed, verify_sendable
from sayso.control.provider.wires.faults import Failure, refused_as
from sayso.control.provider.wires.offering import Offering, verify_offering
from sayso.control.provider.wires.older import other_way
from sayso.control.provider.wires.pen import StreamPen
from sayso.control.provider.wires.reducing import NameCall, Reducer
from sayso.control.provider.wires.retry import next_wait
from sayso.control.provider.wires.waiting import Waiting
from sayso.control.provider.wires.wire import WIRES, write_credential
from sayso.control.provider.writer import write_cancel_response
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.frames import SseDecoder
from sayso.core.ids import Ids
from sayso.core.refusal import Corrupt, PeerUnreachable, Refused

__all__ = ("WireProvider",)

Refusing = tuple[ProviderErrorCode, str]

_AGENT = "sayso"
_UNTAKEN = (401, 403)
_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class _Live(Stoppable):
    """One inference under way, and the secret it last used."""

    inference_id: str
    ask: Ask
    body: bytes
    headers: list[tuple[str, str]]
    secret: str | None = field(default=None, repr=False)


class WireProvider:
    """Implements `provider.contract.Provider` over one offering."""

    def __init__(
        self, offering: Offering, *, clock: Clock, ids: Ids, tell: Callable[[Waiting], None] | None = None
    ) -> None:
        verify_offering(offering)
        if (objection := object_to_headers(offering.headers)) is not None:
            code, _, message = objection[1].partition(": ")
            raise Refused.because(code, message, place="$.headers")
        self._offering = offering
        self._kind = WIRES[offering.wire]
        self._clock = clock
        self._ids = ids
        self._tell = tell
        self._client = Client(offering)
        self._live: dict[str, _Live] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stops what is under way and closes connections."""
        for live in list(self._live.values()):
            live.stop()
        await self._client.close()

    @property
    def id(self) -> str:
        """The provider's name in settings and catalog."""
        return self._offering.id

    @property
    def offering(self) -> Offering:
        """What it was opened with."""
        return self._offering

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """One inference. Refused at create: `model_not_found`, `invalid_request`, `unsupported_feature`,
        `credential_missing`; everything later is `inference.failed`.
        """
        pen = StreamPen(request, self._ids, self.id)
        prepared = await self._prepare(request.payload, pen.inference_id)
        if isinstance(prepared, tuple):
            yield pen.refuse(*prepared)
            return
        live = self._live[pen.inference_id] = prepared
        reducer = self._kind.reducer(self._call_names(prepared.ask))
        answering: Answering | None = None
        try:
            yield pen.accept()
            yield pen.start()
            answering = await self._answer(live)
            decoder = SseDecoder()
            while not reducer.is_over and (chunk := await live.wait(answering.read())) is not None:
                for event in self._reduce(decoder, reducer, chunk):
                    yield pen.write(event)
                    if live.is_stopped:
                        raise Stopped
            concluded = reducer.conclude()
            for event in concluded.events:
                yield pen.write(event)
            self._live.pop(pen.inference_id, None)
            answering.is_whole = True
            yield pen.complete(concluded.stop_reason, reducer.usage)
        except Stopped:
            await self._release(pen.inference_id, answering)
            yield pen.complete("aborted", reducer.usage)
        except (Failed, Refused) as error:
            await self._release(pen.inference_id, answering)
            yield self._fail(pen, live, reducer, error)
        finally:
            await self._release(pen.inference_id, answering)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        """Accepted while the inference is under way; it then settles as `aborted` and its connection is closed."""
        live = self._live.get(request.inference_id or "")
        if live is not None:
            live.stop()
        return write_cancel_response(request, accepted=live is not None, ids=self._ids)

    # --- before the first byte ---------------------------------------------------------------------------------------

    async def _prepare(self, payload: InferenceCreateRequest, inference_id: str) -> _Live | Refusing:
        """The inference ready to be asked for, or why it is refused."""
        objection = object_to(payload, self._offering)
        if objection is not None:
            return objection
        ask = read_ask(payload, self.id)
        impossible = self._kind.object_to(ask, self._offering)
        if impossible is not None:
            return "unsupported_feature", impossible
        try:
            secret = await self._ask_credential()
        except Failed as failed:
            return failed.failure.code, failed.failure.message
        body = strictjson.encode(self._kind.body(ask, self._offering))
        return _Live(inference_id=inference_id, ask=ask, body=body, headers=self._headers(payload), secret=secret)

    def _call_names(self, ask: Ask) -> NameCall:
        """The vendor's ids, but for one that names another call of this conversation already: some count from zero in
        every answer, and what has one id is one call to whoever reads the history.
        """
        used = {part.tool_call_id for message in ask.messages for part in calls_in(message)}
        return lambda given: given if given and given not in used else self._ids.new("call")

    async def _ask_credential(self) -> str | None:
        """Raises `Failed`: `credential_missing`, `credential_rejected`, and whatever the credential's keeper says."""
        if self._offering.credential is None:
            return None
        secret = await self._kept(self._offering.credential())
        if not secret:
            raise Failed(Failure("credential_missing", f"there is no credential for {self.id}"))
        return verify_sendable(secret)

    async def _kept(self, asked: Awaitable[str | None]) -> str | None:
        """What the credential's keeper answers; its failures as the inference's, raised as `Failed`."""
        try:
            return await asked
        except Refused as refused:
            raise Failed(refused_as(refused)) from None
        except PeerUnreachable:
            raise Failed(Failure("provider_unavailable", "the sign-in server gave no fresh token")) from None
        except Corrupt:
            raise Failed(Failure("credential_missing", "the stored credentials cannot be read")) from None

    async def _renew(self, live: _Live, failed: Failed) -> str | None:
        """Another credential in place of one that was not taken; None: there is none, and the failure stands. A
        sign-in server that does not answer leaves it standing too.
        """
        if self._offering.renew is None or live.secret is None or failed.failure.status not in _UNTAKEN:
            return None
        try:
            secret = await live.wait(self._kept(self._offering.renew(live.secret)))
        except Failed as unable:
            if unable.failure.code != "provider_unavailable":
                raise
            return None
        return verify_sendable(secret) if secret and secret != live.secret else None

    def _headers(self, payload: InferenceCreateRequest) -> list[tuple[str, str]]:
        """All but the credential's; of two of one name the later counts."""
        ours = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity"}
        named = {"user-agent": _AGENT, **ours, **dict(self._kind.headers)}
        for headers in (self._offering.headers, payload.headers or {}):
            named.update({name.lower(): value for name, value in headers.items()})
        return list(named.items())

    async def _answer(self, live: _Live) -> Answering:
        """A stream, asked for in the newest way or in the one before. Raises `Failed`, `Stopped`."""
        try:
            return await self._attempt(live)
        except Failed as failed:
            other = other_way(self._offering, live.ask, failed.failure)
            if other is None:
                raise
            first, live.body = failed, strictjson.encode(self._kind.body(live.ask, other))
        try:
            answering = await self._attempt(live)
        except Failed as again:
            raise first if again.failure.status == first.failure.status else again from None
        self._offering = other
        return answering

    async def _attempt(self, live: _Live) -> Answering:
        """The first attempt that streams. Raises `Failed` with the last failure, `Stopped`. A token that is not taken
        is renewed once, and the request sent again, beside the attempts that are counted.
        """
        waited, attempt, is_renewed = 0.0, 1, False
        path = self._kind.path(self._offering)
        while True:
            try:
                return await live.wait(self._client.post(path, self._signed(live), live.body, self._clock.now()))
            except Failed as failed:
                secret = None if is_renewed else await self._renew(live, failed)
                if secret is not None:
                    live.secret, is_renewed = secret, True
                    continue
                wait = next_wait(failed.failure, attempt, waited, self._offering.limits)
                if wait is None:
                    raise
                await self._wait(live, failed.failure, attempt, wait)
            waited, attempt = waited + wait, attempt + 1
            live.secret = await live.wait(self._ask_credential())

    async def _wait(self, live: _Live, failure: Failure, attempt: int, seconds: float) -> None:
        until = self._clock.now() + timedelta(seconds=seconds)
        attempts = self._offering.limits.attempts
        _log.info("wire_waits", provider=self.id, code=failure.code, attempt=attempt, seconds=seconds)
        if self._tell is not None:
            told = Waiting(live.inference_id, self.id, attempt, attempts, failure.code, seconds, until, failure.wait)
            self._tell(told)
        await live.wait(self._clock.sleep_until(until))

    def _signed(self, live: _Live) -> list[tuple[str, str]]:
        if live.secret is None:
            return live.headers
        signed = write_credential(self._offering.auth or self._kind.auth, live.secret)
        return [*live.headers, signed, *self._kind.account(live.secret)]

    # --- after it ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _reduce(decoder: SseDecoder, reducer: Reducer, chunk: bytes) -> Iterator[PartEvent]:
        """Nothing behind the vendor's last word counts, wherever the network cut it."""
        for event in decoder.feed(chunk):
            if reducer.is_over:
                return
            yield from reducer.feed(event)

    def _fail(self, pen: StreamPen, live: _Live, reducer: Reducer, error: Failed | Refused) -> ProviderEnvelope[Wire]:
        failure = error.failure if isinstance(error, Failed) else refused_as(error)
        _log.info("wire_failed", provider=self.id, code=failure.code, reason=failure.reason, status=failure.status)
        return pen.fail_with(failure.error(live.secret), reducer.usage)

    async def _release(self, inference_id: str, answering: Answering | None) -> None:
        """Once and again: the inference is no longer under way, its connection no longer open."""
        self._live.pop(inference_id, None)
        if answering is not None:
            await answering.close()
