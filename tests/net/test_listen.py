"""A server as a block: bound when it begins, gone when it ends, whatever its connections are doing."""

from __future__ import annotations

import asyncio
import re
import signal

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from sayso.core.refusal import Refused
from sayso.net.edge import read_body
from sayso.net.listen import Address, serving
from tests.net.servers import ask

pytestmark = pytest.mark.anyio


@pytest.fixture(
    params=[pytest.param({"use_uvloop": False}, id="asyncio"), pytest.param({"use_uvloop": True}, id="uvloop")]
)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, object]:
    return "asyncio", request.param


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "http"
    await read_body(receive, 1_000_000)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": scope["raw_path"][:1] + b"!"})


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def test_an_answer_says_nothing_of_the_server() -> None:
    """No server name to look up holes for, no date to contradict the movable clock."""
    async with serving(hello) as address:
        assert await ask(address, GET) == b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n/!"
        assert str(address) == f"127.0.0.1:{address.port}"
        assert address.url == f"http://127.0.0.1:{address.port}"


async def test_a_port_in_use_is_a_refusal_that_names_it() -> None:
    """The sentence says which port and what to do; nothing was started."""
    async with serving(hello) as address:
        with pytest.raises(Refused) as caught:
            async with serving(hello, port=address.port):
                pytest.fail("two servers on one port")
    assert caught.value.refusal.code == "port_in_use"
    assert re.search(rf"\b{address.port}\b.*--port-base", str(caught.value))


async def test_an_address_that_is_not_ours_is_a_refusal() -> None:
    """Not every failure to bind is a taken port."""
    with pytest.raises(Refused) as caught:
        async with serving(hello, host="127.0.0.1.invalid"):
            pytest.fail("served nowhere")
    assert caught.value.refusal.code == "address_not_ours"


async def test_the_port_is_free_again_after_the_block() -> None:
    """A restart on the same port works at once, also while old connections linger in the kernel."""
    async with serving(hello) as first:
        await ask(first, GET)
    async with serving(hello, port=first.port) as second:
        assert second == first


async def test_signals_stay_with_the_command() -> None:
    """Ctrl-C belongs to whoever runs the loop: no handler is replaced while a server runs, nor after."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with serving(hello):
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_a_failure_inside_the_block_comes_out_as_it_is() -> None:
    """Not wrapped in a group: callers catch Refused by its type."""
    with pytest.raises(ZeroDivisionError):
        async with serving(hello):
            raise ZeroDivisionError


async def test_a_running_answer_is_finished_before_the_end() -> None:
    """The block ends while an answer is being made: its client still reads it whole."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await go_on.wait()
        await hello(scope, receive, send)

    async with anyio.create_task_group() as group:
        replies: list[bytes] = []

        async def client(address: Address) -> None:
            replies.append(await ask(address, GET))

        async with serving(slow, grace=30) as address:
            group.start_soon(client, address)
            await begun.wait()
            asyncio.get_running_loop().call_soon(go_on.set)
    assert replies[0].endswith(b"/!")


async def test_an_answer_without_end_is_cut_after_the_grace(caplog: pytest.LogCaptureFixture) -> None:
    """The application hears that its client has gone, before anything is cancelled, and ends without an error."""
    heard: list[str] = []

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        while (message := await receive())["type"] != "http.disconnect":
            pass
        heard.append(message["type"])

    async with serving(endless, grace=0.05) as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(GET.replace(b"Connection: close\r\n", b""))
        await reader.readuntil(b"first")
    assert heard == ["http.disconnect"]
    writer.close()
    assert caplog.records == []


async def test_an_idle_connection_does_not_hold_the_end() -> None:
    """A kept-alive client is simply let go; the grace is for answers."""
    async with serving(hello, grace=3600) as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(GET.replace(b"Connection: close\r\n", b""))
        await reader.readuntil(b"/!")
    assert await reader.read() == b""
    writer.close()


async def test_a_head_that_never_ends_is_cut() -> None:
    """A client that sends header bytes for ever is answered and let go instead of being kept in memory."""
    async with serving(hello) as address:
        _, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        with pytest.raises(ConnectionError):  # noqa: PT012 - either step may be the one that notices
            for _ in range(256):
                writer.write(b"x" * 65_536)
                await writer.drain()
        writer.close()
        assert await ask(address, GET) != b""


async def test_a_long_body_is_no_long_head() -> None:
    """Only what comes before the body counts."""
    body = b"x" * 500_000
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 500000\r\n\r\n"
    async with serving(hello) as address:
        assert (await ask(address, head, body[:1000], body[1000:])).endswith(b"/!")


async def test_a_forwarding_header_is_not_believed() -> None:
    """Who is calling is the socket's word."""
    seen: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["client"][0], scope["scheme"]))
        await hello(scope, receive, send)

    async with serving(app) as address:
        forged = b"X-Forwarded-For: 8.8.8.8\r\nX-Forwarded-Proto: https\r\nConnection:"
        await ask(address, GET.replace(b"Connection:", forged))
    assert seen == [("127.0.0.1", "http")]
