"""Signing in over agent control: events in order to one terminal, and no secret in any of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.responses import JSONResponse

from sayso.control.adapters.contract import Authenticates
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCompleted,
    AuthLoginEvent,
    AuthLoginStartRequest,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.catalog.rows import OAuthFlow, OAuthOrigin, Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.control.provider.logins import Logins, Prompt
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import Misuse, Refused
from tests.control.conftest import Trace
from tests.control.provider.credentials.oauth_server import HOST, OAuthServer, error, oauth_server

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
PATIENCE = 30
pytestmark = pytest.mark.anyio


def oauth_row(flow: OAuthFlow, id_: str) -> Row:
    return Row(id=id_, display_name="Toy", auth=("oauth",), oauth=flow, oauth_origin=OAuthOrigin(domain="toy.example"))


class Case:
    """A home, its logins, and whoever signs in there."""

    def __init__(self, home: Path, server: OAuthServer, fetcher: Any, trace: Trace, prompt: Prompt | None) -> None:
        self.server = server
        self.trace = trace
        self.clock = ManualClock(START)
        self.store = CredentialStore(home, {})
        self.credentials = Credentials(home, self.store, environ={}, clock=self.clock, fetcher=lambda: fetcher)
        rows = (
            oauth_row(server.flow(device_endpoint=None), "browser"),
            oauth_row(server.flow(authorization_endpoint=None), "device"),
            Row(id="key", display_name="Key", auth=("api_key",)),
            Row(id="open", auth=("none", "api_key")),
            Row(id="closed", auth=("oauth",)),
        )
        # Real chance for the flows' own secrets; counted ids would make them guessable here and nowhere else.
        self.logins = Logins(rows, self.credentials, clock=self.clock, ids=SystemIds(), prompt=prompt)
        self.ids = CountingIds()

    async def start(self, provider: str) -> str:
        request = Envelope(
            type="auth.login.start.request", id=self.ids.new("rq"), payload=AuthLoginStartRequest(provider_id=provider)
        )
        answer = await self.logins.login(request)
        self._note(request, "auth.login.start.response", answer)
        return answer.flow_id

    async def cancel(self, flow_id: str) -> bool:
        request = Envelope(
            type="auth.login.cancel.request", id=self.ids.new("rq"), payload=AuthLoginCancelRequest(flow_id=flow_id)
        )
        answer = await self.logins.cancel_login(request)
        self._note(request, "auth.login.cancel.response", answer)
        return answer.accepted

    async def events(self, flow_id: str) -> AsyncIterator[AuthLoginEvent | AuthLoginCompleted]:
        async for envelope in self.logins.login_events(flow_id):
            self.trace.record(envelope)
            yield envelope.payload  # type: ignore[misc]

    async def all(self, flow_id: str) -> list[AuthLoginEvent | AuthLoginCompleted]:
        with anyio.fail_after(PATIENCE):
            return [event async for event in self.events(flow_id)]

    async def status(self, provider: str) -> str:
        found = await self.logins.auth_providers()
        return next(row.auth_status for row in found.providers if row.id == provider)

    @property
    def written(self) -> str:
        return "\n".join(write_envelope(envelope).decode() for envelope in self.trace.envelopes)

    def _note(self, request: Envelope[Any], type_: str, payload: Wire) -> None:
        self.trace.record(request)
        self.trace.record(Envelope(type=type_, id=self.ids.new("ev"), payload=payload, in_reply_to=request.id))


@asynccontextmanager
async def case(home: Path, trace: Trace, prompt: Prompt | None = None) -> AsyncIterator[Case]:
    async with oauth_server() as (server, fetcher):
        yield Case(home, server, fetcher, trace, prompt)


async def visit(url: str) -> int:
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(url)).status_code


def kinds(events: list[Any]) -> list[str]:
    return [event.kind if isinstance(event, AuthLoginEvent) else event.status for event in events]


@pytest.mark.req("OAP-076", "OAP-077", "OAP-151")
async def test_a_browser_signs_in_and_the_token_is_kept_and_told_to_nobody(tmp_path: Path, trace: Trace) -> None:
    """An address, progress, success; contiguous, and judged with the whole trace."""
    async with case(tmp_path, trace) as it:
        flow_id = await it.start("browser")
        events = []
        with anyio.fail_after(PATIENCE):
            async for event in it.events(flow_id):
                events.append(event)
                if isinstance(event, AuthLoginEvent) and event.url is not UNSET:
                    assert await it.status("browser") == "login_in_progress"
                    back = it.server.consent(event.url)
                    assert await visit(back) == 200
        assert kinds(events) == ["url", "progress", "success"]
        assert [envelope.sequence for envelope in trace.envelopes[2:]] == [1, 2, 3]
        kept = it.store.get("browser")
        assert kept is not None
        assert kept.credential == OAuthToken(
            access_token="at-1", refresh_token="rt-1", expires_at=int(START.timestamp()) + 3600
        )
        assert await it.status("browser") == "authenticated"
        verifier = it.server.asked[-1]["code_verifier"]
        assert all(secret not in it.written for secret in ("at-1", "rt-1", "code-1", verifier))


@pytest.mark.req("OAP-076", "OAP-077", "OAP-151")
async def test_a_device_is_told_where_to_type_and_what(tmp_path: Path, trace: Trace) -> None:
    """The code for the page stands in the instructions; the device's own code stays here."""
    async with case(tmp_path, trace) as it:
        it.server.polls = [error("authorization_pending"), JSONResponse(it.server.token)]
        events: list[Any] = []

        async def read() -> None:
            events.extend(await it.all(flow_id))
            group.cancel_scope.cancel()

        async def pass_time() -> None:
            while True:
                while not it.clock.sleepers:
                    await anyio.lowlevel.checkpoint()
                it.clock.advance(timedelta(seconds=5))
                await anyio.lowlevel.checkpoint()

        flow_id = await it.start("device")
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(pass_time)
        assert kinds(events) == ["url", "progress", "success"]
        assert (events[0].url, "WDJB-MJHT" in events[0].instructions) == (f"https://{HOST}/device", True)
        assert "dc-1" not in it.written
        assert it.store.get("device") is not None


@pytest.mark.req("OAP-077")
async def test_a_key_without_a_prompt_of_the_host_is_input_unavailable(tmp_path: Path, trace: Trace) -> None:
    """It neither waits for an answer over the protocol nor claims success."""
    async with case(tmp_path, trace) as it:
        (end,) = await it.all(await it.start("key"))
        assert isinstance(end, AuthLoginCompleted)
        assert end.error is not UNSET
        assert (end.status, end.error.code) == ("failed", "auth_input_unavailable")
        assert await it.status("key") == "login_required"


@pytest.mark.req("OAP-078", "OAP-154")
async def test_a_key_typed_at_the_hosts_prompt_is_kept_and_never_crosses(tmp_path: Path, trace: Trace) -> None:
    """A bad one is told without its text; none at all is a cancelled login."""
    typed: list[str | None] = ["bad key", None, " sk-secret \n"]

    async def prompt(row: Row) -> str | None:
        assert row.id == "key"
        return typed.pop(0)

    async with case(tmp_path, trace, prompt) as it:
        ends = [(await it.all(await it.start("key")))[-1] for _ in range(3)]
        assert [end.status for end in ends] == ["failed", "cancelled", "success"]  # type: ignore[union-attr]
        assert ends[0].error.code == "invalid_request"  # type: ignore[union-attr]
        kept = it.store.get("key")
        assert kept is not None
        assert kept.credential == ApiKey(key="sk-secret")
        assert "bad key" not in it.written
        assert "sk-secret" not in it.written


@pytest.mark.req("OAP-077")
async def test_a_cancelled_flow_ends_once_and_lets_go_of_its_port(tmp_path: Path, trace: Trace) -> None:
    """Whatever it waited for; a second cancel is harmless and says that it came too late."""
    async with case(tmp_path, trace) as it:
        flow_id = await it.start("browser")
        events = []
        async for event in it.events(flow_id):
            events.append(event)
            if isinstance(event, AuthLoginEvent):
                assert await it.cancel(flow_id)
        assert kinds(events) == ["url", "cancelled"]
        back = it.server.consent(events[0].url)
        with pytest.raises(httpx2.ConnectError):
            await visit(back)
        assert not await it.cancel(flow_id)
        assert it.store.get("browser") is None
        assert await it.status("browser") == "login_required"


@pytest.mark.req("OAP-077")
async def test_a_flow_under_way_is_cancelled_where_it_waits(tmp_path: Path, trace: Trace) -> None:
    """While it waits for a browser that may never come."""
    async with case(tmp_path, trace) as it:
        flow_id = await it.start("browser")
        ended: list[Any] = []
        began = anyio.Event()

        async def read() -> None:
            async for event in it.events(flow_id):
                ended.append(event)
                began.set()

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                await began.wait()
                while not it.clock.sleepers:  # it gives up at its time, so it is waiting
                    await anyio.lowlevel.checkpoint()
                assert await it.cancel(flow_id)
        assert kinds(ended) == ["url", "cancelled"]


@pytest.mark.req("OAP-077")
async def test_a_flow_cancelled_before_it_is_read_asks_nobody(tmp_path: Path, trace: Trace) -> None:
    """Its one event is its terminal."""
    async with case(tmp_path, trace) as it:
        flow_id = await it.start("device")
        assert await it.cancel(flow_id)
        assert kinds(await it.all(flow_id)) == ["cancelled"]
        assert it.server.asked == []


@pytest.mark.req("OAP-077")
async def test_a_reader_that_goes_away_ends_the_flow(tmp_path: Path, trace: Trace) -> None:
    """Nothing is left listening, and the next flow can begin."""
    trace.is_partial = True
    async with case(tmp_path, trace) as it:
        flow_id = await it.start("browser")
        events = it.logins.login_events(flow_id)
        first: Any = (await anext(events)).payload
        await events.aclose()  # type: ignore[attr-defined]
        with pytest.raises(httpx2.ConnectError):
            await visit(it.server.consent(first.url))
        assert await it.status("browser") == "login_required"
    trace.envelopes.clear()


FAILURES: dict[str, tuple[Any, str, object]] = {
    "denied": (error("access_denied"), "credential_rejected", "denied"),
    "a server that fails": (error("server_error", 500), "provider_unavailable", "server"),
    "no document": (JSONResponse([]), "endpoint_error", None),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.req("OAP-077")
async def test_how_a_server_ends_a_flow_is_told_in_our_words(name: str, tmp_path: Path, trace: Trace) -> None:
    """With a registered code, and nothing of what the server wrote."""
    answer, code, reason = FAILURES[name]
    async with case(tmp_path, trace) as it:
        it.server.token_answer = answer
        flow_id, end = await it.start("browser"), None
        async for event in it.events(flow_id):
            if isinstance(event, AuthLoginEvent) and event.url is not UNSET:
                await visit(it.server.consent(event.url))
            end = event
        assert isinstance(end, AuthLoginCompleted)
        assert end.error is not UNSET
        details = {} if end.error.details is UNSET else end.error.details
        assert (end.status, end.error.code, details.get("reason")) == ("failed", code, reason)
        assert "SECRET-DESCRIPTION" not in it.written
        assert it.store.get("browser") is None


@pytest.mark.req("OAP-076", "OAP-078")
async def test_every_provider_says_how_it_takes_a_credential_and_stands(tmp_path: Path, trace: Trace) -> None:
    """Also one whose way is not known here, and one that needs none."""
    async with case(tmp_path, trace) as it:
        found = await it.logins.auth_providers()
        assert [(row.id, row.auth_kinds, row.auth_status) for row in found.providers] == [
            ("browser", ("oauth",), "login_required"), ("device", ("oauth",), "login_required"),
            ("key", ("api_key",), "login_required"), ("open", ("none", "api_key"), "authenticated"),
            ("closed", ("oauth",), "login_required"),
        ]  # fmt: skip
        assert kinds(await it.all(await it.start("open"))) == ["success"]
        (end,) = await it.all(await it.start("closed"))
        assert end.error.code == "unsupported_feature"  # type: ignore[union-attr]
        (tmp_path / "auth.json").write_text("{")
        (tmp_path / "auth.json").chmod(0o600)
        assert await it.status("key") == "failed"
        assert isinstance(it.logins, Authenticates)


async def test_what_is_not_there_is_refused_and_events_are_read_once(tmp_path: Path, trace: Trace) -> None:
    """And a store of flows does not grow: those that ended make room, those that did not are a bound."""
    async with case(tmp_path, trace) as it:
        with pytest.raises(Refused) as unknown:
            await it.logins.login(
                Envelope(type="auth.login.start.request", id="x", payload=AuthLoginStartRequest(provider_id="nobody"))
            )
        with pytest.raises(Refused) as gone:
            await anext(it.logins.login_events("flow-0"))
        assert (unknown.value.refusal.code, gone.value.refusal.code) == ("unknown_provider", "unknown_login")
        flow_id = await it.start("open")
        await it.all(flow_id)
        with pytest.raises(Misuse):
            await anext(it.logins.login_events(flow_id))
        started = [await it.start("open") for _ in range(64)]
        with pytest.raises(Refused) as busy:
            await it.start("open")
        assert busy.value.refusal.code == "busy"
        for each in started:
            await it.all(each)
        assert kinds(await it.all(await it.start("open"))) == ["success"]


@pytest.mark.req("OAP-078", "OAP-150")
@pytest.mark.parametrize("provider", ["browser", "device"])
async def test_nobody_signs_in_for_what_could_not_be_kept(provider: str, tmp_path: Path, trace: Trace) -> None:
    """It is told before an address is shown, and no server is asked."""
    async with case(tmp_path, trace) as it:
        (tmp_path / "auth.json").write_text("{}")
        (tmp_path / "auth.json").chmod(0o644)
        async with aclosing(it.events(await it.start(provider))) as events:  # type: ignore[type-var]
            end = await anext(events)
        assert isinstance(end, AuthLoginCompleted)
        assert (end.status, it.server.asked) == ("failed", [])
        assert "chmod 600" in str(end.error)
