"""Seats for tests: a hub in this process over the reference adapter, and the screen over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.composer import Composer
from sayso.apps.tui.opening import HubSeat
from sayso.apps.tui.seat import OpensSeat, Seat, Wanted
from sayso.apps.tui.view.blocks import NoteBlock, SaidBlock, TextBlock
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.local import LocalClient
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds


def memory_hub(adapter: Any = None) -> Hub:
    ids = SystemIds()
    adapter = adapter or MemoryAdapter(clock=SystemClock(), ids=ids)
    return Hub(Registry({"memory": adapter}), clock=SystemClock(), ids=ids)


def opens(hub: Hub | None = None, **named: Any) -> OpensSeat:
    """Opens a seat at a hub of its own, or at one that somebody else entered."""

    @asynccontextmanager
    async def open_seat(wanted: Wanted) -> AsyncIterator[Seat]:
        if hub is not None:
            yield HubSeat(client=LocalClient(hub), adapter="memory", **named)
            return
        async with memory_hub() as own, LocalClient(own) as client:
            yield HubSeat(client=client, adapter="memory", **named)

    return open_seat


def wanted(tmp_path: Path, **named: Any) -> Wanted:
    return Wanted(home=tmp_path / "home", workspace=named.pop("workspace", tmp_path), **named)


def screen(tmp_path: Path, opener: OpensSeat | None = None, *, look_every: float = 0.01, **named: Any) -> SaysoApp:
    return SaysoApp(wanted(tmp_path, **named), opener or opens(), look_every=look_every, grace=0)


@asynccontextmanager
async def running(app: SaysoApp, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """The screen, its agent open and its conversation begun."""
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.talk is not None)
        yield pilot


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Waits on a condition, and fails when it has looked often enough."""
    for _ in range(2000):
        if holds():
            return
        await pilot.pause(0.005)
    raise AssertionError(f"it never came: {told(pilot.app)}")


async def enter(pilot: Pilot[None], text: str) -> None:
    """Types a text and sends it."""
    pilot.app.query_one(Composer).put(text)
    await pilot.press("enter")


def told(app: SaysoApp) -> str:
    """Every text of the story, in order."""
    found = []
    for block in app._story.blocks if app._story else ():
        if isinstance(block, SaidBlock | NoteBlock | TextBlock):
            found.append(block.text)
    return "\n".join([*found, *app._notes])


Context = AbstractAsyncContextManager
