"""Users and sign-ins as rows, on both engines: what the database keeps, and what it lets two processes do."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest
from sqlalchemy import func, select

from sayso.apps.console.logins import ABSOLUTE, IDLE, find_login, sign_in, sign_out, touch
from sayso.apps.console.users import add_user, list_users, remove_user
from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.ledger.ledger import Ledger
from sayso.store.open import open_store
from sayso.store.statements import statement
from sayso.store.tables.console import console_login
from sayso.store.unit import Store
from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import location, store
from tests.apps.console.desks import PASSWORD, PASSWORDS

__all__ = ("location", "postgres", "postgres_server", "store")

pytestmark = pytest.mark.anyio
OWNER, IDS = "urn:ada", SystemIds()
COUNT = statement(select(func.count()).select_from(console_login))


async def signed_in(store: Store, name: str = "ada", owner: str = OWNER) -> str:
    ledger = Ledger(store, "sayso/test", store.clock)
    return await sign_in(store, ledger, IDS, PASSWORDS, owner, name, PASSWORD, "127.0.0.1")


async def add(store: Store, name: str = "ada", owner: str = OWNER) -> None:
    ledger, secret = Ledger(store, "sayso/test", store.clock), PASSWORDS.secret(PASSWORD)
    await store.unit(lambda unit: add_user(unit, ledger, owner, name, "owner", secret, by="test"))


async def is_in(store: Store, token: str, owner: str = OWNER) -> bool:
    return await store.reading(lambda view: find_login(view, owner, token)) is not None


@pytest.mark.req("GTW-060")
async def test_a_sign_in_lives_as_long_as_it_is_used_and_old_ones_are_tidied(store: Store, clock: ManualClock) -> None:
    """Thirty minutes from the last use, twelve hours in all; what is over goes with the next sign-in."""
    await add(store)
    token = await signed_in(store)
    for _ in range(3):
        clock.advance(IDLE - timedelta(seconds=1))
        login = await store.reading(lambda view: find_login(view, OWNER, token))
        assert login is not None
        await touch(store, OWNER, login, clock.now())
    clock.advance(IDLE)
    assert not await is_in(store, token)
    later = await signed_in(store)
    assert await store.reading(lambda view: view.all(COUNT)) == [(1,)]
    clock.advance(ABSOLUTE)
    assert not await is_in(store, later)


@pytest.mark.req("GTW-060")
async def test_a_sign_in_of_one_house_opens_no_other(store: Store) -> None:
    """One database may hold several houses; names and tokens are each house's own."""
    await add(store)
    await add(store, owner="urn:bob")
    token = await signed_in(store)
    assert (await is_in(store, token), await is_in(store, token, "urn:bob")) == (True, False)
    login = await store.reading(lambda view: find_login(view, OWNER, token))
    assert login is not None
    ledger = Ledger(store, "sayso/test", store.clock)
    await sign_out(store, ledger, "urn:bob", login)
    assert await is_in(store, token)
    await store.unit(lambda unit: remove_user(unit, ledger, "urn:bob", "ada", by="test"))
    assert await is_in(store, token)


@pytest.mark.req("GTW-060")
async def test_two_processes_that_add_one_name_add_it_once(location: str, clock: ManualClock) -> None:
    """Whoever is second is told; the secret of the first stands."""
    with open_store(location, clock) as one, open_store(location, clock) as other:
        refused: list[str] = []

        async def adding(where: Store) -> None:
            try:
                await add(where)
            except Refused as failed:
                refused.append(failed.refusal.code)

        async with anyio.create_task_group() as group:
            for where in (one, other):
                group.start_soon(adding, where)
        users = await one.reading(lambda view: list_users(view, OWNER))
        assert ([each.name for each in users], refused) == (["ada"], ["user_exists"])
        assert await is_in(other, await signed_in(one))


@pytest.mark.req("GTW-060")
async def test_tries_are_counted_across_processes(location: str, clock: ManualClock) -> None:
    """Five for a name, wherever they are made."""
    with open_store(location, clock) as one, open_store(location, clock) as other:
        await add(one)
        for count in range(5):
            await signed_in(one if count % 2 else other)
        for where in (one, other):
            with pytest.raises(Refused) as caught:
                await signed_in(where)
            assert caught.value.refusal.code == "too_many_tries"
