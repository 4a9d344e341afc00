"""The outbox: written with its cause, claimed by lease, settled by whoever holds the claim."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from sayso.store import outbox
from sayso.store.outbox import Delivery
from sayso.store.unit import Store, Unit
from sayso.testing.store import START

LEASE = timedelta(seconds=30)


def put(store: Store, *names: str, **more: object) -> list[bool]:
    return store.run(lambda unit: [outbox.put(unit, "mail", key, key.encode(), **more) for key in names])


def claim(store: Store, worker: str = "w1", *, limit: int = 10) -> list[Delivery]:
    return store.run(lambda unit: outbox.claim(unit, "mail", worker, LEASE, limit=limit))


def names(deliveries: list[Delivery]) -> list[tuple[str, int]]:
    return [(each.key, each.attempt) for each in deliveries]


def test_what_a_unit_put_is_claimed_once_it_is_committed(store: Store) -> None:
    """With its bytes, the first attempt, and a lease that ends."""
    put(store, "a")
    assert claim(store) == [Delivery("mail", "a", b"a", 1, "w1", START + LEASE)]
    assert store.run(lambda unit: outbox.claim(unit, "other topic", "w1", LEASE)) == []


def test_what_a_failed_unit_put_is_never_delivered(store: Store) -> None:
    """No letter about a booking that was not made."""

    def body(unit: Unit) -> None:
        outbox.put(unit, "mail", "a", b"")
        raise Refused.because("no", "no")

    with pytest.raises(Refused):
        store.run(body)
    assert claim(store) == []


def test_a_key_is_delivered_once(store: Store) -> None:
    """Putting it again changes nothing, also when it is settled."""
    assert [put(store, "a"), put(store, "a")] == [[True], [False]]
    (delivery,) = claim(store)
    store.run(lambda unit: outbox.done(unit, delivery))
    assert [put(store, "a"), claim(store)] == [[False], []]


def test_the_oldest_are_claimed_first_and_none_before_it_is_due(store: Store, clock: ManualClock) -> None:
    """Equal due times go by key."""
    put(store, "late", due=START + timedelta(hours=1))
    put(store, "b", "a")
    put(store, "first", due=START - timedelta(hours=1))
    assert [names(claim(store, limit=2)), names(claim(store))] == [[("first", 1), ("a", 1)], [("b", 1)]]
    assert store.read(lambda view: outbox.next_due(view, "mail")) == START + LEASE
    clock.advance(timedelta(hours=1))
    assert names(claim(store)) == [("a", 2), ("b", 2), ("first", 2), ("late", 1)]


def test_a_claimed_delivery_is_nobody_elses_until_its_lease_ends(store: Store, clock: ManualClock) -> None:
    """Then it is due again, and the attempt is counted."""
    put(store, "a")
    claim(store)
    clock.advance(LEASE - timedelta(microseconds=1))
    assert claim(store, "w2") == []
    clock.advance(timedelta(microseconds=1))
    assert names(claim(store, "w2")) == [("a", 2)]


def test_who_lost_its_lease_cannot_settle(store: Store, clock: ManualClock) -> None:
    """Its whole unit is undone; the new holder settles."""
    put(store, "a")
    (lost,) = claim(store)
    clock.advance(LEASE)
    (held,) = claim(store)

    def settle(unit: Unit) -> None:
        outbox.put(unit, "mail", "outcome", b"")
        outbox.done(unit, lost)

    for call in (settle, lambda u: outbox.give_up(u, lost, ""), lambda u: outbox.retry(u, lost, LEASE, "")):
        with pytest.raises(Refused) as caught:
            store.run(call)
        assert caught.value.refusal.code == "claim_lost"
    store.run(lambda unit: outbox.done(unit, held))
    clock.advance(LEASE)
    assert claim(store) == []


def test_a_late_worker_settles_what_nobody_else_took(store: Store, clock: ManualClock) -> None:
    """The work is done; that its lease had run out is no reason to do it twice."""
    put(store, "a")
    (delivery,) = claim(store)
    clock.advance(2 * LEASE)
    store.run(lambda unit: outbox.done(unit, delivery))
    assert claim(store) == []


def test_a_delivery_is_settled_once(store: Store) -> None:
    """Also after a retry that gave the claim back."""
    put(store, "a", "b")
    first, second = claim(store)
    store.run(lambda unit: outbox.done(unit, first))
    store.run(lambda unit: outbox.retry(unit, second, timedelta(0), "busy"))
    for delivery in (first, second):
        with pytest.raises(Refused):
            store.run(lambda unit, delivery=delivery: outbox.done(unit, delivery))


def test_a_retry_waits_and_giving_up_is_for_good(store: Store, clock: ManualClock) -> None:
    """The attempts go on counting."""
    put(store, "a")
    (delivery,) = claim(store)
    store.run(lambda unit: outbox.retry(unit, delivery, timedelta(minutes=5), "503"))
    clock.advance(timedelta(minutes=5) - timedelta(microseconds=1))
    assert claim(store) == []
    clock.advance(timedelta(microseconds=1))
    (again,) = claim(store)
    store.run(lambda unit: outbox.give_up(unit, again, "410"))
    clock.advance(timedelta(days=30))
    assert (again.attempt, claim(store), store.read(lambda view: outbox.next_due(view, "mail"))) == (2, [], None)


def test_backing_off_doubles_up_to_a_bound() -> None:
    """And stays there, however many attempts there were."""
    waits = [outbox.backoff(n, first=timedelta(seconds=5), most=timedelta(minutes=1)) for n in (1, 2, 3, 4, 5, 6, 500)]
    assert [each.total_seconds() for each in waits] == [5, 10, 20, 40, 60, 60, 60]


def test_a_lease_of_nothing_is_refused(store: Store) -> None:
    """It would hand the same delivery to everybody at once."""
    with pytest.raises(Misuse, match="lease"):
        store.run(lambda unit: outbox.claim(unit, "mail", "w1", timedelta(0)))


def test_settled_deliveries_are_removed_after_a_while(store: Store, clock: ManualClock) -> None:
    """A bounded number at a time; what is due stays, and a removed key may be put again."""
    put(store, "a", "b", "c", "due")
    for delivery in claim(store, limit=3):
        store.run(lambda unit, delivery=delivery: outbox.done(unit, delivery))
    before = START + timedelta(days=1)
    assert store.run(lambda unit: outbox.prune(unit, START - LEASE)) == 0
    assert [store.run(lambda unit, n=n: outbox.prune(unit, before, n)) for n in (2, 9)] == [2, 1]
    assert (names(claim(store)), put(store, "a")) == ([("due", 1)], [True])
