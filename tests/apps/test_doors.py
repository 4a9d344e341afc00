"""The house as `sayso up` puts it together: three listeners, and on each nothing but what belongs there."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Never
from zoneinfo import ZoneInfo

import anyio
import httpx2
import msgspec
import pytest
from starlette.routing import Router

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.console.app import OPEN, ROUTES
from sayso.apps.doors import going_on, open_doors
from sayso.apps.gateway_home import open_gateway
from sayso.apps.home import Home, open_home
from sayso.apps.host_home import OpenDesk, make_host, opening_desk
from sayso.apps.house import House, open_house
from sayso.apps.keys import make_keys
from sayso.apps.up import Addresses, serving_house
from sayso.control.hub.bindings.http import hub_app
from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.door import PublicApp
from sayso.governance.acts import ActClass
from sayso.scheduling.host.http import WELL_KNOWN
from sayso.store.failures import Unavailable
from sayso.store.vault import Vault
from sayso.testing.gateway import ToyDoor, sign
from sayso.testing.routes import public_paths, ungoverned, walk_routes
from sayso.testing.store import START

pytestmark = pytest.mark.anyio
SHOP = Path(__file__).resolve().parents[2] / "docs" / "examples" / "shop.toml"
DOORS = {"/api/protocols/mcp/message", "/api/protocols/a2a", "/api/protocols/acp", "/api/protocols/tasks"}
PUBLIC = re.compile(r"/api/receipts/.+|/api/openapi\.json|(/api/protocols/a2a)?/\.well-known/agent(-card)?\.json")


def unlocked(folder: Path) -> Home:
    place = open_home(folder / "home", is_world=False)
    make_keys(Vault(place.path, place.clock), None)
    return place


@asynccontextmanager
async def standing(folder: Path, settings: str = "", clock: ManualClock | None = None) -> AsyncIterator[House]:
    """A house whose keys are not locked."""
    place = unlocked(folder)
    (place.path / "settings.toml").write_text(settings)
    place = open_home(place.path, is_world=False)
    place = msgspec.structs.replace(place, clock=clock) if clock else place
    async with open_house(place, zone=ZoneInfo("America/Toronto")) as house:
        yield house


@asynccontextmanager
async def hosting(folder: Path, settings: str = "") -> AsyncIterator[tuple[House, OpenDesk]]:
    """A house that is a shop too."""
    unlocked(folder)
    make_host(folder / "home", SHOP, None)
    with opening_desk(folder / "home", None, lambda: None, to_serve=True) as host:
        async with standing(folder, settings) as house:
            yield house, host


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Addresses]:
    """Everything on free ports; the shop's domain beside the doors."""
    async with hosting(tmp_path) as (house, host), serving_house(house, 0, environ={}, host=host) as addresses:
        yield addresses


async def status(url: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> int:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return (await client.request(method, url, headers=headers)).status_code


def filled(path: str) -> str:
    """A path with something where its parameters are."""
    return re.sub(r"\{[^}]+\}", "1", path)


@pytest.mark.req("GTW-007")
async def test_every_route_of_the_doors_is_admitted_or_says_why_not(tmp_path: Path) -> None:
    """Found by walking the composed application; what is public is the receipts, the card and the description."""
    async with standing(tmp_path) as house, open_doors(open_gateway(house, {})) as app:
        assert isinstance(app, Router)
        assert ungoverned(app) == []
        assert isinstance(app.default, PublicApp)
        paths = {path for path, _ in walk_routes(app)}
        assert paths >= DOORS
        assert [path for path in public_paths(app) if not PUBLIC.fullmatch(path)] == []
        assert all(public_paths(app).values())


@pytest.mark.req("GTW-007", "GTW-014")
async def test_no_door_answers_without_a_key(tmp_path: Path) -> None:
    """Over the wire, each of its paths, what is read and what is sent."""
    async with standing(tmp_path) as house:
        async with open_doors(open_gateway(house, {})) as app:
            public = public_paths(app)
            guarded = sorted({filled(path) for path, _ in walk_routes(app) if path not in public})
        async with serving_house(house, 0, environ={}) as at:
            asked = [(path, method) for path in guarded for method in ("GET", "POST", "DELETE")]
            found = {await status(at.doors + path, method) for path, method in asked}
    assert (found, len(guarded) >= len(DOORS)) == ({401}, True)


@pytest.mark.req("GTW-030")
async def test_every_act_behind_the_doors_has_a_class(tmp_path: Path) -> None:
    """And each execution says how it repeats."""
    async with standing(tmp_path) as house:
        acts = open_gateway(house, {}).gateway.governor.registry.acts()
    assert {"semantic_search", "submit_proposal", "book_slot", "cancel_booking"} <= {act.name for act in acts}
    assert {act.act_class for act in acts} == set(ActClass)
    assert [act.name for act in acts if act.act_class is ActClass.EXECUTION and act.repeats is None] == []


@pytest.mark.req("GTW-007", "GTW-060")
async def test_no_page_of_the_console_is_shown_without_a_sign_in(up: Addresses) -> None:
    """Each of its routes has a role; those without are the sign-in and files."""
    assert {path for path, _ in OPEN} == {"/sign-in", "/sign-out", "/static/{name}"}
    assert {role for _, _, role, _ in ROUTES} <= {"viewer", "approver", "owner"}
    found = {await status(f"{up.console}{filled(path)}", method) for path, method, _, _ in ROUTES}
    assert found <= {303, 401, 403}


async def test_no_route_of_the_hub_is_a_web_pages(up: Addresses, tmp_path: Path) -> None:
    """Neither an Origin nor a foreign Host comes past its edge."""
    async with (
        standing(tmp_path / "other") as house,
        open_agent(house.home, AgentWishes(is_offline=True), house=house) as agent,
    ):
        paths = [filled(path) for path, _ in walk_routes(hub_app(agent.hub, house.ids))]
    assert len(paths) > 10
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        assert {await status(f"{up.hub}{path}", "POST", headers) for path in paths} == {403}


@pytest.mark.req("GTW-013a")
async def test_a_foreign_host_is_refused_on_every_listener(up: Addresses) -> None:
    """At the doors too, whatever the path; and an Origin wherever no page of ours is."""
    for url in (up.doors, up.console):
        for path in (*DOORS, "/", "/metrics", "/api/receipts/checkpoint", "/sign-in", WELL_KNOWN):
            for host in ("evil.example", "shop.example.evil", "shop.example@evil.example", "localhost.evil.example"):
                assert await status(url + path, headers={"host": host}) == 403, (url, path, host)
    for url in (f"{up.doors}{path}" for path in (*DOORS, "/", "/api/receipts/checkpoint")):
        assert await status(url, headers={"origin": "https://evil.example"}) == 403, url
    assert await status(f"{up.console}/metrics", headers={"origin": up.console or ""}) == 403


async def test_a_hosts_domain_is_served_beside_the_doors_and_is_not_the_doors(up: Addresses) -> None:
    """Its document under its own name alone; under that name no door, and under the doors' no document."""
    shop = {"host": "shop.example"}
    assert up.served == ("shop.example",)
    assert await status(up.doors + WELL_KNOWN, headers=shop) == 200
    assert await status(up.doors + WELL_KNOWN) == 404
    assert {await status(up.doors + path, "POST", shop) for path in DOORS} == {404}
    assert await status(up.doors + "/api/receipts/checkpoint", headers=shop) == 404


async def test_no_listener_answers_anothers_paths(up: Addresses) -> None:
    """The console no doors', the doors no console's or hub's, the hub neither."""
    elsewhere = {
        up.console: (*DOORS, "/api/receipts/checkpoint", "/.well-known/agent-card.json", "/adapters", "/sessions"),
        up.doors: ("/sign-in", "/gate", "/agents", "/metrics", "/adapters", "/sessions", "/static/htmx.min.js"),
        up.hub: (*DOORS, "/sign-in", "/gate", "/metrics", "/api/receipts/checkpoint"),
    }
    for url, paths in elsewhere.items():
        assert {path: await status(f"{url}{path}") for path in paths} == dict.fromkeys(paths, 404)


@pytest.mark.req("GTW-050")
async def test_metrics_count_crossings_and_are_shown_at_the_console_alone(up: Addresses) -> None:
    """By door, outcome and code."""
    for path in ("/api/protocols/mcp/message", "/api/protocols/tasks"):
        assert await status(up.doors + path) == 401
    async with httpx2.AsyncClient(trust_env=False) as client:
        shown = (await client.get(f"{up.console}/metrics")).text
    for door in ("mcp", "tasks"):
        assert f'sayso_crossings_total{{code="missing_key",door="{door}",outcome="refused"}} 1.0' in shown
    assert await status(f"{up.console}/metrics", "POST") == 405


@pytest.mark.parametrize(
    "settings",
    [
        'gateway_origin = "https://shop.example"',
        'keyapp_origin = "https://shop.example"',
        'gateway_origin = "https://me.example"\nkeyapp_origin = "https://me.example"',
        'keyapp_origin = "https://localhost"',
    ],
)
async def test_a_name_leads_to_one_application(tmp_path: Path, settings: str) -> None:
    """Of two under one name one would be out of reach and nobody told: refused before anything listens."""
    async with hosting(tmp_path, settings) as (house, host):
        with pytest.raises(Refused) as no:
            async with serving_house(house, 0, environ={}, host=host):
                pass
    assert no.value.refusal.code == "settings_invalid"


async def test_three_names_lead_to_three_applications(tmp_path: Path) -> None:
    """The public name of the doors, the key app's, and the shop's, on one listener."""
    settings = 'gateway_origin = "https://doors.example"\nkeyapp_origin = "https://keys.example"'
    async with hosting(tmp_path, settings) as (house, host), serving_house(house, 0, environ={}, host=host) as at:
        names = ("doors.example", "keys.example", "shop.example")
        mcp = [await status(f"{at.doors}/api/protocols/mcp/message", headers={"host": name}) for name in names]
        document = [await status(at.doors + WELL_KNOWN, headers={"host": name}) for name in names]
    assert (mcp, document) == ([401, 404, 404], [404, 404, 200])


async def test_what_the_hub_keeps_is_kept_in_the_house_it_serves(tmp_path: Path) -> None:
    """In the sample world's own home too, which is a folder inside the person's."""
    async with standing(tmp_path) as house, serving_house(house, 0, environ={}):
        assert (house.home.path / "sessions.jsonl").is_file()
        assert not (house.home.path.parent / "sessions.jsonl").exists()


@pytest.mark.req("GTW-013", "GTW-060")
async def test_the_owner_is_shown_violations_for_as_long_as_they_count(tmp_path: Path) -> None:
    """The guard's setting and the console's are one."""
    clock = ManualClock(START)
    async with standing(tmp_path, clock=clock) as house:
        opened = open_gateway(house, {"SAYSO_GATEWAY_VIOLATION_HOURS": "1"})
        issued = await opened.desk.agents.issue("ada", by="owner")
        headers = sign(issued.key, b"", clock=clock) | {"X-OSz-Signature": "0" * 64}
        pairs = tuple((name.lower().encode(), value.encode()) for name, value in headers.items())
        crossing = Crossing(door="mcp", method="POST", target=b"/", headers=pairs, body=b"", peer="192.0.2.1")
        await opened.gateway.enter(crossing, ToyDoor().deny)
        counted = [(await opened.desk.agents.find(issued.agent.id)).violations]
        clock.advance(timedelta(minutes=61))
        counted.append((await opened.desk.agents.find(issued.agent.id)).violations)
    assert counted == [1, 0]


async def test_a_database_that_is_away_for_a_moment_ends_no_work() -> None:
    """The work begins again; anything else is a bug and is seen. Wrapped as it comes out of a group of tasks, too."""
    clock, tries = ManualClock(START), 0

    async def fail(error: Exception) -> None:
        raise error

    async def work() -> Never:
        nonlocal tries
        tries += 1
        async with anyio.create_task_group() as group:
            group.start_soon(fail, Unavailable("restarting") if tries < 3 else ValueError("a bug"))
        raise AssertionError

    async def let_time_pass() -> None:
        while True:
            if clock.sleepers:
                clock.advance(timedelta(seconds=5))
            await anyio.sleep(0)

    async def keep_working() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(let_time_pass)
            await going_on(work, clock)

    with pytest.raises(BaseExceptionGroup) as ended:
        await keep_working()
    assert (tries, ended.group_contains(ValueError), ended.group_contains(Unavailable)) == (3, True, False)
