"""One attempt over HTTP: open, judge the head, hand out the bytes, close for good.

Built on one client an offering: no redirect followed, no proxy, cookie or credential from the environment, and a URL
whose origin is the base URL's or no request at all. Times here are real: a peer is silent in real seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Self

import anyio
import httpx2

from sayso.control.provider.wires.faults import Failure, failure_in, failure_of_status, read_failure, refused_as
from sayso.control.provider.wires.offering import Limits, Offering, origin_of
from sayso.control.provider.wires.retry import read_retry_after
from sayso.core.refusal import Misuse
from sayso.net.direct import direct_client

__all__ = ("Answering", "Client", "Failed", "verify_sendable")

_EVENTS = "text/event-stream"
_FAILURES = (httpx2.TransportError, httpx2.DecodingError, anyio.BrokenResourceError, OSError)
_CLOSE_SECONDS = 2.0
_DRAIN_SECONDS = 0.2
_JUDGE_SECONDS = 10.0
"""How long the body of a refusal may take; what has come by then has to do."""


class Failed(Exception):
    """The attempt failed; never leaves the driver."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


def verify_sendable(secret: str) -> str:
    """The credential, which a store may have held as anything. Raises `Failed` `credential_rejected`."""
    if not (secret.isascii() and secret.isprintable()) or secret != secret.strip():
        raise Failed(Failure("credential_rejected", "the credential holds characters that no header can"))
    return secret


class Answering:
    """A stream that has begun. Close it, read to the end or not: unread, its connection is closed with it. One that is
    whole is given a moment to end, so that its connection can serve the next request.
    """

    def __init__(self, response: httpx2.Response, limits: Limits) -> None:
        self._response = response
        self._limits = limits
        self._chunks = response.aiter_bytes()
        self._size = 0
        self.is_whole = False
        """The vendor has said its last word; what is left is the end of the HTTP body."""

    async def read(self) -> bytes | None:
        """The next bytes, None at the end. Raises `Failed`."""
        try:
            chunk = await anext(self._chunks, None)
        except _FAILURES as error:
            raise Failed(Failure("provider_unavailable", _why(error), reason="no_terminal")) from None
        self._size += len(chunk or b"")
        if self._size > self._limits.answer_bytes:
            raise Failed(Failure("endpoint_error", "its answer is larger than allowed", reason="too_large"))
        return chunk

    async def close(self) -> None:
        """Also for a caller that is being cancelled."""
        if self.is_whole:
            self.is_whole = False
            with anyio.move_on_after(_DRAIN_SECONDS, shield=True), contextlib.suppress(Failed):
                while await self.read() is not None:
                    pass
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await self._response.aclose()


class Client:
    """Opens streams to one offering's origin."""

    def __init__(self, offering: Offering) -> None:
        limits = offering.limits
        self._offering = offering
        self._http: httpx2.AsyncClient | None = None
        self._timeout = httpx2.Timeout(
            connect=limits.connect_seconds,
            read=limits.idle_seconds,
            write=limits.idle_seconds,
            pool=limits.connect_seconds,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes idle connections; the client can be used again."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def post(self, path: str, headers: list[tuple[str, str]], body: bytes, now: datetime) -> Answering:
        """Sends the request once. Raises `Failed`: not connected, an answer that is no success, one that is no stream.
        Misuse: a URL that would leave the base URL's origin (OAP-154).
        """
        url = self._offering.base_url.rstrip("/") + path
        if origin_of(url) != origin_of(self._offering.base_url):
            raise Misuse("a request never leaves the origin of its base URL")
        http = self._client()
        request = http.build_request("POST", url, headers=headers, content=body)
        try:
            response = await http.send(request, stream=True)
        except _FAILURES as error:
            reason = "not_connected" if _is_unsent(error) else None
            raise Failed(Failure("provider_unavailable", _why(error), reason=reason)) from None
        if response.status_code == 200 and _is_stream(response.headers):
            return Answering(response, self._offering.limits)
        raise Failed(await self._judge(response, now))

    async def _judge(self, response: httpx2.Response, now: datetime) -> Failure:
        body = b""
        try:
            with anyio.move_on_after(_JUDGE_SECONDS):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > self._offering.limits.error_bytes:
                        break
        except _FAILURES:
            pass  # the status alone has to do
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                await response.aclose()
        if response.status_code != 200:
            return failure_of_status(response.status_code, body, read_retry_after(response.headers, now))
        error = read_failure(body)
        if error is not None:
            return refused_as(failure_in(error))
        return Failure("endpoint_error", "it answered with something else than an event stream", "not_a_stream", 200)

    def _client(self) -> httpx2.AsyncClient:
        # Made at first use: loading the certificate store takes longer than describing an offering.
        if self._http is None:
            self._http = direct_client(self._timeout)
            self._http.headers.clear()
        return self._http


def _is_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == _EVENTS


def _is_unsent(error: BaseException) -> bool:
    return isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)


def _why(error: BaseException) -> str:
    """In our words: a library's text may quote a URL or a header."""
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return "no connection could be made"
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return "it was silent for too long"
    if isinstance(error, httpx2.ProtocolError | httpx2.DecodingError):
        return "what it sent is not whole, valid HTTP"
    return "the connection broke"
