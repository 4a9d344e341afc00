"""Replay slots: one effect and one answer for a key."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from sayso.store import replay
from sayso.store.replay import Conflict, Fresh, Running, Stored
from sayso.store.unit import Store, Unit
from sayso.testing.store import START

UNTIL = START + timedelta(hours=24)
THIS, OTHER = b"\1" * 32, b"\2" * 32
SLOT = replay.slot("agent", "principal", "POST /holds", "key-1")


def claim(store: Store, *, scope: str = SLOT, fingerprint: bytes = THIS) -> replay.Claim:
    return store.run(lambda unit: replay.claim(unit, scope, fingerprint, UNTIL))


def answer(store: Store, status: int = 201, body: bytes = b'{"hold":1}', *, scope: str = SLOT) -> replay.Claim:
    """A whole request: claims, and keeps an answer where the claim is fresh."""

    def act(unit: Unit) -> replay.Claim:
        found = replay.claim(unit, scope, THIS, UNTIL)
        if isinstance(found, Fresh):
            replay.keep(unit, scope, status, body)
        return found

    return store.run(act)


@pytest.mark.req("SCH-064", "SCH-070")
def test_the_same_request_gets_the_first_answer_again(store: Store, clock: ManualClock) -> None:
    """The very bytes, until the window ends."""
    assert answer(store) == Fresh()
    clock.advance(timedelta(hours=24) - timedelta(microseconds=1))
    assert answer(store, body=b"another") == Stored(201, b'{"hold":1}')


@pytest.mark.req("SCH-065")
def test_the_same_key_for_another_request_is_a_conflict(store: Store) -> None:
    """Whether the first was answered or is still running."""
    claim(store, scope="running")
    answer(store)
    assert claim(store, fingerprint=OTHER) == claim(store, scope="running", fingerprint=OTHER) == Conflict()


@pytest.mark.req("SCH-066")
def test_a_deterministic_refusal_is_replayed(store: Store) -> None:
    """A taken slot stays taken for the request that asked for it."""
    answer(store, 409, b"taken")
    assert answer(store) == Stored(409, b"taken")


@pytest.mark.req("SCH-066")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_a_retry_must_be_able_to_pass_is_never_kept(store: Store, status: int) -> None:
    """Neither a rate limit nor a failure of ours; the slot is released, and the retry is fresh."""
    with pytest.raises(Misuse, match="is not kept"):
        answer(store, status)

    def act(unit: Unit) -> None:
        replay.claim(unit, SLOT, THIS, UNTIL)
        replay.release(unit, SLOT)

    store.run(act)
    assert answer(store) == Fresh()


@pytest.mark.req("SCH-069")
def test_a_failed_unit_gives_its_slot_back(store: Store) -> None:
    """A key that had no effect is still good for one."""

    def act(unit: Unit) -> None:
        assert replay.claim(unit, SLOT, THIS, UNTIL) == Fresh()
        raise Refused.because("no", "no")

    with pytest.raises(Refused):
        store.run(act)
    assert answer(store) == Fresh()


def test_a_claim_without_an_answer_is_running(store: Store) -> None:
    """Intent and outcome may be two units; between them the key is neither fresh nor answered."""
    assert [claim(store), claim(store)] == [Fresh(), Running()]
    store.run(lambda unit: replay.keep(unit, SLOT, 200, b"ok"))
    assert claim(store) == Stored(200, b"ok")


@pytest.mark.req("SCH-070")
def test_after_its_window_a_key_means_nothing(store: Store, clock: ManualClock) -> None:
    """Even for another request."""
    answer(store)
    clock.advance(timedelta(hours=24))
    assert store.run(lambda unit: replay.claim(unit, SLOT, OTHER, UNTIL + timedelta(hours=24))) == Fresh()


@pytest.mark.req("SCH-067", "SCH-071")
def test_no_two_scopes_share_a_slot() -> None:
    """Another agent, principal, operation or key is another slot, also where the joined text would be the same."""
    parts = [
        ("agent", "principal", "POST /holds", "key-1"),
        ("agent2", "principal", "POST /holds", "key-1"),
        ("agent", "principal2", "POST /holds", "key-1"),
        ("agent", "principal", "POST /bookings", "key-1"),
        ("agent", "principal", "POST /holds", "key-2"),
        ("agent", "principal", "POST /hold", "skey-1"),
        ("agentprincipal", "", "POST /holds", "key-1"),
    ]
    assert len({replay.slot(*each) for each in parts}) == len(parts)


def test_an_answer_is_kept_once_and_only_for_a_claim(store: Store) -> None:
    """Anything else is a bug in the caller's order."""
    answer(store)
    for call in (lambda unit: replay.keep(unit, SLOT, 200, b""), lambda unit: replay.release(unit, SLOT)):
        with pytest.raises(Misuse, match="nobody holds"):
            store.run(call)
    with pytest.raises(Misuse, match="nobody holds"):
        store.run(lambda unit: replay.keep(unit, "never claimed", 200, b""))


def test_pruning_forgets_slots_whose_window_is_over(store: Store, clock: ManualClock) -> None:
    """A bounded number at a time, and none that still means something."""
    for count in range(5):
        answer(store, scope=str(count))
    assert store.run(replay.prune) == 0
    clock.advance(timedelta(hours=24))
    assert [store.run(lambda unit: replay.prune(unit, 3)), store.run(replay.prune)] == [3, 2]


def test_claims_forget_slots_whose_window_is_over_on_the_way(store: Store, clock: ManualClock) -> None:
    """Nobody has to prune for them: one in sixteen, by its request's hash, pays for the removal of many."""
    for number in range(40):
        claim(store, scope=f"old {number}", fingerprint=bytes([16 + number]) * 32)
    clock.advance(timedelta(hours=24))
    for number in range(2):
        later = UNTIL + timedelta(hours=24)
        store.run(lambda unit, n=number, until=later: replay.claim(unit, f"new {n}", bytes([n]) * 32, until))
    assert store.run(lambda unit: replay.prune(unit)) == 0
