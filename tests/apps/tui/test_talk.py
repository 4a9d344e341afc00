"""One conversation over a hub: what happens when the hub goes, and comes back."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sayso.apps.tui.talk import Talk, Waiting
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.http import HubClient
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.history import History
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds

pytestmark = pytest.mark.anyio
IDS = SystemIds()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def _served(port: int, adapter: MemoryAdapter, history: History) -> AsyncIterator[Hub]:
    hub = Hub(Registry({"memory": adapter}), clock=SystemClock(), ids=IDS, history=history)
    async with hub, serving_hub(hub, IDS, port=port):
        yield hub


async def _until(holds: Callable[[], object]) -> None:
    for _ in range(4000):
        if holds():
            return
        await anyio.sleep(0.005)
    raise AssertionError("it never came")


def _talk(client: HubClient, told: list[str], **named: Any) -> Talk:
    return Talk(client, "memory", changed=lambda: None, tell=told.append, look_every=0.02, **named)


@pytest.mark.req("OAP-209")
async def test_a_lost_hub_is_told_once_and_the_conversation_goes_on_at_the_next() -> None:
    """While it is gone nothing is lost; the hub that comes after it takes the conversation up."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    told: list[str] = []
    async with HubClient(f"http://127.0.0.1:{port}", first_pause=0.001) as client, anyio.create_task_group() as tasks:
        talk = _talk(client, told, is_ours=False)
        async with _served(port, adapter, history):
            await talk.open({})
            tasks.start_soon(talk.follow)
            await talk.say("script: plain one")
            await _until(lambda: talk.running is None)
        await _until(lambda: talk.is_lost)
        async with _served(port, adapter, history):
            await _until(lambda: not talk.is_lost)
            await _until(lambda: any("goes on where it was kept" in line for line in told))
            await talk.say("script: plain two")
            await _until(lambda: talk.running is None)
            talk.end()
    assert sum("The connection is lost" in line for line in told) == 1
    assert sum("The connection is back" in line for line in told) == 1
    texts = [getattr(block, "text", "") for block in talk.story.blocks]
    assert {"Done: script: plain one", "Done: script: plain two"} <= set(texts)


@pytest.mark.req("OAP-209")
async def test_a_session_that_is_joined_late_is_told_from_its_start() -> None:
    """What was said before, and what is said now, each once."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    told: list[str] = []
    async with _served(port, adapter, history), HubClient(f"http://127.0.0.1:{port}") as client:
        first, second = _talk(client, told), _talk(client, told, is_ours=False)
        async with anyio.create_task_group() as tasks:
            await first.open({})
            tasks.start_soon(first.follow)
            await first.say("script: plain before")
            await _until(lambda: first.running is None)
            await second.open({"session_id": first.session_id}, attach=True)
            tasks.start_soon(second.follow)
            await _until(lambda: second.has_spoken and second.running is None)
            await first.say("script: plain after")
            await _until(lambda: sum("Done" in getattr(b, "text", "") for b in second.story.blocks) == 2)
            first.end()
            second.end()
    texts = [block.text for block in second.story.blocks if getattr(block, "text", "").startswith("Done")]
    assert texts == ["Done: script: plain before", "Done: script: plain after"]
    assert told == []


async def test_a_text_that_cannot_be_sent_is_not_in_the_queue() -> None:
    """Half a character is refused before anything is sent, and nothing waits afterwards."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    async with _served(port, adapter, history), HubClient(f"http://127.0.0.1:{port}") as client:
        talk = _talk(client, [])
        await talk.open({})
        await talk.say("script: hold")
        with pytest.raises(Exception, match="half a character"):
            await talk.say("\ud800")
        assert talk.queue == []


@pytest.mark.req("OAP-209")
async def test_nothing_overtakes_what_waits_on_this_side() -> None:
    """Where the hub has room again, a later text is no reservation while an earlier one waits here."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    async with _served(port, adapter, history), HubClient(f"http://127.0.0.1:{port}") as client:
        talk = _talk(client, [])
        await talk.open({})
        for text in ("script: hold", "two", "three"):
            await talk.say(text)
        assert await talk.drop(talk.waiting[0])
        await talk.say("four")
        assert [(each.text, each.run_id) for each in talk.waiting] == [("three", None), ("four", None)]


@pytest.mark.req("OAP-209")
async def test_a_conversation_is_left_while_a_run_says_nothing() -> None:
    """`follow` returns at `end`, though the run goes on and is silent; the run is cancelled by who closes."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    async with _served(port, adapter, history), HubClient(f"http://127.0.0.1:{port}") as client:
        talk = _talk(client, [])
        await talk.open({})
        await talk.say("script: hold")
        over = anyio.Event()

        async def follow() -> None:
            await talk.follow()
            over.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await _until(lambda: any("hold" in getattr(block, "text", "") for block in talk.story.blocks))
            await _until(lambda: talk.story.run_status == "running")
            talk.end()
            await _until(over.is_set)
            tasks.cancel_scope.cancel()
        assert over.is_set()
        assert talk.running is not None


@pytest.mark.req("OAP-209")
async def test_a_text_whose_turn_came_and_that_cannot_be_said_is_given_back() -> None:
    """What waited here and is refused when it is sent goes back to where it was typed."""
    port, adapter, history = _free_port(), MemoryAdapter(clock=SystemClock(), ids=IDS), History(issuer="h")
    told: list[str] = []
    back: list[str] = []
    async with _served(port, adapter, history), HubClient(f"http://127.0.0.1:{port}") as client:
        talk = _talk(client, told, put_back=back.append)
        await talk.open({})
        talk.waiting.append(Waiting("half \ud800"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.follow)
            await _until(lambda: back)
            talk.end()
    assert back == ["half \ud800"]
    assert told[0].startswith("Not sent: ")
    assert talk.queue == []
