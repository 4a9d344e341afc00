"""Sessions and subscriptions as rows, on both engines."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.doors.mcp.sessions import LASTS, MOST_SESSIONS, MOST_SUBSCRIPTIONS, McpSession, Sessions, Subscribed
from sayso.store.unit import Store

pytestmark = pytest.mark.anyio


async def open_one(sessions: Sessions, store: Store, name: str, agent: str = "ada") -> None:
    await store.unit(lambda unit: sessions.open_in(unit, name, agent, "2025-11-25"))


async def code_of(sessions: Sessions, name: str, agent: str = "ada") -> str | None:
    try:
        await sessions.find(name, agent)
    except Refused as no:
        return no.refusal.code
    return None


@pytest.mark.req("GTW-002")
async def test_a_session_is_its_agents_and_its_owners(store: Store) -> None:
    """To everybody else it does not exist."""
    sessions = Sessions(store, "house")
    await open_one(sessions, store, "s1")
    assert await sessions.find("s1", "ada") == McpSession("s1", "2025-11-25")
    assert await code_of(sessions, "s1", "eve") == "unknown_session"
    assert await code_of(Sessions(store, "other house"), "s1") == "unknown_session"
    with pytest.raises(Refused):
        await store.unit(lambda unit: sessions.end_in(unit, "s1", "eve"))
    assert await code_of(sessions, "s1") is None


async def test_a_session_runs_out(store: Store, clock: ManualClock) -> None:
    """After a day; and the next one opened takes its row away."""
    sessions = Sessions(store, "house")
    await open_one(sessions, store, "s1")
    clock.advance(LASTS - timedelta(microseconds=1))
    assert await code_of(sessions, "s1") is None
    clock.advance(timedelta(microseconds=1))
    assert await code_of(sessions, "s1") == "unknown_session"
    await open_one(sessions, store, "s2")
    await open_one(sessions, store, "s1")
    assert await code_of(sessions, "s1") is None


async def test_an_agents_oldest_session_makes_room(store: Store, clock: ManualClock) -> None:
    """Its own, and nobody else's."""
    sessions = Sessions(store, "house")
    await open_one(sessions, store, "eves", "eve")
    for number in range(MOST_SESSIONS + 1):
        clock.advance(timedelta(seconds=1))
        await open_one(sessions, store, f"s{number}")
    assert await code_of(sessions, "s0") == "unknown_session"
    assert await code_of(sessions, "s1") is None
    assert await code_of(sessions, "eves", "eve") is None


async def test_a_move_is_told_by_one_stream(store: Store) -> None:
    """Whichever raises the row; with an event number that is never given twice in a session."""
    sessions = Sessions(store, "house")
    await open_one(sessions, store, "s1")
    await store.unit(lambda unit: sessions.subscribe_in(unit, "s1", "ada", "osz://proposals/p", 1))
    assert await sessions.tell("s1", "osz://proposals/p", 1) is None
    first = await sessions.tell("s1", "osz://proposals/p", 2)
    assert await sessions.tell("s1", "osz://proposals/p", 2) is None
    second = await sessions.tell("s1", "osz://proposals/p", 3)
    assert first is not None
    assert second is not None
    assert first < second
    assert await sessions.subscriptions("s1", "ada") == [Subscribed("osz://proposals/p", 3, second)]
    await store.unit(lambda unit: sessions.unsubscribe_in(unit, "s1", "ada", "osz://proposals/p"))
    assert await sessions.subscriptions("s1", "ada") == []


async def test_a_session_listens_to_so_much(store: Store) -> None:
    """And no further; what ended takes its subscriptions with it."""
    sessions = Sessions(store, "house")
    await open_one(sessions, store, "s1")
    for number in range(MOST_SUBSCRIPTIONS):
        await store.unit(lambda unit, uri=f"u{number}": sessions.subscribe_in(unit, "s1", "ada", uri, 0))
    with pytest.raises(Refused) as caught:
        await store.unit(lambda unit: sessions.subscribe_in(unit, "s1", "ada", "one more", 0))
    assert caught.value.refusal.code == "too_many_calls"
    await store.unit(lambda unit: sessions.end_in(unit, "s1", "ada"))
    await open_one(sessions, store, "s1")
    assert await sessions.subscriptions("s1", "ada") == []
