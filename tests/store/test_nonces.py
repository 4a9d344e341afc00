"""Nonces: spent once, forgotten in time, bounded for each scope."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import func, select

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.store import nonces
from sayso.store.tables.store import nonce_scopes
from sayso.store.tables.store import nonces as table
from sayso.store.unit import Reading, Store, Unit, statement
from sayso.testing.store import START, fresh_store

SECOND = timedelta(seconds=1)
UNTIL = START + 70 * SECOND
COUNTED = statement(select(nonce_scopes.c.scope, nonce_scopes.c.kept).order_by(nonce_scopes.c.scope))
ROWS = statement(select(table.c.scope, func.count()).group_by(table.c.scope).order_by(table.c.scope))


def spend(store: Store, nonce: str, *, scope: str = "alice", until: datetime = UNTIL, cap: int = 3) -> bool:
    return store.run(lambda unit: nonces.spend(unit, scope, nonce, until, cap=cap))


@pytest.mark.req("SCH-062", "GTW-012")
def test_a_nonce_is_fresh_once(store: Store) -> None:
    """The second use is a replay, in this scope and in no other."""
    assert [spend(store, "n"), spend(store, "n"), spend(store, "n", scope="bob")] == [True, False, True]


@pytest.mark.req("SCH-062")
def test_a_nonce_is_remembered_until_its_message_is_stale(store: Store, clock: ManualClock) -> None:
    """To the last microsecond before, and not from then on."""
    assert spend(store, "n")
    clock.advance(70 * SECOND - timedelta(microseconds=1))
    assert not spend(store, "n")
    clock.advance(timedelta(microseconds=1))
    assert spend(store, "n", until=UNTIL + 70 * SECOND)


def test_a_message_that_became_stale_on_the_way_is_not_fresh(store: Store, clock: ManualClock) -> None:
    """It could be remembered no longer than not at all, so two of them would both pass."""
    clock.advance(70 * SECOND)
    assert [spend(store, "n"), spend(store, "n")] == [False, False]


def test_a_nonce_of_a_unit_that_failed_is_not_spent(store: Store) -> None:
    """Nonce and effect commit together or not at all."""

    def body(unit: Unit) -> None:
        assert nonces.spend(unit, "alice", "n", UNTIL)
        raise Refused.because("no", "no")

    with pytest.raises(Refused):
        store.run(body)
    assert spend(store, "n")


def test_a_full_scope_is_refused_and_forgets_nothing(store: Store, clock: ManualClock) -> None:
    """A flood under one key closes that key for a while; nobody's live nonce is evicted, and other keys go on."""
    assert [spend(store, nonce) for nonce in "abc"] == [True] * 3
    with pytest.raises(Refused) as caught:
        spend(store, "d")
    assert caught.value.refusal.code == "nonce_memory_full"
    assert [spend(store, nonce) for nonce in "abc"] == [False] * 3
    assert spend(store, "d", scope="bob")
    clock.advance(70 * SECOND)
    assert spend(store, "d", until=UNTIL + 70 * SECOND)


def test_a_caught_refusal_leaves_the_nonce_unspent(store: Store) -> None:
    """The unit that receipts the refusal commits, and the refused nonce is not in it."""
    assert [spend(store, nonce) for nonce in "abc"] == [True] * 3

    def body(unit: Unit) -> None:
        with pytest.raises(Refused):
            nonces.spend(unit, "alice", "d", UNTIL, cap=3)

    store.run(body)
    assert spend(store, "d", cap=4)
    assert store.read(lambda view: view.all(COUNTED)) == [("alice", 4)]


def test_pruning_forgets_scopes_that_never_come_back(store: Store, clock: ManualClock) -> None:
    """A bounded number at a time, and a scope without nonces leaves nothing behind."""
    for scope in ("alice", "bob"):
        for nonce in "ab":
            spend(store, nonce, scope=scope)
    spend(store, "late", scope="bob", until=UNTIL + SECOND)
    assert store.run(nonces.prune) == 0
    clock.advance(70 * SECOND)
    assert [store.run(lambda unit: nonces.prune(unit, 3)), store.run(nonces.prune)] == [3, 1]
    assert store.read(lambda view: view.all(COUNTED)) == [("bob", 1)]


def test_a_scope_that_goes_on_forgets_what_is_stale_on_the_way(store: Store, clock: ManualClock) -> None:
    """Nobody has to prune for it: what it keeps stays near what still means something."""
    for number in range(200):
        assert spend(store, f"n{number}", until=clock.now() + 10 * SECOND, cap=1_000)
        clock.advance(SECOND)
    assert store.read(lambda view: view.all(COUNTED))[0][1] < 10 + 32


class NonceMemory(RuleBasedStateMachine):
    """Any order of spending, waiting and pruning, against a dictionary that remembers everything."""

    cap = 4

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.clock = ManualClock(START)
        self.store = fresh_store(Path(self.folder.name), self.clock)
        self.live: dict[tuple[str, str], datetime] = {}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(scope=st.sampled_from("ab"), nonce=st.sampled_from("pqrstuvw"), seconds=st.integers(-1, 30))
    def spend(self, scope: str, nonce: str, seconds: int) -> None:
        until = self.clock.now() + seconds * SECOND
        held = sum(key[0] == scope for key in self.live)
        try:
            fresh = spend(self.store, nonce, scope=scope, until=until, cap=self.cap)
        except Refused:
            assert held == self.cap
            assert (scope, nonce) not in self.live
            return
        assert fresh == (seconds > 0 and (scope, nonce) not in self.live)
        if fresh:
            assert held < self.cap
            self.live[scope, nonce] = until

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds * SECOND)
        self.live = {key: until for key, until in self.live.items() if until > self.clock.now()}

    @rule(limit=st.integers(1, 5))
    def prune(self, limit: int) -> None:
        self.store.run(lambda unit: nonces.prune(unit, limit))

    @invariant()
    def counts_are_right(self) -> None:
        """Invariant I-STORE-1."""

        def both(view: Reading) -> tuple[dict[str, int], dict[str, int]]:
            return dict(view.all(COUNTED)), dict(view.all(ROWS))

        counted, rows = self.store.read(both)
        assert counted == rows


TestNonceMemory = NonceMemory.TestCase
TestNonceMemory.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
