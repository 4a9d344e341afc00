"""The `acts` table alone: leases, the proof of a claim, and what an unfinished intent leaves."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from sayso.governance import claims
from sayso.governance.claims import Claim
from sayso.store.unit import Store, Unit
from sayso.testing.store import START

pytestmark = pytest.mark.anyio

OWNER = "house.example"
LEASE = timedelta(seconds=10)


def offered(store: Store, *names: str) -> None:
    for name in names:
        store.run(lambda unit, name=name: claims.offer(unit, OWNER, name))


def claimed(store: Store, worker: str = "w1", limit: int = 8) -> list[Claim]:
    return store.run(lambda unit: claims.claim(unit, OWNER, worker, LEASE, limit=limit))


@pytest.mark.req("GTW-033")
def test_a_claim_is_a_lease(store: Store, clock: ManualClock) -> None:
    """Nobody else gets it until the lease ends, and then its attempt is another."""
    offered(store, "a", "b")
    assert claimed(store, limit=1) == [Claim(OWNER, "a", "w1", 1, left=False, tries=0)]
    assert claimed(store, "w2") == [Claim(OWNER, "b", "w2", 1, left=False, tries=0)]
    assert claimed(store, "w3") == []
    clock.advance(LEASE)
    assert claimed(store, "w3") == [
        Claim(OWNER, "a", "w3", 2, left=False, tries=0),
        Claim(OWNER, "b", "w3", 2, left=False, tries=0),
    ]


@pytest.mark.req("GTW-033")
def test_another_owners_acts_are_not_claimed(store: Store) -> None:
    """Each house does its own."""
    store.run(lambda unit: claims.offer(unit, "other.example", "a"))
    assert claimed(store) == []


@pytest.mark.req("GTW-033")
async def test_an_act_is_claimed_once_however_many_ask(store: Store) -> None:
    """Twenty acts, eight askers at once: each act in one answer."""
    for number in range(20):
        await store.unit(lambda unit, number=number: claims.offer(unit, OWNER, f"a{number:02}"))
    answers = await asyncio.gather(
        *(
            store.unit(lambda unit, each=each: claims.claim(unit, OWNER, f"w{each}", LEASE, limit=5))
            for each in range(8)
        )
    )
    names = sorted(claim.proposal for answer in answers for claim in answer)
    assert names == sorted(set(names))
    assert set(names) <= {f"a{number:02}" for number in range(20)}
    assert len(names) + len(await store.unit(lambda unit: claims.claim(unit, OWNER, "w", LEASE, limit=20))) == 20


@pytest.mark.req("GTW-033")
@pytest.mark.parametrize(
    "write",
    [
        claims.settle,
        claims.hold,
        claims.intend,
        claims.park,
        lambda unit, it: claims.renew(unit, it, LEASE),
        lambda unit, it: claims.postpone(unit, it, unit.now),
    ],
    ids=["settle", "hold", "intend", "park", "renew", "postpone"],
)
def test_a_claim_that_was_taken_over_writes_nothing(store: Store, clock: ManualClock, write: object) -> None:
    """The attempt is the proof: the same worker's older one is no better than a stranger's."""
    offered(store, "a")
    (old,) = claimed(store)
    clock.advance(LEASE)
    (new,) = claimed(store)
    with pytest.raises(Refused) as refused:
        store.run(lambda unit: write(unit, old))  # type: ignore[operator]
    assert refused.value.refusal.code == "claim_lost"
    store.run(lambda unit: write(unit, new))  # type: ignore[operator]


@pytest.mark.req("GTW-033")
def test_a_renewed_lease_ends_later(store: Store, clock: ManualClock) -> None:
    """From the moment of the renewal."""
    offered(store, "a")
    (claim,) = claimed(store)
    clock.advance(timedelta(seconds=9))
    store.run(lambda unit: claims.renew(unit, claim, LEASE))
    clock.advance(timedelta(seconds=9))
    assert claimed(store, "w2") == []
    clock.advance(timedelta(seconds=1))
    assert len(claimed(store, "w2")) == 1


@pytest.mark.req("GTW-033")
def test_an_intent_without_an_outcome_is_seen_by_the_next_claim(store: Store, clock: ManualClock) -> None:
    """And counted, until an answer or an outcome ends it."""
    offered(store, "a")
    seen = []
    for _ in range(3):
        (claim,) = claimed(store)
        seen.append((claim.left, claim.tries))
        store.run(lambda unit, claim=claim: claims.intend(unit, claim))
        clock.advance(LEASE)
    assert seen == [(False, 0), (True, 1), (True, 2)]
    (claim,) = claimed(store)
    store.run(lambda unit: claims.park(unit, claim))
    clock.advance(timedelta(days=1))
    assert claimed(store) == []
    store.run(lambda unit: claims.offer_again(unit, OWNER, "a"))
    (claim,) = claimed(store)
    assert (claim.left, claim.tries, claim.attempt) == (False, 0, 5)
    store.run(lambda unit: claims.settle(unit, claim))
    clock.advance(LEASE)
    assert claimed(store) == []


def test_what_is_due_next_is_known(store: Store, clock: ManualClock) -> None:
    """So that a worker can sleep until then; what waits for a person is due never."""

    def due() -> object:
        return store.read(lambda view: claims.next_due(view, OWNER))

    assert due() is None
    offered(store, "a")
    assert due() == START
    (claim,) = claimed(store)
    assert due() == START + LEASE
    store.run(lambda unit: claims.postpone(unit, claim, START + timedelta(hours=1)))
    assert due() == START + timedelta(hours=1)
    clock.advance(timedelta(hours=1))
    (claim,) = claimed(store)
    store.run(lambda unit: claims.park(unit, claim))
    assert due() is None


def test_an_act_that_is_not_there_cannot_go_on(store: Store) -> None:
    """An answer to a proposal without an act is a bug of ours."""

    def body(unit: Unit) -> None:
        claims.offer_again(unit, OWNER, "nothing")

    with pytest.raises(Misuse):
        store.run(body)
