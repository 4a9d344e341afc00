"""Signing in through an endpoint: the loop's own logins over real pipes, and a real child that signs in by a device."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.responses import JSONResponse

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.combined import Sayso
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.payloads.auth import AuthLoginEvent
from sayso.control.provider.catalog.rows import OAuthFlow, OAuthOrigin, Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.logins import Logins
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.sdk import ServerError
from sayso.testing.provider import Say, ScriptedProvider
from tests.control.client.combined import program
from tests.control.endpoint.host import PATIENCE, Host, Line, host_of
from tests.control.provider.credentials.keyrings import using
from tests.control.provider.credentials.oauth_server import CLIENT, OAuthServer, error, oauth_server
from tests.control.wire import opens, request, submits

pytestmark = pytest.mark.anyio
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
SECRETS = ("at-1", "rt-1", "code-1", "dc-1", "SECRET-DESCRIPTION")


def toy(flow: OAuthFlow, id_: str) -> Row:
    return Row(id=id_, display_name="Toy", auth=("oauth",), oauth=flow, oauth_origin=OAuthOrigin(domain="toy.example"))


@asynccontextmanager
async def signing(home: Path) -> AsyncIterator[tuple[Host, OAuthServer, CredentialStore]]:
    """Our loop with its logins, as an endpoint."""
    import keyring.backends.fail  # noqa: PLC0415 - a tenth of a second

    clock, ids = SystemClock(), SystemIds()
    with using(keyring.backends.fail.Keyring()):
        async with oauth_server() as (server, fetcher):
            rows = (
                toy(server.flow(device_endpoint=None), "browser"),
                Row(id="key", display_name="Key", auth=("api_key",)),
            )
            store = CredentialStore(home, {})
            credentials = Credentials(home, store, environ={}, clock=clock, fetcher=lambda: fetcher)
            loop = OwnLoop(
                ScriptedProvider([[Say("hi")]]),
                clock=clock,
                ids=ids,
                model_ref="scripted/m",
                logins=Logins(rows, credentials, clock=clock, ids=ids),
            )
            async with Hub(Registry({"sayso": loop}), clock=clock, ids=ids) as hub, host_of(hub, "sayso") as host:
                yield host, server, store


async def started(host: Host, provider: str) -> str:
    answer = await host.ask(request("auth.login.start.request", {"provider_id": provider}))
    assert answer["type"] == "auth.login.start.response", answer
    return str(answer["payload"]["flow_id"])


async def status(host: Host, provider: str) -> str:
    answer = await host.ask(request("auth.providers.request", {}))
    return next(str(row["auth_status"]) for row in answer["payload"]["providers"] if row["id"] == provider)


def of_flow(host: Host, flow: str) -> list[Line]:
    return [line for line in host.seen if line["type"].startswith("auth.login.") and "sequence" in line
            and line["payload"]["flow_id"] == flow]  # fmt: skip


@pytest.mark.req("OAP-076", "OAP-077", "OAP-078", "OAP-151")
async def test_a_browser_signs_in_through_the_loop_while_it_works(tmp_path: Path, agent_schema: Any) -> None:
    """A run beside it goes its way; the events are numbered, and no secret is on the pipe."""
    async with signing(tmp_path) as (host, server, store):
        flow = await started(host, "browser")
        told = await host.event("auth.login.event")
        assert await status(host, "browser") == "login_in_progress"
        await host.ask(opens("s1"))
        await host.ask(submits("s1"))
        assert (await host.event("run.completed"))["type"] == "run.completed"
        async with httpx2.AsyncClient(trust_env=False) as browser:
            assert (await browser.get(server.consent(told["payload"]["url"]))).status_code == 200
        ended = await host.event("auth.login.completed")
        assert await status(host, "browser") == "authenticated"
        assert (await host.finish()).is_clean
        kept = store.get("browser")
    assert ended["payload"]["status"] == "success"
    assert kept is not None
    assert [line["sequence"] for line in of_flow(host, flow)] == [1, 2, 3]
    assert all(agent_schema.is_valid(line) for line in host.seen)
    assert not any(secret in json.dumps(host.seen) for secret in SECRETS)


@pytest.mark.req("OAP-077", "OAP-078")
async def test_flows_side_by_side_are_cancelled_and_refused_each_for_itself(tmp_path: Path) -> None:
    """A cancel ends its own flow; one that needs a typed key fails; a provider nobody knows is no flow."""
    async with signing(tmp_path) as (host, _, _store):
        first, second = await started(host, "browser"), await started(host, "browser")
        typed = await started(host, "key")
        unknown = await host.ask(request("auth.login.start.request", {"provider_id": "nobody"}))
        answer = await host.ask(request("auth.login.cancel.request", {"flow_id": first}))
        assert answer["payload"]["accepted"] is True
        while not all(any("completed" in line["type"] for line in of_flow(host, each)) for each in (first, typed)):
            await host.read()
        again = await host.ask(request("auth.login.cancel.request", {"flow_id": first}))
        assert await status(host, "browser") == "login_in_progress"
        assert (await host.finish()).is_clean
    assert unknown["payload"]["error"]["code"] == "unknown_provider"
    assert again["payload"]["accepted"] is False
    ends = {flow: of_flow(host, flow)[-1]["payload"] for flow in (first, typed)}
    assert ends[first]["status"] == "cancelled"
    assert (ends[typed]["status"], ends[typed]["error"]["code"]) == ("failed", "auth_input_unavailable")
    assert not any("completed" in line["type"] for line in of_flow(host, second))


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.req("OAP-076", "OAP-151", "OAP-201")
async def test_a_real_child_signs_in_by_a_device_and_keeps_what_it_got(is_allowed: bool, tmp_path: Path) -> None:
    """The catalog's own row, its sign-in server on loopback; nothing secret on the pipe, a file for its owner alone."""
    shown: list[AuthLoginEvent] = []
    async with oauth_server() as (server, _):
        server.device = {**server.device, "interval": 1}
        server.polls = [JSONResponse(server.token) if is_allowed else error("access_denied")]
        (tmp_path / "settings.toml").write_text(f'[resolve]\n"github.com" = "{server.place}"\n')
        environ = {**NO_KEYRING, "SAYSO_GITHUB_COPILOT_CLIENT_ID": CLIENT}
        async with Sayso(program(tmp_path, environ)) as client:
            before = {row.id: row.auth_status for row in await client.auth.providers()}
            with anyio.fail_after(PATIENCE):
                try:
                    ended = (await client.auth.login("github-copilot", shown.append)).status
                except ServerError as failed:
                    ended = failed.code
            after = {row.id: row.auth_status for row in await client.auth.providers()}
    assert ended == ("success" if is_allowed else "credential_rejected")
    assert before["github-copilot"] == "login_required"
    assert after["github-copilot"] == ("authenticated" if is_allowed else "login_required")
    assert shown[0].url == server.device["verification_uri"]
    assert str(server.device["user_code"]) in str(shown[0].instructions)
    assert not any(secret in repr(shown) for secret in SECRETS)
    kept = tmp_path / "auth.json"
    assert kept.exists() is is_allowed
    if is_allowed:
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
