"""Signed requests from end to end: one side signs https names, the other sits on a loopback port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.net.address import read_url
from sayso.net.edge import Edge
from sayso.net.fetch import Fetcher
from sayso.net.listen import Address, serving
from sayso.net.signing import SignedClient, read_signed, request_target
from sayso.proof.httpsig import SignedRequest, sign_request
from sayso.proof.keys import PrivateKey
from sayso.proof.target import target_uri
from tests.net.servers import ask

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
ORIGIN = "https://shop.example"


class Shop:
    """A host that verifies what it receives and remembers the verdicts."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.spent: set[tuple[str, str]] = set()
        self.verdicts: list[SignedRequest | str] = []
        self.bodies: list[bytes] = []

    def seen(self, thumbprint: str, nonce: str, keep_until: int) -> bool:
        was = (thumbprint, nonce) in self.spent
        self.spent.add((thumbprint, nonce))
        return was

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            signed, body = await read_signed(
                scope, receive, public_origin=ORIGIN, now=epoch(self.clock.now()), seen=self.seen, cap=10_000
            )
        except Refused as refused:
            self.verdicts.append(refused.refusal.code)
            status = 401
        else:
            self.verdicts.append(signed)
            self.bodies.append(body)
            status = 200
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


class Scene:
    """A shop on loopback, and an agent that knows it as shop.example."""

    def __init__(self, fetcher: Fetcher, shop: Shop, address: Address) -> None:
        self.fetcher = fetcher
        self.shop = shop
        self.clock = shop.clock
        self.address = address
        self.key = PrivateKey.from_seed(bytes(range(32)))
        self.ids = CountingIds()
        self.client = SignedClient(fetcher, self.key, self.clock, self.ids)

    def signed(self, method: str, target: str, body: bytes = b"") -> list[tuple[str, str]]:
        return sign_request(method, target, body, key=self.key, created=epoch(self.clock.now()), nonce=self.ids.token())


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    shop = Shop(ManualClock(START))
    async with (
        serving(Edge(shop, hosts=["shop.example"], body_cap=10_000)) as address,
        Fetcher({"shop.example": str(address), "other.example": str(address)}) as fetcher,
    ):
        yield Scene(fetcher, shop, address)


@pytest.mark.req("SCH-051", "SCH-054", "SCH-055")
@pytest.mark.anyio
async def test_what_was_signed_for_the_public_name_verifies_on_a_loopback_port() -> None:
    """Path and query keep their bytes; the verdict names key, time and nonce."""
    async with scene() as it:
        url = "https://Shop.example:443/schcp/v0/a%2Fb?b=2&a=1+%7E"
        assert (await it.client.send("POST", url, b'{"a":1}')).status == 200
        assert (await it.client.send("GET", f"{ORIGIN}?x=/")).status == 200
        nonces = [CountingIds().token(), "AAAAAAAAAAAAAAAAAAAAAg"]
        created = epoch(START)
        assert it.shop.verdicts == [
            SignedRequest(it.key.public, it.client.thumbprint, created, nonce) for nonce in nonces
        ]
        assert it.shop.bodies == [b'{"a":1}', b""]


@pytest.mark.req("SCH-056")
@pytest.mark.anyio
async def test_every_attempt_is_signed_anew_and_a_copy_is_a_replay() -> None:
    """The same body again has a new nonce; the very same request again is refused under its own code."""
    async with scene() as it:
        for _ in range(2):
            assert (await it.client.send("POST", f"{ORIGIN}/a", b"{}")).status == 200
        headers = it.signed("POST", f"{ORIGIN}/a", b"{}")
        for _ in range(2):
            await it.fetcher.request("POST", f"{ORIGIN}/a", headers=headers, body=b"{}")
        assert [v if isinstance(v, str) else v.nonce for v in it.shop.verdicts[1:]] == [
            "AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAw", "replayed_request",
        ]  # fmt: skip


@pytest.mark.req("SCH-055")
@pytest.mark.anyio
async def test_a_signature_for_another_address_is_refused() -> None:
    """For the internal address, for another name that reaches the same port, for another path: all bad signatures."""
    async with scene() as it:
        local = f"https://localhost:{it.address.port}/a"
        for target in (local, "https://other.example/a", f"{ORIGIN}/b", f"{ORIGIN}/a?"):
            await it.fetcher.request("GET", f"{ORIGIN}/a", headers=it.signed("GET", target))
        assert it.shop.verdicts == ["bad_signature"] * 4


@pytest.mark.req("SCH-055")
@pytest.mark.anyio
async def test_no_header_moves_the_target() -> None:
    """Host, forwarding headers and an absolute request line name another origin: the configured one is verified."""
    async with serving(shop := Shop(ManualClock(START))) as address:
        headers = sign_request(
            "GET", f"{ORIGIN}/a", b"", key=PrivateKey.generate(), created=epoch(START), nonce="n" * 22
        )
        lines = [
            "GET https://evil.example/a HTTP/1.1", "Host: evil.example", "X-Forwarded-Host: evil.example",
            "X-Forwarded-Proto: http", "Connection: close", *(f"{name}: {value}" for name, value in headers), "", "",
        ]  # fmt: skip
        await ask(address, "\r\n".join(lines).encode())
    assert [type(verdict) for verdict in shop.verdicts] == [SignedRequest]


@pytest.mark.req("SCH-053", "SCH-057")
@pytest.mark.anyio
async def test_another_body_or_an_old_request_is_refused() -> None:
    """The digest is over the bytes received; the time is the clock's that was handed in."""
    async with scene() as it:
        headers = it.signed("POST", f"{ORIGIN}/a", b"{}")
        await it.fetcher.request("POST", f"{ORIGIN}/a", headers=headers, body=b"{ }")
        it.clock.advance(timedelta(seconds=61))
        await it.fetcher.request("POST", f"{ORIGIN}/a", headers=headers, body=b"{}")
        assert it.shop.verdicts == ["digest_mismatch", "stale_signature"]


@pytest.mark.anyio
async def test_a_url_that_may_not_be_fetched_is_not_signed_either() -> None:
    """No signature of the agent is ever made for an address it may not reach."""
    async with scene() as it:
        with pytest.raises(Refused) as caught:
            await it.client.send("GET", "https://127.0.0.1/")
        assert (caught.value.refusal.code, it.ids.token()) == ("url_not_allowed", CountingIds().token())


@given(st.from_regex(r"[A-Za-z0-9/?=&%+.~-]{0,40}", fullmatch=True))
def test_what_is_fetched_and_what_is_signed_have_one_spelling(rest: str) -> None:
    """Wherever the fetcher takes a URL, the signed target is the very text that goes out."""
    url = f"https://Shop.Example:443/{rest}"
    try:
        target = read_url(url)
    except Refused:
        return
    path, _, query = target.path.partition("?")
    scope = {"raw_path": path.encode(), "query_string": query.encode()}
    assert target_uri(url) == target.uri == request_target(scope, "https://shop.example")
