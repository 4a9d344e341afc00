"""One exchange with a hub over HTTP: the request's bytes out, the answer's envelope in, and every failure typed.

Each envelope that comes in has its shape, or the hub is in breach. Whoever wants more asks for `judged`: then each also
has to come when it may, by the same law the hub obeys, as far as a client's partial view shows it (OAP-205).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, cast
from urllib.parse import quote

import httpx2
import msgspec

from sayso.control.client.errors import ServerError
from sayso.control.client.requests import answered, refusal_of
from sayso.control.protocol.conversation import Conversation, Illegal
from sayso.control.protocol.envelope import Envelope, read_envelope, write_envelope
from sayso.control.protocol.machine import observe
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable, Refusal, Refused

__all__ = ("HubWire", "Record", "session_path")

_ANSWER_SECONDS = 60.0
_SILENCE_SECONDS = 60.0
"""The hub sends a comment every 15 seconds; a minute without a byte is a dead connection."""
_LARGEST = 16 * 1024 * 1024
"""Bytes of a request that a hub takes; it closes on a longer one, perhaps before its refusal could be read."""
_JSON = {"content-type": "application/json"}
_MINTED = "oap-request-"

Record = Callable[[Envelope[Wire]], None]
T = TypeVar("T", bound=Wire)
S = TypeVar("S", bound=msgspec.Struct)


class HubWire:
    """The connections to one hub. Use as `async with`."""

    def __init__(
        self, url: str, *, record: Record | None, is_judged: bool, transport: httpx2.AsyncBaseTransport | None
    ) -> None:
        self.peer = url
        self._record = record or (lambda _envelope: None)
        self._seen = Conversation(is_partial=True) if is_judged else None
        timeout = httpx2.Timeout(_ANSWER_SECONDS, read=_SILENCE_SECONDS)
        self.http = httpx2.AsyncClient(base_url=url, trust_env=False, timeout=timeout, transport=transport)

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.__aexit__(kind, error, trace)

    async def post(self, path: str, request: Envelope[Wire], payload: type[T]) -> Envelope[T]:
        """The answer to a request. Raises `Refused` `request_too_large` before anything is sent."""
        content = write_envelope(request)
        if len(content) > _LARGEST:
            raise Refused.because("request_too_large", f"the request has {len(content)} bytes, over {_LARGEST}")
        self._note(request)
        response = await self._send("POST", path, content=content, headers=_JSON)
        envelope = self.envelope(response.content)
        if envelope.in_reply_to != request.id:
            # What the hub could not read, or judged by its head alone, it refuses under an id of its own.
            is_minted = str(envelope.in_reply_to).startswith(_MINTED)
            if isinstance(envelope.payload, ErrorResponse) and is_minted:
                raise ServerError(self.peer, refusal_of(envelope.payload))
            raise self.violation("the answer names another request")
        return _narrowed(envelope, payload, self.peer)

    async def ask(self, path: str, payload: type[T], params: Mapping[str, str | Sequence[str]] = {}) -> Envelope[T]:
        """The answer to a question that has no envelope."""
        response = await self._send("GET", path, params=params)
        return _narrowed(self.envelope(response.content), payload, self.peer)

    async def list_all(self, path: str, type_: type[S], params: Mapping[str, str | Sequence[str]] = {}) -> S:
        """A listing, which is plain JSON; a member this version does not know is passed over."""
        response = await self._send("GET", path, params=params)
        if response.status_code != 200:
            raise self.refused(response.content)
        try:
            return strictjson.decode(response.content, type_)
        except Refused as refused:
            raise ServerError(self.peer, refused.refusal) from None

    async def close_session(self, path: str) -> None:
        """A close has no envelope and answers nothing."""
        response = await self._send("POST", path)
        if response.status_code != 204:
            raise self.refused(response.content)

    def envelope(self, data: bytes) -> Envelope[Wire]:
        """What came in, once it has its shape."""
        try:
            envelope = read_envelope(data)
        except Refused as refused:
            raise ServerError(self.peer, refused.refusal) from None
        self._note(envelope)
        return envelope

    def refused(self, body: bytes) -> ServerError:
        """The hub's no, out of an answer's body."""
        return ServerError(self.peer, refusal_of(answered(self.envelope(body), ErrorResponse, self.peer)))

    def violation(self, message: str) -> ServerError:
        """The hub broke the protocol."""
        return ServerError(self.peer, Refusal(code="protocol_violation", message=message))

    def _note(self, envelope: Envelope[Wire]) -> None:
        self._record(envelope)
        if self._seen is None or envelope.id in self._seen.ids:  # two streams of one session bring an event twice
            return
        try:
            self._seen = observe(self._seen, envelope)
        except Illegal as illegal:
            raise self.violation(illegal.refusal.message) from None

    async def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        params: Mapping[str, str | Sequence[str]] = {},
    ) -> httpx2.Response:
        try:
            return await self.http.request(method, path, content=content, headers=headers, params=params or None)
        except (httpx2.TransportError, OSError) as error:
            raise PeerUnreachable(self.peer, type(error).__name__) from None


def session_path(session_id: str) -> str:
    """Where a session stands."""
    return f"/sessions/{quote(session_id, safe='')}"


def _narrowed(envelope: Envelope[Wire], payload: type[T], peer: str) -> Envelope[T]:
    answered(envelope, payload, peer)
    return cast("Envelope[T]", envelope)
