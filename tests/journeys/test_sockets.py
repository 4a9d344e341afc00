"""The house driven only through its sockets, by another process: the hub's and the host's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sayso.apps.home import open_home
from sayso.apps.keys import AGENT, PRINCIPAL
from sayso.control.client.http import HubClient
from sayso.control.protocol.consent import read_consent_question
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallFailed, PermissionRequested
from sayso.control.protocol.payloads.run import RunCompleted
from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher
from sayso.scheduling.keyapp.app import KeyApp
from sayso.store.vault import Vault
from sayso.world.process import find_world
from tests.journeys.house import ASKS, host_kinds, kinds, running

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def hub(home: Path) -> Iterator[str]:
    """The hub's URL; the house runs in a process of its own, and its world in another."""
    with running("serve", "--world", "--home", str(home), "--addr", "127.0.0.1:0") as (_, line):
        assert line.startswith("hub: http://127.0.0.1:"), line
        yield line.removeprefix("hub: ")


@asynccontextmanager
async def key_app(home: Path) -> AsyncIterator[KeyApp]:
    """The person's own surface in this process: it has their keys, the hub does not ask it for them."""
    place = open_home(home, is_world=True)
    vault = Vault(place.path, place.clock)
    async with Fetcher(await find_world(home) or {}) as fetcher:
        yield KeyApp(vault, fetcher, place.clock, SystemIds(), name=PRINCIPAL, agent=vault.public(AGENT).thumbprint)


async def events(client: HubClient, words: str, answer) -> list[Envelope]:
    session = await client.open("sayso")
    run = await client.submit(session.session_id, words)
    seen = []
    async for event in client.events(session.session_id, run_id=run.run_id, after=0):
        seen.append(event)
        if isinstance(event.payload, PermissionRequested):
            await answer(event)
    return seen


@pytest.mark.req("OAP-017", "OAP-102", "OAP-105", "SCH-377")
async def test_a_surface_that_signs_books_over_the_hub(home: Path, hub: str) -> None:
    """Another process reads the questions from the wire, signs with the person's key, and the booking stands."""
    texts = []
    async with HubClient(hub, ids=SystemIds()) as client, key_app(home) as app:

        async def sign(event: Envelope[PermissionRequested]) -> None:
            question = read_consent_question(event)
            assert question is not None
            shown = await app.present(question.kind, question.document_bytes)
            texts.append((question.kind, shown.text == event.payload.description))
            await client.resolve(event, granted=True, signed=app.sign(shown, "human_present"))

        seen = await events(client, ASKS, sign)
    assert texts == [("limits", True), ("offer", True), ("management", True)]
    assert isinstance(seen[-1].payload, RunCompleted)
    assert host_kinds(home).count("booking.confirmed") == 1


@pytest.mark.req("OAP-017")
async def test_a_bare_grant_from_another_process_books_nothing(home: Path, hub: str) -> None:
    """A yes on the wire is a message. Without the person's signature there is no hold, let alone a booking."""
    async with HubClient(hub, ids=SystemIds()) as client:

        async def grant(event: Envelope[PermissionRequested]) -> None:
            await client.resolve(event, granted=True)

        seen = await events(client, ASKS, grant)
    assert any(isinstance(event.payload, ActionCallFailed) for event in seen)
    assert host_kinds(home) == []
    found = kinds(home)
    assert ("act.refused" in found, "guest.hold_placed" in found, "act.started" in found) == (True, False, False)


async def test_a_stolen_signature_for_the_limits_does_not_approve_the_offer(home: Path, hub: str) -> None:
    """Each question wants its own document: replaying the first one for the second books nothing."""
    kept: list[str] = []
    async with HubClient(hub, ids=SystemIds()) as client, key_app(home) as app:

        async def replay(event: Envelope[PermissionRequested]) -> None:
            question = read_consent_question(event)
            assert question is not None
            if not kept:
                shown = await app.present(question.kind, question.document_bytes)
                kept.append(app.sign(shown, "human_present"))
            await client.resolve(event, granted=True, signed=kept[0])

        await events(client, ASKS, replay)
    found = host_kinds(home)
    assert ("hold.placed" in found, "booking.confirmed" in found) == (True, False)
    assert "hold.released" in found


async def test_a_signature_by_another_key_holds_nothing(home: Path, hub: str, tmp_path: Path) -> None:
    """The right document signed by the wrong person."""
    async with HubClient(hub, ids=SystemIds()) as client, key_app(home) as app:
        stranger = Vault(tmp_path / "stranger", open_home(home, is_world=True).clock)
        stranger.create(PRINCIPAL)
        async with Fetcher(await find_world(home) or {}) as fetcher:
            agent = Vault(home / "world", open_home(home, is_world=True).clock).public(AGENT).thumbprint
            clock = open_home(home, is_world=True).clock
            other = KeyApp(stranger, fetcher, clock, SystemIds(), name=PRINCIPAL, agent=agent)

            async def sign(event: Envelope[PermissionRequested]) -> None:
                question = read_consent_question(event)
                assert question is not None
                shown = await other.present(question.kind, question.document_bytes)
                await client.resolve(event, granted=True, signed=other.sign(shown, "human_present"))

            await events(client, ASKS, sign)
        assert app.principal != other.principal
    assert host_kinds(home) == []


async def test_a_cancelled_run_gives_back_what_it_held(home: Path, hub: str) -> None:
    """The surface walks away at the second question; by the run's end the host has its time again."""
    async with HubClient(hub, ids=SystemIds()) as client, key_app(home) as app:

        async def sign_then_cancel(event: Envelope[PermissionRequested]) -> None:
            question = read_consent_question(event)
            assert question is not None
            if question.kind == "limits":
                shown = await app.present(question.kind, question.document_bytes)
                await client.resolve(event, granted=True, signed=app.sign(shown, "human_present"))
            else:
                await client.cancel(event.payload.session_id, event.payload.run_id)

        seen = await events(client, ASKS, sign_then_cancel)
    assert seen[-1].type == "run.cancelled"
    assert host_kinds(home) == ["hold.placed", "hold.released"]
