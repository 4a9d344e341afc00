"""How a connection to a named host is made: the one place where a name becomes an address (SCH-324, SCH-325).

A name is resolved once, each address it gave is judged, and the connection goes to a judged address: nothing resolves
the name a second time, so an answer that changes in between changes nothing. Certificates are checked against the name.

Names of a test internet come from local settings only (`resolve`): plain HTTP to exactly that loopback port, while the
URL stays https. The table is fixed when it is made and no URL, header or answer can add to it.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Protocol

import anyio
import httpcore2

from sayso.core.refusal import Refused
from sayso.net.address import public_addresses, read_origin

__all__ = ("Dialer", "Network", "SystemNetwork", "read_resolve")

_MOST_ADDRESSES = 6
_LARGEST_PORT = 65535

Place = tuple[str, int]


class Network(Protocol):
    """What the dialer needs of the machine. Both raise OSError when they fail."""

    async def addresses(self, host: str) -> Sequence[str]:
        """The numeric addresses a name has now."""
        ...

    async def connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        """A TCP connection to a numeric address."""
        ...


class SystemNetwork:
    """The machine's own resolver and sockets."""

    def __init__(self) -> None:
        self._sockets = httpcore2.AnyIOBackend()

    async def addresses(self, host: str) -> Sequence[str]:
        answers = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        # A scoped IPv6 answer keeps its zone (`fe80::1%eth0`), which the address rule refuses.
        return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))

    async def connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        return await self._sockets.connect_tcp(address, port)


def read_resolve(entries: Mapping[str, str]) -> dict[Place, Place]:
    """Reads `{"shop.example" or "shop.example:8443": "127.0.0.1:PORT" or "[::1]:PORT"}` from local settings.

    Refused `resolve_not_allowed`: a target that is not a numeric loopback address with a port, or a name that no URL
    could hold.
    """
    table: dict[Place, Place] = {}
    for name, target in entries.items():
        try:
            asked = read_origin(f"https://{name}")
        except Refused as refused:
            raise _no_entry(name, f"{name} is not a host name: {refused.refusal.message}") from None
        table[asked.host, asked.port] = _read_loopback(name, target)
    return table


def _read_loopback(name: str, target: str) -> Place:
    text, _, port = target.rpartition(":")
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        is_loopback = ip_address(bare).is_loopback and "%" not in bare
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise _no_entry(name, f"{target} is not a loopback address with a port")
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT):
        raise _no_entry(name, f"{target} does not end in a port")
    return bare, int(port)


def _no_entry(name: str, message: str) -> Refused:
    return Refused.because(
        "resolve_not_allowed",
        message,
        place=f"resolve.{name}",
        help='Write it as "shop.example" = "127.0.0.1:8443": only loopback may stand in for a name.',
    )


class Dialer(httpcore2.AsyncNetworkBackend):
    """Connects the HTTP client. Refused `url_not_allowed` when a name leads anywhere but the public internet."""

    def __init__(self, resolve: Mapping[Place, Place], network: Network) -> None:
        self._resolve = dict(resolve)
        self._network = network

    def is_local(self, host: str, port: int) -> bool:
        """Whether local settings lead this host and port to loopback."""
        return (host, port) in self._resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        local = self._resolve.get((host, port))
        if local is not None:
            return _Plain(await self._network.connect(*local))
        addresses = public_addresses(await self._network.addresses(host))[:_MOST_ADDRESSES]
        share = None if timeout is None else timeout / len(addresses)
        return await self._first(addresses, port, share)

    async def _first(self, addresses: Sequence[str], port: int, seconds: float | None) -> httpcore2.AsyncNetworkStream:
        failure: Exception = OSError("no address")
        for address in addresses:
            try:
                with anyio.fail_after(seconds):
                    return await self._network.connect(address, port)
            except (OSError, httpcore2.NetworkError) as error:
                failure = error
        raise failure


class _Plain(httpcore2.AsyncNetworkStream):
    """A loopback connection that stays plain where the client, seeing an https URL, asks for TLS."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return self

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
