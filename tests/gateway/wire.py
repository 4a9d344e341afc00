"""Raw HTTP over a socket: what a library would put right or refuse to send goes out as it is written here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ("Got", "call", "echo", "exchange")

Header = tuple[str | bytes, str | bytes]


class Got(NamedTuple):
    """One response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


def echo(text: str = "hi", act: str | None = "echo") -> bytes:
    """The toy door's request for an act."""
    return json.dumps({"act": act, "arguments": {"text": text}}).encode()


async def exchange(url: str, *raw: bytes) -> Got:
    """Sends bytes as they are, each piece on its own, and reads one response to the end of the connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        for piece in raw:
            writer.write(piece)
            await writer.drain()
        head, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = rest + await reader.readexactly(int(headers.get("content-length", "0")))
        return Got(int(first.split(" ")[1]), headers, body)
    finally:
        writer.close()


async def call(
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | Iterable[Header] = (),
    *,
    method: str = "POST",
    target: str = "/",
    chunks: Iterable[bytes] | None = None,
) -> Got:
    """One request with exactly these headers beside Host and the framing; `chunks` sends the body without a length."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"{method} {target} HTTP/1.1".encode(), b"host: 127.0.0.1", *(_line(*pair) for pair in pairs)]
    if chunks is not None:
        head = b"\r\n".join([*lines, b"transfer-encoding: chunked", b"", b""])
        return await exchange(url, head, *(b"%x\r\n%s\r\n" % (len(each), each) for each in chunks), b"0\r\n\r\n")
    if body or method not in ("GET", "HEAD"):
        lines.append(b"content-length: %d" % len(body))
    return await exchange(url, b"\r\n".join([*lines, b"", b""]) + body)


def _line(name: str | bytes, value: str | bytes) -> bytes:
    return b": ".join(each if isinstance(each, bytes) else each.encode() for each in (name, value))
