"""A spent token is refreshed once, however many ask, and only for where it may go."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.lowlevel
import keyring
import msgspec
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from starlette.responses import JSONResponse

from sayso.control.provider.catalog.rows import OAuthOrigin, Row
from sayso.control.provider.credentials.files import locked
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.core.clock import ManualClock
from sayso.core.instants import epoch
from sayso.core.refusal import PeerUnreachable, Refused
from tests.control.provider.credentials.keyrings import Failing, Keeping, using
from tests.control.provider.credentials.oauth_server import OAuthServer, error, oauth_server

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
URL = "https://api.toy.example/v1"
pytestmark = [pytest.mark.anyio, pytest.mark.req("OAP-151", "OAP-153")]


class Case:
    """A home with a token that has a minute and a half left, and its server."""

    def __init__(
        self, home: Path, server: OAuthServer, *credentials: Credentials, clock: ManualClock, row: Row
    ) -> None:
        self.store = CredentialStore(home, {})
        self.server = server
        self.one, self.two = credentials
        self.clock = clock
        self.row = row

    def stored(self) -> OAuthToken:
        kept = self.store.get("toy")
        assert kept is not None
        assert isinstance(kept.credential, OAuthToken)
        return kept.credential


@asynccontextmanager
async def case(home: Path, **more: object) -> AsyncIterator[Case]:
    async with oauth_server() as (server, fetcher):
        clock = ManualClock(START)
        row = Row(
            id="toy", auth=("oauth",), oauth=server.flow(), oauth_origin=OAuthOrigin(exact=("https://api.toy.example",))
        )
        members = {"access_token": "at-1", "refresh_token": "rt-1", "expires_at": epoch(START) + 90, "scope": "read"}
        token = OAuthToken(**{**members, **more})  # type: ignore[arg-type]
        CredentialStore(home, {}).put("toy", token)
        both = [
            Credentials(home, CredentialStore(home, {}), environ={}, clock=clock, fetcher=lambda: fetcher)
            for _ in range(2)
        ]
        yield Case(home, server, *both, clock=clock, row=row)


async def test_a_token_is_used_until_a_minute_before_its_end(tmp_path: Path) -> None:
    """Then it is refreshed and kept, the refresh token turned over and the scope carried on."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(seconds=29))
        assert await it.one.secret(it.row, URL) == "at-1"
        assert it.server.asked == []
        it.clock.advance(timedelta(seconds=1))
        assert await it.one.secret(it.row, URL) == "at-2"
        expires = epoch(START) + 30 + 3600
        assert it.stored() == OAuthToken(access_token="at-2", refresh_token="rt-2", expires_at=expires, scope="read")


async def test_many_that_ask_at_once_refresh_once(tmp_path: Path) -> None:
    """Tasks of one process and two owners of one home: a refresh token that is used twice is a lost sign-in."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        found: list[str | None] = []

        async def ask(credentials: Credentials) -> None:
            found.append(await credentials.secret(it.row, URL))

        async with anyio.create_task_group() as group:
            for credentials in (it.one, it.two) * 4:
                group.start_soon(ask, credentials)
        assert found == ["at-2"] * 8
        assert len(it.server.asked) == 1


ASKER = """
import sys
from pathlib import Path

import anyio
import msgspec

from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.core.clock import SystemClock
from sayso.net.fetch import Fetcher

home, place, row = Path(sys.argv[1]), sys.argv[2], msgspec.json.decode(sys.argv[3], type=Row)
credentials = Credentials(
    home, CredentialStore(home, {}), environ={}, clock=SystemClock(), fetcher=lambda: Fetcher({"login.example": place})
)
print("ready", flush=True)
sys.stdin.readline()
print(anyio.run(credentials.secret, row, "https://api.toy.example/v1"), flush=True)
"""


async def test_processes_that_ask_at_once_refresh_once(tmp_path: Path) -> None:
    """Four of one home, over one token that has been spent for long."""
    async with case(tmp_path, expires_at=1) as it, AsyncExitStack() as stack:
        words = [sys.executable, "-c", ASKER, str(tmp_path), it.server.place, msgspec.json.encode(it.row).decode()]
        env = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        askers = [await stack.enter_async_context(await anyio.open_process(words, env=env)) for _ in range(4)]
        heard = [BufferedByteReceiveStream(each.stdout) for each in askers if each.stdout is not None]
        assert [await each.receive_until(b"\n", 100) for each in heard] == [b"ready"] * 4
        for each in askers:
            assert each.stdin is not None
            await each.stdin.send(b"go\n")
        assert [await each.receive_until(b"\n", 100) for each in heard] == [b"at-2"] * 4
        assert [await each.wait() for each in askers] == [0] * 4
        assert (len(it.server.asked), it.stored().refresh_token) == (1, "rt-2")


async def test_a_grant_that_is_over_is_told_and_the_token_stays(tmp_path: Path) -> None:
    """So that whoever looks sees what it was."""
    async with case(tmp_path, refresh_token="rt-revoked") as it:
        it.clock.advance(timedelta(hours=1))
        with pytest.raises(Refused) as refused:
            await it.one.secret(it.row, URL)
        assert refused.value.refusal.code == "credential_expired"
        assert "rt-revoked" not in str(refused.value)
        assert it.stored().refresh_token == "rt-revoked"


async def test_without_a_refresh_token_nobody_is_asked(tmp_path: Path) -> None:
    """Expired is expired."""
    async with case(tmp_path, refresh_token=None) as it:
        it.clock.advance(timedelta(hours=1))
        with pytest.raises(Refused) as refused:
            await it.one.secret(it.row, URL)
        assert (refused.value.refusal.code, it.server.asked) == ("credential_expired", [])


async def test_a_server_that_fails_is_a_peer_that_did_not_answer(tmp_path: Path) -> None:
    """The sign-in is not over, and the next request may refresh it."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        own = {"error": {"code": "internal", "message": "try again"}}
        for answer in (
            error("server_error", 500),
            JSONResponse({}, status_code=503),
            JSONResponse(own, status_code=500),
            JSONResponse(own, status_code=429),
            JSONResponse({}, status_code=429),
        ):
            it.server.token_answer = answer
            with pytest.raises(PeerUnreachable):
                await it.one.secret(it.row, URL)
        it.server.token_answer = None
        assert await it.one.secret(it.row, URL) == "at-2"


async def test_a_token_for_elsewhere_is_not_even_refreshed(tmp_path: Path) -> None:
    """The destination is judged before anybody is asked."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        with pytest.raises(Refused) as refused:
            await it.one.secret(it.row, "https://evil.example")
        assert (refused.value.refusal.reason, it.server.asked) == ("origin_not_allowed", [])


async def test_a_refreshed_token_that_declares_another_place_is_judged_again(tmp_path: Path) -> None:
    """What the answer says of itself moves the token, never this request."""
    async with case(tmp_path, base_url="https://one.example") as it:
        row = Row(
            id="toy", auth=("oauth",), oauth=it.row.oauth, oauth_origin=OAuthOrigin(credential_declares_origin=True)
        )
        assert await it.one.secret(row, "https://one.example/v1") == "at-1"
        it.clock.advance(timedelta(hours=1))
        it.server.token["resource_url"] = "https://two.example"
        with pytest.raises(Refused, match=r"not sent to https://one\.example"):
            await it.one.secret(row, "https://one.example/v1")
        assert await it.one.secret(row, "https://two.example/v1") == "at-2"


async def test_a_token_that_was_not_taken_is_renewed_before_its_time(tmp_path: Path) -> None:
    """Once, however many were told no to the same one; a token that is not the stored one is old already."""
    async with case(tmp_path) as it:
        found: list[str | None] = []

        async def ask(credentials: Credentials) -> None:
            found.append(await credentials.renew(it.row, URL, "at-1"))

        async with anyio.create_task_group() as group:
            for credentials in (it.one, it.two) * 4:
                group.start_soon(ask, credentials)
        assert found == ["at-2"] * 8
        assert len(it.server.asked) == 1
        assert await it.one.renew(it.row, URL, "at-0") == "at-2"
        assert len(it.server.asked) == 1


async def test_where_nothing_renews_a_token_the_vendors_no_stands(tmp_path: Path) -> None:
    """It may be a no to this model or this account, and saying that the sign-in is over would hide it."""
    async with case(tmp_path, refresh_token=None) as it:
        assert await it.one.renew(it.row, URL, "at-1") is None
        assert await it.one.renew(it.row, URL, "at-0") == "at-1"
        assert await it.one.renew(Row(id="toy", auth=("oauth",), oauth_origin=it.row.oauth_origin), URL, "at-1") is None
        assert it.server.asked == []


async def test_what_is_renewed_goes_where_the_token_may_and_nowhere_else(tmp_path: Path) -> None:
    """And a key, or nothing, is not renewed."""
    async with case(tmp_path) as it:
        with pytest.raises(Refused) as refused:
            await it.one.renew(it.row, "https://evil.example", "at-1")
        assert (refused.value.refusal.reason, it.server.asked) == ("origin_not_allowed", [])
        it.store.put("toy", ApiKey(key="k-1"))
        assert await it.one.renew(it.row, URL, "k-1") is None
        it.store.remove("toy")
        assert await it.one.renew(it.row, URL, "at-1") is None
        assert it.server.asked == []


async def test_whoever_leaves_in_the_middle_of_a_refresh_loses_no_sign_in(tmp_path: Path) -> None:
    """The server has turned the token over by then: what it answers is kept for whoever asks next."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        it.server.hold = anyio.Event()

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                await it.one.secret(it.row, URL)

        async with anyio.create_task_group() as group:
            leaving = anyio.CancelScope()
            group.start_soon(ask, leaving)
            with anyio.fail_after(30):
                while not it.server.asked:
                    await anyio.lowlevel.checkpoint()
            leaving.cancel()
            it.server.hold.set()
        assert it.stored().refresh_token == "rt-2"
        assert await it.two.secret(it.row, URL) == "at-2"
        assert len(it.server.asked) == 1


async def test_a_refresh_token_is_not_spent_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """A full disk or a home that is not ours to write; once it is, the sign-in is still good."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        lock = tmp_path / ".auth.json.lock"
        lock.unlink()
        lock.mkdir()
        with pytest.raises(Refused) as refused:
            await it.one.secret(it.row, URL)
        refusal = refused.value.refusal
        assert (refusal.code, refusal.reason, refusal.place) == ("credential_missing", "store", str(lock))
        assert it.server.asked == []
        lock.rmdir()
        assert await it.one.secret(it.row, URL) == "at-2"


async def test_a_keyring_that_locks_during_a_refresh_loses_no_sign_in(tmp_path: Path) -> None:
    """What it cannot take any more is kept in the file, which is looked at first."""
    with using(Keeping()) as keyring_:
        async with case(tmp_path) as it:
            assert keyring_.entries  # type: ignore[attr-defined]
            it.clock.advance(timedelta(hours=1))
            it.server.hold = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(it.one.secret, it.row, URL)
                with anyio.fail_after(30):
                    while not it.server.asked:
                        await anyio.lowlevel.checkpoint()
                keyring.set_keyring(Failing())
                it.server.hold.set()
            assert it.stored().refresh_token == "rt-2"
            keyring.set_keyring(keyring_)
            assert it.stored().refresh_token == "rt-2"


async def test_who_signs_out_or_in_during_a_refresh_has_the_last_word(tmp_path: Path) -> None:
    """What was forgotten does not come back with the answer, and another account is not replaced by the one before."""
    for now in (None, OAuthToken(access_token="at-other"), ApiKey(key="k-1")):
        async with case(tmp_path) as it:
            it.clock.advance(timedelta(hours=1))
            it.server.hold = anyio.Event()
            refusals: list[str | None] = []

            async def ask(it: Case = it, refusals: list[str | None] = refusals) -> None:
                with pytest.raises(Refused) as refused:
                    await it.one.secret(it.row, URL)
                refusals.append(refused.value.refusal.reason)

            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                with anyio.fail_after(30):
                    while not it.server.asked:
                        await anyio.lowlevel.checkpoint()
                if now is None:
                    it.store.remove("toy")
                else:
                    it.store.put("toy", now)
                it.server.hold.set()
            kept = it.store.get("toy")
            assert (kept.credential if kept else None, refusals) == (now, ["changed"])


@pytest.mark.parametrize(
    "error_",
    [
        "bad_refresh_token",
        {"code": "refresh_token_reused", "message": "SECRET"},
        {"code": "refresh_token_invalidated", "type": "invalid_request_error"},
    ],
)
async def test_a_grant_that_a_vendor_ends_in_its_own_words_is_over(tmp_path: Path, error_: object) -> None:
    """GitHub's codes and OpenAI's objects; what helps names the provider."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(hours=1))
        it.server.token_answer = JSONResponse({"error": error_}, status_code=401)
        with pytest.raises(Refused) as refused:
            await it.one.secret(it.row, URL)
        refusal = refused.value.refusal
        assert (refusal.code, refusal.reason) == ("credential_expired", "invalid_grant")
        assert "sayso auth login --provider toy" in str(refused.value)
        assert "SECRET" not in str(refused.value)


async def test_whoever_waits_for_another_process_can_stop_waiting(tmp_path: Path) -> None:
    """The other one may have been stopped in the middle of its refresh."""
    async with case(tmp_path) as it:
        it.clock.advance(timedelta(seconds=60))
        with locked(tmp_path / ".auth-toy.lock"):
            with anyio.move_on_after(0.05) as waiting:
                await it.one.secret(it.row, URL)
            assert waiting.cancelled_caught
            assert it.server.asked == []
        with anyio.fail_after(30):
            assert await it.one.secret(it.row, URL) == "at-2"
