"""The only way out, against real peers: real TLS, real sockets, answers that lie, drip, swell and redirect."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from pathlib import Path

import anyio
import pytest

from sayso.core.refusal import Misuse, PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher, Response
from tests.net.servers import Authority, MappedNetwork, Peer, answer, answering, peer

pytestmark = pytest.mark.anyio

PUBLIC = "93.184.216.34"
OTHER = "93.184.216.35"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.mark.req("SCH-324", "SCH-325")
async def test_the_checked_address_is_dialled_and_the_name_is_verified(authority: Authority) -> None:
    """The connection goes to the address that was judged; SNI, certificate and Host are the name's."""
    authority.names_asked.clear()
    async with peer(answering(answer(b'{"a":1}')), authority.server("shop.example")) as shop:
        network = MappedNetwork({"shop.example": [[PUBLIC]]}, {PUBLIC: shop.port})
        async with Fetcher(network=network, tls=authority.trust) as fetcher:
            response = await fetcher.get("https://shop.example/.well-known/scheduling.json?a=b%20c")
    assert response == Response(
        status=200, headers=(("content-type", "application/json"), ("content-length", "7")), body=b'{"a":1}'
    )
    assert (network.asked, network.dialled) == (["shop.example"], [(PUBLIC, 443)])
    assert authority.names_asked == ["shop.example"]
    assert shop.last_head == [
        b"GET /.well-known/scheduling.json?a=b%20c HTTP/1.1",
        b"host: shop.example",
        b"accept-encoding: gzip",
        b"user-agent: sayso",
        b"accept: application/json",
    ]


@pytest.mark.req("SCH-324", "SCH-325")
@pytest.mark.parametrize("answers", [[PUBLIC, "127.0.0.1"], ["::1", PUBLIC], ["10.1.2.3"], ["64:ff9b::7f00:1", PUBLIC]])
async def test_a_name_with_one_private_address_is_not_dialled(answers: list[str]) -> None:
    """One private answer spoils the public ones: nothing is dialled at all."""
    network = MappedNetwork({"shop.example": [answers]}, {})
    async with Fetcher(network=network) as fetcher:
        with pytest.raises(Refused) as caught:
            await fetcher.get("https://shop.example/")
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("url_not_allowed", "address_not_public")
    assert network.dialled == []


@pytest.mark.req("SCH-324")
async def test_a_second_answer_of_the_resolver_changes_nothing(authority: Authority) -> None:
    """Rebinding: the name turns to loopback after the check; the open connection stays, a new one is judged anew."""
    async with peer(answering(answer(b"1"), answer(b"2")), authority.server("shop.example")) as shop:
        network = MappedNetwork(
            {"shop.example": [[PUBLIC], ["127.0.0.1"]]}, {PUBLIC: shop.port, "127.0.0.1": shop.port}
        )
        async with Fetcher(network=network, tls=authority.trust) as fetcher:
            bodies = [(await fetcher.get("https://shop.example/")).body for _ in range(2)]
            assert (bodies, network.asked, network.dialled) == ([b"1", b"2"], ["shop.example"], [(PUBLIC, 443)])
            await fetcher.aclose()
            with pytest.raises(Refused):
                await fetcher.get("https://shop.example/")
    assert network.dialled == [(PUBLIC, 443)]


@pytest.mark.req("SCH-325")
async def test_a_certificate_for_another_name_ends_it_before_a_byte_is_sent(authority: Authority) -> None:
    """The certificate is checked against the name in the URL, not against the address."""
    async with peer(answering(answer()), authority.server("other.example")) as shop:
        network = MappedNetwork({"shop.example": [[PUBLIC]]}, {PUBLIC: shop.port})
        async with Fetcher(network=network, tls=authority.trust) as fetcher:
            with pytest.raises(PeerUnreachable, match="certificate"):
                await fetcher.get("https://shop.example/")
        assert shop.requests == []


async def test_an_unknown_authority_is_not_believed(authority: Authority) -> None:
    """Without the test's authority in the store its certificates are worth nothing."""
    async with peer(answering(answer()), authority.server("shop.example")) as shop:
        network = MappedNetwork({"shop.example": [[PUBLIC]]}, {PUBLIC: shop.port})
        async with Fetcher(network=network) as fetcher:
            with pytest.raises(PeerUnreachable, match="certificate"):
                await fetcher.get("https://shop.example/")


async def test_two_names_at_one_address_never_share_a_connection(authority: Authority) -> None:
    """A connection verified for one name carries no request for another, though the address is the same."""
    async with peer(answering(answer()), authority.server("shop.example")) as shop:
        network = MappedNetwork({"shop.example": [[PUBLIC]], "bank.example": [[PUBLIC]]}, {PUBLIC: shop.port})
        async with Fetcher(network=network, tls=authority.trust) as fetcher:
            await fetcher.get("https://shop.example/")
            with pytest.raises(PeerUnreachable, match="certificate"):
                await fetcher.get("https://bank.example/")
        assert [line for line in shop.requests if b"bank" in line] == []


async def test_the_next_public_address_is_tried_when_one_does_not_answer(authority: Authority) -> None:
    """A dead address among several is not the end; all of them were judged before."""
    async with peer(answering(answer()), authority.server("shop.example")) as shop:
        network = MappedNetwork({"shop.example": [[OTHER, PUBLIC]]}, {PUBLIC: shop.port})
        async with Fetcher(network=network, tls=authority.trust) as fetcher:
            await fetcher.get("https://shop.example/")
    assert network.dialled == [(OTHER, 443), (PUBLIC, 443)]


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "304 Not Modified", "307 T", "308 P"])
async def test_a_redirect_is_refused_and_not_followed(status: str) -> None:
    """Wherever it points: no redirect is followed, and the caller hears that it was one."""
    async with (
        peer(answering(answer(b"", status=status, headers=["Location: https://shop.example/x"]))) as shop,
        Fetcher({"shop.example": shop.place}) as fetcher,
    ):
        with pytest.raises(PeerRefused) as caught:
            await fetcher.get("https://shop.example/")
    assert (caught.value.peer, caught.value.refusal.code) == ("shop.example", "redirect_refused")
    assert len(shop.requests) == 1


@pytest.mark.req("SCH-055", "SCH-325")
async def test_a_local_entry_leads_an_https_url_to_plain_loopback_and_keeps_the_connection() -> None:
    """The URL stays https and the Host the name's; several calls share one connection."""
    async with (
        peer(answering(answer())) as shop,
        Fetcher({"shop.example": shop.place, "other.example:8443": shop.place}) as fetcher,
    ):
        for _ in range(3):
            await fetcher.get("https://shop.example/a")
        assert (shop.connections, shop.last_head[1]) == (1, b"host: shop.example")
        await fetcher.get("https://other.example:8443/b")
        assert (shop.connections, shop.last_head[1]) == (2, b"host: other.example:8443")


@pytest.mark.req("SCH-325")
async def test_only_the_entry_itself_is_led_to_loopback() -> None:
    """Another name, another port or a subdomain gets no plain loopback, whatever its resolver answers."""
    async with peer(answering(answer())) as shop:
        names = {name: [["127.0.0.1"]] for name in ("a.shop.example", "other.example")}
        network = MappedNetwork(names, {"127.0.0.1": shop.port})
        async with Fetcher({"shop.example": shop.place}, network=network) as fetcher:
            for url, reason in [
                ("https://a.shop.example/", "address_not_public"),
                ("https://other.example/", "address_not_public"),
                ("https://shop.example:8443/", "port"),
                (f"https://other.example:{shop.port}/", "port"),
                (f"http://127.0.0.1:{shop.port}/", "scheme"),
                (f"https://127.0.0.1:{shop.port}/", "ip_literal"),
            ]:
                with pytest.raises(Refused) as caught:
                    await fetcher.get(url)
                assert caught.value.refusal.reason == reason
    assert shop.connections == 0


async def _endless(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await it.read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"400\r\n" + b"a" * 0x400 + b"\r\n")
        await writer.drain()


async def _drip(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await it.read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(100):
        writer.write(b"1\r\n1\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _silent(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.req("SCH-325")
async def test_a_body_without_a_length_is_cut_at_the_bound() -> None:
    """A chunked body that never ends is given up as soon as it is over the bound, and so is its connection."""
    async with peer(_endless) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        with pytest.raises(PeerUnreachable, match="larger than 5000 bytes"):
            await fetcher.get("https://shop.example/", max_bytes=5000)
        await shop.closed.wait()


@pytest.mark.req("SCH-325")
async def test_a_length_over_the_bound_is_refused_and_one_at_the_bound_is_not() -> None:
    """The bound is the largest size that passes."""
    async with peer(answering(answer(b"a" * 100))) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        assert (await fetcher.get("https://shop.example/", max_bytes=100)).body == b"a" * 100
        with pytest.raises(PeerUnreachable, match="larger than 99 bytes"):
            await fetcher.get("https://shop.example/", max_bytes=99)


@pytest.mark.req("SCH-325")
async def test_the_bound_counts_unpacked_bytes() -> None:
    """A small gzip body that unpacks to much is refused like a large one; an honest one is unpacked."""
    headers = ["Content-Type: application/json", "Content-Encoding: gzip"]
    bomb, honest = gzip.compress(b"a" * 10_000_000), gzip.compress(b"a" * 100)
    async with (
        peer(answering(answer(honest, headers=headers), answer(bomb, headers=headers))) as shop,
        Fetcher({"shop.example": shop.place}) as fetcher,
    ):
        assert (await fetcher.get("https://shop.example/", max_bytes=100)).body == b"a" * 100
        with pytest.raises(PeerUnreachable, match="unpacks to more than 100000 bytes"):
            await fetcher.get("https://shop.example/", max_bytes=100_000)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"{}", mtime=0)[:-1]),
        ("gzip", gzip.compress(b"{}", mtime=0) + b"x"),
        ("gzip", b"{}"),
        ("br", b"{}"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0)),
    ],
)
async def test_a_body_that_does_not_unpack_is_no_answer(coding: str, body: bytes) -> None:
    """Damaged, cut, followed by more, or packed in a way nobody asked for."""
    headers = ["Content-Type: application/json", f"Content-Encoding: {coding}"]
    async with peer(answering(answer(body, headers=headers))) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        with pytest.raises(PeerUnreachable):
            await fetcher.get("https://shop.example/")


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize("handle", [_silent, _drip])
async def test_a_peer_that_dawdles_is_given_up(handle: object) -> None:
    """The time bound is for the whole answer: a byte now and then does not extend it."""
    async with peer(handle) as shop, Fetcher({"shop.example": shop.place}) as fetcher:  # type: ignore[arg-type]
        with pytest.raises(PeerUnreachable, match=r"no whole answer within 0\.2 s"):
            await fetcher.get("https://shop.example/", seconds=0.2)
        await shop.closed.wait()


@pytest.mark.req("SCH-325")
async def test_neither_proxy_nor_password_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A proxy variable would send the request past the address check; a .netrc would send a password with it."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine shop.example login owner password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with peer(answering(answer())) as trap, peer(answering(answer())) as shop:
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{trap.place}")
        async with Fetcher({"shop.example": shop.place}) as fetcher:
            await fetcher.get("https://shop.example/")
        assert (trap.connections, shop.connections) == (0, 1)
        assert [line for line in shop.last_head if line.lower().startswith(b"authorization")] == []


async def test_no_cookie_comes_back() -> None:
    """A peer cannot mark us: what it sets in one answer is not in the next request."""
    headers = ["Content-Type: application/json", "Set-Cookie: who=you"]
    async with peer(answering(answer(headers=headers))) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        for _ in range(2):
            await fetcher.get("https://shop.example/")
        assert [line for line in shop.last_head if b"cookie" in line.lower()] == []


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize("kind", ["text/html", "text/json", "application/jsonp", "application/octet-stream", ""])
async def test_a_document_of_another_type_is_no_answer(kind: str) -> None:
    """A login page with status 200 is not a document."""
    headers = [f"Content-Type: {kind}"] if kind else []
    async with peer(answering(answer(headers=headers))) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        with pytest.raises(PeerUnreachable, match="not application/json"):
            await fetcher.get("https://shop.example/")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/ld+json"])
async def test_every_json_type_is_json(kind: str) -> None:
    """Parameters and letter case are of no account."""
    async with (
        peer(answering(answer(headers=[f"Content-Type: {kind}"]))) as shop,
        Fetcher({"shop.example": shop.place}) as fetcher,
    ):
        assert (await fetcher.get("https://shop.example/")).body == b"{}"


async def test_an_error_answer_reaches_the_caller_whole() -> None:
    """Status, headers and body of a refusal are the caller's to read, whatever their type."""
    headers = ["Content-Type: text/plain", "Retry-After: 3", "X-Two: a", "X-Two: b"]
    async with (
        peer(answering(answer(b"slow down", status="429 Too Many", headers=headers))) as shop,
        Fetcher({"shop.example": shop.place}) as fetcher,
    ):
        response = await fetcher.get("https://shop.example/")
    seen = (
        response.status,
        response.is_success,
        response.header("retry-after"),
        response.header("x-two"),
        response.body,
    )
    assert seen == (429, False, "3", "a, b", b"slow down")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"", "not whole, valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "not whole, valid HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not whole, valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "not whole, valid HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "not whole, valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000, "not whole, valid HTTP"),
    ],
)
async def test_an_answer_that_is_not_whole_is_none(reply: bytes, why: str) -> None:
    """Cut, contradictory, endless or no HTTP: one typed failure, never a half answer."""

    async def handle(it: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await it.read_request(reader)
        writer.write(reply)
        await writer.drain()

    async with peer(handle) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        with pytest.raises(PeerUnreachable, match=why):
            await fetcher.get("https://shop.example/")


async def test_a_closed_port_is_an_unreachable_peer() -> None:
    """Nobody listening is told from a refusal."""
    async with peer(answering(answer())) as shop:
        place = shop.place
    async with Fetcher({"shop.example": place}) as fetcher:
        with pytest.raises(PeerUnreachable, match="the connection failed"):
            await fetcher.get("https://shop.example/")


async def test_a_name_that_does_not_resolve_is_an_unreachable_peer() -> None:
    """Told apart from a connection that failed, so that a person looks for the typing error first."""
    async with Fetcher(network=MappedNetwork({}, {})) as fetcher:
        with pytest.raises(PeerUnreachable, match="does not resolve"):
            await fetcher.get("https://shop.example/")


def test_an_answer_does_not_show_its_body() -> None:
    """What a log line or a failing assertion prints holds no payload."""
    assert repr(Response(status=200, headers=(), body=b"secret")) == "Response(200, 6 bytes)"


async def test_a_request_goes_out_byte_for_byte() -> None:
    """Target, headers and body are what the caller signed; nothing is rewritten or added to the body."""
    async with peer(answering(answer(status="201 Created"))) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        await fetcher.request(
            "POST", "https://shop.example/a%2fb//c?x=%7E&y=+", headers=[("Signature", "schcp=:a:")], body=b'{"b": 1}'
        )
        head, _, body = shop.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"POST /a%2fb//c?x=%7E&y=+ HTTP/1.1",
        b"host: shop.example",
        b"accept-encoding: gzip",
        b"user-agent: sayso",
        b"Signature: schcp=:a:",
        b"content-length: 8",
    ]
    assert body == b'{"b": 1}'


@pytest.mark.parametrize(
    "header",
    [("Host", "evil.example"), ("content-length", "1"), ("x", "a\r\nHost: evil.example"), ("x y", "a"), ("x", "é")],
)
async def test_a_header_that_would_change_the_request_is_a_bug(header: tuple[str, str]) -> None:
    """Our own code gave it, so it is found by a test and never answered."""
    async with peer(answering(answer())) as shop, Fetcher({"shop.example": shop.place}) as fetcher:
        with pytest.raises(Misuse):
            await fetcher.request("POST", "https://shop.example/", headers=[header])
        assert shop.requests == []


def test_a_fetcher_that_verifies_nothing_cannot_be_made() -> None:
    """A context without verification is refused where it is handed in."""
    context = ssl.create_default_context()
    context.check_hostname = False
    with pytest.raises(Misuse):
        Fetcher(tls=context)
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(Misuse):
        Fetcher(tls=context)


@pytest.mark.req("SCH-325")
def test_a_port_is_open_only_when_settings_list_it() -> None:
    """443 alone by default; others by local settings."""
    with pytest.raises(Refused):
        Fetcher().admit("https://shop.example:8443/")
    assert Fetcher(ports=(443, 8443)).admit("https://shop.example:8443/").port == 8443


async def test_a_cancelled_fetch_closes_its_connection() -> None:
    """The peer sees the end, and the fetcher goes on working."""
    async with (
        peer(_silent) as slow,
        peer(answering(answer())) as shop,
        Fetcher({"slow.example": slow.place, "shop.example": shop.place}) as fetcher,
    ):
        async with anyio.create_task_group() as group:
            group.start_soon(fetcher.get, "https://slow.example/")
            while slow.connections == 0:
                await anyio.sleep(0)
            group.cancel_scope.cancel()
        await slow.closed.wait()
        assert (await fetcher.get("https://shop.example/")).status == 200
