"""The only way out: every URL that another party supplied is fetched here (SCH-324, SCH-325).

https only, on listed ports; the name resolved once and every address public (`address`, `dial`); the certificate
checked against the name; no redirect followed, no proxy, no cookie and no credential from the environment; size and
time bounded. What the bytes mean is the caller's.

Time is real time here and never the movable clock's: a peer that stops talking does so in real seconds.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Self

import anyio
import httpcore2
import msgspec

from sayso.core.refusal import Misuse, PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.net.address import HTTPS_PORT, Target, read_url
from sayso.net.content import Gunzip, is_acceptable
from sayso.net.dial import Dialer, Network, SystemNetwork, read_resolve

__all__ = ("JSON", "Fetcher", "Response")

JSON = "application/json"
_NO_ENTRIES: Mapping[str, str] = MappingProxyType({})
_MAX_BYTES = 262_144
_SECONDS = 5.0
_CONNECTIONS = 64
# Shorter than the keep-alive of common servers, so that we do not write into a connection just being closed.
_IDLE_SECONDS = 4.0
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_FAILURES = (
    OSError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    anyio.BrokenResourceError,
)


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer. Header names are lower-case; the body is unpacked, and never in a `repr`."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __repr__(self) -> str:
        return f"Response({self.status}, {len(self.body)} bytes)"

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """The value of a header (lower-case name), repeated lines joined by a comma; None where there is none."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


class Fetcher:
    """Fetches within the rules above, keeping connections open between calls. Close it, or use it in `async with`.

    `resolve` and `ports` come from local settings and are fixed here; `network` and `tls` exist for tests and special
    certificate stores. None of the four can be reached by anything a peer sends.
    """

    def __init__(
        self,
        resolve: Mapping[str, str] = _NO_ENTRIES,
        *,
        ports: Iterable[int] = (HTTPS_PORT,),
        network: Network | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if tls is not None and (tls.verify_mode is not ssl.CERT_REQUIRED or not tls.check_hostname):
            raise Misuse("a fetcher that does not verify certificates would believe anybody")
        self._ports = frozenset(ports)
        self._dialer = Dialer(read_resolve(resolve), network or SystemNetwork())
        self._tls = tls
        self._pool: httpcore2.AsyncConnectionPool | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes idle connections; the fetcher can be used again and opens new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.aclose()

    def admit(self, url: str) -> Target:
        """Judges a URL without reaching for it, for example when a mandate names a status URL.

        Refused `url_not_allowed`. Admitting it now promises nothing: its addresses are judged at each connection.
        """
        target = read_url(url)
        if target.port not in self._ports and not self._dialer.is_local(target.host, target.port):
            raise Refused.because(
                "url_not_allowed", f"Port {target.port} is not among those we connect to", reason="port"
            )
        return target

    async def get(
        self, url: str, *, accept: str = JSON, max_bytes: int = _MAX_BYTES, seconds: float = _SECONDS
    ) -> Response:
        """Fetches a document. A 2xx answer is of the type in `accept`; any other status is the caller's to judge.

        Refused `url_not_allowed`; PeerRefused `redirect_refused`; PeerUnreachable: no answer, a late one, one larger
        than `max_bytes` (unpacked), one of another type, or no HTTP at all.
        """
        return await self.request(
            "GET", url, headers=(("accept", accept),), accept=accept, max_bytes=max_bytes, seconds=seconds
        )

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        accept: str | None = None,
        max_bytes: int = _MAX_BYTES,
        seconds: float = _SECONDS,
    ) -> Response:
        """Sends one request and reads the whole answer; errors as `get`. Nothing is sent twice.

        `seconds` bounds resolving, connecting, sending and the last byte of the answer together. Misuse: a header
        that is ours to set, or one that HTTP cannot carry.
        """
        target = self.admit(url)
        request = _write_request(method, target, headers, body, seconds)
        peer = target.authority
        try:
            with anyio.fail_after(seconds):
                response = await self._exchange(request, peer, max_bytes)
        except httpcore2.LocalProtocolError as error:
            raise Misuse(f"a request that HTTP cannot carry: {error}") from error
        except _FAILURES as error:
            raise PeerUnreachable(peer, _why(error, seconds)) from error
        if accept is not None and response.is_success and not is_acceptable(response.header("content-type"), accept):
            raise PeerUnreachable(peer, f"its answer is not {accept}")
        return response

    async def _exchange(self, request: httpcore2.Request, peer: str, max_bytes: int) -> Response:
        answer = await self._connections().handle_async_request(request)
        try:
            headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in answer.headers)
            if 300 <= answer.status < 400:
                raise _redirect(answer.status, peer)
            head = Response(status=answer.status, headers=headers, body=b"")
            body = await _read_body(answer, head, peer, max_bytes)
        finally:
            # Unread bytes are not drained: closing early ends the connection.
            await answer.aclose()
        return Response(status=answer.status, headers=headers, body=body)

    def _connections(self) -> httpcore2.AsyncConnectionPool:
        # Made at first use: loading the certificate store takes longer than most commands that fetch nothing.
        if self._pool is None:
            self._pool = httpcore2.AsyncConnectionPool(
                # The system's certificate store, or the one the operator named in SSL_CERT_FILE.
                ssl_context=self._tls or httpcore2.default_ssl_context(),
                max_connections=_CONNECTIONS,
                keepalive_expiry=_IDLE_SECONDS,
                network_backend=self._dialer,
            )
        return self._pool


def _write_request(
    method: str, target: Target, headers: Iterable[tuple[str, str]], body: bytes, seconds: float
) -> httpcore2.Request:
    lines = [("host", target.authority), ("accept-encoding", "gzip"), ("user-agent", "sayso")]
    for name, value in headers:
        if name.lower() in _OURS:
            raise Misuse(f"the header {name} is the fetcher's to set")
        lines.append((name, value))
    if body or method in _WITH_BODY:
        lines.append(("content-length", str(len(body))))
    try:
        raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in lines]
    except UnicodeEncodeError:
        raise Misuse("a request header holds something else than ASCII") from None
    # The target goes out byte for byte as it was signed: no URL class of a library gets to rewrite it.
    url = httpcore2.URL(scheme=b"https", host=target.host, port=target.port, target=target.path)
    timeouts = {"connect": seconds, "pool": seconds}
    return httpcore2.Request(method, url, headers=raw, content=body, extensions={"timeout": timeouts})


def _redirect(status: int, peer: str) -> PeerRefused:
    refusal = Refusal(
        code="redirect_refused",
        message=f"It answered with a redirect ({status}), and redirects are not followed",
        help="Use the address it moved to.",
        details={"status": status},
    )
    return PeerRefused(peer, refusal)


async def _read_body(answer: httpcore2.Response, head: Response, peer: str, limit: int) -> bytes:
    too_large = PeerUnreachable(peer, f"its answer is larger than {limit} bytes")
    coding = (head.header("content-encoding") or "identity").lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        raise PeerUnreachable(peer, "its answer is packed in a way we did not ask for")
    length = head.header("content-length") or ""
    if length.isdigit() and int(length) > limit:
        raise too_large
    gunzip = None if coding == "identity" else Gunzip(limit)
    body = bytearray()
    async with contextlib.aclosing(answer.aiter_stream()) as chunks:
        async for chunk in chunks:
            try:
                body += chunk if gunzip is None else gunzip.feed(chunk)
            except Refused as refused:
                raise PeerUnreachable(peer, refused.refusal.message) from None
            if len(body) > limit:
                raise too_large
    if gunzip is not None and body:
        _end(gunzip, peer)
    return bytes(body)


def _end(gunzip: Gunzip, peer: str) -> None:
    try:
        gunzip.close()
    except Refused as refused:
        raise PeerUnreachable(peer, refused.refusal.message) from None


def _why(error: BaseException, seconds: float) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    if isinstance(inner, TimeoutError | httpcore2.TimeoutException):
        return f"no whole answer within {seconds:g} s"
    if isinstance(inner, socket.gaierror):
        return "its name does not resolve"
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not good: {inner.verify_message}"
    if isinstance(inner, ssl.SSLError):
        return "no secure connection could be agreed"
    if isinstance(error, httpcore2.ProtocolError):
        return "what it sent is not whole, valid HTTP"
    return "the connection failed"
