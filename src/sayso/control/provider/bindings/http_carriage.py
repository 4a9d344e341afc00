"""Takes envelopes to a provider service over HTTP and back (OAP-138, OAP-139).

Nothing is sent twice, no redirect is followed, and no proxy, cookie or credential comes from the environment. A service
sends a comment every few seconds, so that a minute of silence is a dead connection.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import anyio
import httpx2

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.bindings.answers import read_answer
from sayso.control.provider.bindings.service_address import ServiceAddress
from sayso.core.frames import SseDecoder
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.direct import direct_client

__all__ = ("HttpCarriage",)

_CONNECT_SECONDS = 15.0
_SILENCE_SECONDS = 60.0
_LARGEST = 16 * 1024 * 1024
_CLOSE_SECONDS = 2.0
_EVENTS, _JSON = "text/event-stream", "application/json"
_HEADERS = {"content-type": _JSON, "accept": f"{_JSON}, {_EVENTS}", "accept-encoding": "identity"}
_FAILURES = (httpx2.TransportError, httpx2.DecodingError, anyio.BrokenResourceError, OSError)


class HttpCarriage:
    """Implements `provider.remote.Carriage`. `tls` is for a special certificate store, and has to verify; `budget` is
    the seconds in which an answer that is no stream has to be whole.
    """

    def __init__(
        self, address: ServiceAddress, *, tls: ssl.SSLContext | None = None, budget: float = _SILENCE_SECONDS
    ) -> None:
        self.peer = address.origin
        self._url = address.url
        self._tls = tls
        self._budget = budget
        self._http: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Closes connections; the carriage can be used again."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def ask(self, request: ProviderEnvelope[Any]) -> ProviderEnvelope[Wire]:
        with self._failing(), anyio.fail_after(self._budget):
            response = await self._post(request)
            try:
                data = await _read_whole(response, self.peer)
            finally:
                await _close(response)
        self._verify(response, _JSON)
        return read_answer(data, self.peer)

    async def stream(self, request: ProviderEnvelope[Any]) -> AsyncGenerator[ProviderEnvelope[Wire]]:
        response = await self._post(request)
        try:
            if _media_type(response) == _JSON:  # an immediate refusal
                with self._failing():
                    data = await _read_whole(response, self.peer)
                self._verify(response, _JSON)
                yield read_answer(data, self.peer)
                return
            self._verify(response, _EVENTS)
            decoder, chunks = SseDecoder(_LARGEST), response.aiter_raw()
            while True:
                with self._failing():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                for event in decoder.feed(chunk):
                    yield read_answer(event.data, self.peer)
        finally:
            await _close(response)  # unread, the connection closes with it, and the service lets the inference go

    async def _post(self, request: ProviderEnvelope[Any]) -> httpx2.Response:
        http = self._client()
        with self._failing():
            sent = http.build_request("POST", self._url, content=write_envelope(request), headers=_HEADERS)
            return await http.send(sent, stream=True)

    def _verify(self, response: httpx2.Response, media_type: str) -> None:
        if 300 <= response.status_code < 400:
            raise PeerUnreachable(self.peer, "it answered with a redirect, and redirects are not followed")
        if response.status_code != 200:
            raise PeerUnreachable(self.peer, f"it answered with status {response.status_code}")
        if _media_type(response) != media_type:
            raise PeerUnreachable(self.peer, f"its answer is not {media_type}")

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """The HTTP client's failures in our words: a library's text may quote what it carried."""
        try:
            yield
        except Refused as refused:
            raise PeerUnreachable(self.peer, refused.refusal.message) from None
        except _FAILURES as error:
            raise PeerUnreachable(self.peer, _why(error)) from None

    def _client(self) -> httpx2.AsyncClient:
        # Made at first use: loading the certificate store takes longer than most things that never ask.
        if self._http is None:
            timeout = httpx2.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
            self._http = direct_client(timeout, tls=self._tls)
        return self._http


def _media_type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _close(response: httpx2.Response) -> None:
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
        await response.aclose()


async def _read_whole(response: httpx2.Response, peer: str) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > _LARGEST:
            raise PeerUnreachable(peer, "its answer is larger than allowed")
    return bytes(data)


def _why(error: BaseException) -> str:
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ssl.SSLError):
        inner = inner.__cause__ or inner.__context__
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {inner.verify_message}"
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return "no connection could be made"
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return "it was silent for too long"
    return "the connection broke"
