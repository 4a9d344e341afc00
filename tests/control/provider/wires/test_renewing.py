"""A token that its vendor does not take is renewed once and the request sent again; a key is not, and a no is a no."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso.core.refusal import PeerUnreachable, Refused
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import Said, Status
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.wires.bench import ALL, CHAT, open_bench

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", ALL)
FINE = Said([Say("fine")])


class Keeper:
    """Has `old` until it is told to renew; then what `gives` says."""

    def __init__(self, gives: Callable[[], str | None] = lambda: KEY) -> None:
        self.has = "old-token"
        self.told: list[str] = []
        self._gives = gives

    async def credential(self) -> str | None:
        return self.has

    async def renew(self, rejected: str) -> str | None:
        self.told.append(rejected)
        given = self._gives()
        self.has = given or self.has
        return given


@every_wire
@pytest.mark.req("OAP-133", "OAP-153")
async def test_a_token_that_is_not_taken_is_renewed_and_the_request_sent_again(wire: str) -> None:
    """At once, and the answer is the caller's as if nothing had been."""
    keeper = Keeper()
    async with open_bench(wire, [FINE], credential=keeper.credential, renew=keeper.renew) as bench:
        heard = await bench.infer()
        assert heard.stop_reason == "stop"
        assert (keeper.told, len(bench.server.received), bench.told) == (["old-token"], 2, [])
        assert "old-token" not in heard.written


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.req("OAP-133")
async def test_it_is_renewed_once_and_then_the_no_stands(status: int) -> None:
    """A second no is about the person and not about the token's age."""
    no = Status(status, {"error": {"message": "no", "type": "x"}})
    keeper = Keeper()
    keeper.has = "other-token"
    async with open_bench(CHAT, [no, no, no], credential=keeper.credential, renew=keeper.renew) as bench:
        bench.server.keys.add("other-token")
        heard = await bench.infer()
        assert (heard.error.code, heard.error.retriable) == ("credential_rejected", False)
        assert (len(bench.server.received), len(keeper.told)) == (2, 1)


async def test_a_vendor_that_says_expired_twice_is_told_as_that() -> None:
    """The sign-in is over, which is another thing to do than to put in a right key."""
    no = Status(401, {"error": {"message": "Your session has expired", "type": "authentication_error"}})
    keeper = Keeper()
    async with open_bench(CHAT, [no], credential=keeper.credential, renew=keeper.renew) as bench:
        heard = await bench.infer()
        assert heard.error.code == "credential_expired"


@pytest.mark.parametrize(
    ("gives", "code"),
    [(lambda: None, "credential_rejected"), (lambda: "old-token", "credential_rejected")],
)
async def test_without_another_token_the_first_no_stands(gives: Callable[[], str | None], code: str) -> None:
    """Nothing is sent again."""
    keeper = Keeper(gives)
    async with open_bench(CHAT, [FINE], credential=keeper.credential, renew=keeper.renew) as bench:
        assert (await bench.infer()).error.code == code
        assert len(bench.server.received) == 1


async def test_a_grant_that_is_over_and_a_sign_in_server_that_is_silent_are_told_apart() -> None:
    """The first ends as `credential_expired`; the second leaves the vendor's own no."""

    def over() -> str | None:
        raise Refused.because("credential_expired", "The sign-in has expired")

    def silent() -> str | None:
        raise PeerUnreachable("Toy", "its sign-in server failed")

    for gives, code in ((over, "credential_expired"), (silent, "credential_rejected")):
        keeper = Keeper(gives)
        async with open_bench(CHAT, [FINE], credential=keeper.credential, renew=keeper.renew) as bench:
            assert (await bench.infer()).error.code == code
            assert len(bench.server.received) == 1


async def test_a_key_is_never_renewed() -> None:
    """A wrong key is sent once."""
    keeper = Keeper()
    async with open_bench(CHAT, [FINE], credential=keeper.credential) as bench:
        assert (await bench.infer()).error.code == "credential_rejected"
        assert (len(bench.server.received), keeper.told) == (1, [])


@pytest.mark.req("OAP-131")
async def test_a_keeper_that_fails_is_a_refused_create_and_no_exception() -> None:
    """A sign-in server that is not reached while a spent token is refreshed ends nobody's run as a bug."""

    async def fails() -> str | None:
        raise PeerUnreachable("Toy", "its sign-in server failed")

    async with open_bench(CHAT, [FINE], credential=fails) as bench:
        heard = await bench.infer()
        assert (heard.error.code, heard.types) == ("provider_unavailable", ["create.response"])
