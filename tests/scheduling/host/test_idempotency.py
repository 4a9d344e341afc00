"""One intent, one effect: replays, conflicts, what is kept and what is not, on both engines."""

import asyncio
from datetime import timedelta

import pytest

from sayso.core.refusal import PeerUnreachable
from sayso.proof.hashes import sha256_b64u
from tests.scheduling.host.town import BASE, ONE, one_bay, open_town, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

TWO = "2026-10-15T14:00:00-04:00"


@pytest.mark.req("SCH-063", "SCH-064", "SCH-069")
async def test_a_repeated_request_gets_the_same_bytes_marked_and_changes_nothing(store, clock):
    """A hold and a confirm, each sent twice: one of each, the second answers byte for byte the first."""
    async with open_town(store, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        first = await sam.hold(mandate, idempotency_key="hold-0001")
        before = await town.rows()
        again = await sam.hold(mandate, idempotency_key="hold-0001")
        assert (again.status, again.body, again.header("idempotent-replayed")) == (201, first.body, "true")
        assert (first.header("idempotent-replayed"), await town.rows()) == (None, before)
        hold = read(first, 201)
        confirmed = await sam.confirm(hold, mandate, idempotency_key="confirm-01")
        repeated = await sam.confirm(hold, mandate, idempotency_key="confirm-01")
        assert (repeated.body, repeated.header("idempotent-replayed")) == (confirmed.body, "true")
        assert len((await town.rows())["host_booking"]) == 1
        assert await town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("SCH-065", "SCH-071")
async def test_a_key_reused_for_another_body_or_mandate_is_a_conflict(store, clock):
    """Another start, or the same words under another mandate: neither is the same request."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 5})
        read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)
        before = await town.rows()
        assert reason(await sam.hold(mandate, idempotency_key="hold-0001", start=TWO), 409) == "key_reused"
        other = sam.mandate(constraints={"max_bookings": 5})
        assert reason(await sam.hold(other, idempotency_key="hold-0001"), 409) == "key_reused"
        assert await town.rows() == before


@pytest.mark.req("SCH-067", "SCH-071")
async def test_a_key_is_its_agents_and_its_principals_own(store, clock):
    """The same key from another agent, or from this agent for another person, is another key."""
    async with open_town(store, clock) as town:
        sam = town.guest()
        kim = town.guest(agent=sam.agent)
        jo = town.guest(key=sam.key)
        answers = [
            await guest.hold(guest.mandate(), idempotency_key="hold-0001", start=f"2026-10-15T{hour}:00:00-04:00")
            for guest, hour in ((sam, 11), (kim, 12), (jo, 13))
        ]
        assert [(answer.status, answer.header("idempotent-replayed")) for answer in answers] == [(201, None)] * 3


@pytest.mark.req("SCH-066")
async def test_a_taken_slot_is_kept_and_replayed_and_a_full_pool_is_not(tmp_path, clock):
    """The 409 of a taken slot stays the answer to that key; a cap can be passed by trying again."""
    async with open_town_on_file(tmp_path, clock, one_bay()) as town:
        sam, kim = town.guest(), town.guest()
        held = read(await sam.hold(sam.mandate()), 201)
        mandate = kim.mandate(constraints={"max_bookings": 1})
        taken = await kim.hold(mandate, idempotency_key="hold-0001")
        assert reason(taken, 409) == "slot_taken"
        read(await sam.release(held), 200)
        replayed = await kim.hold(mandate, idempotency_key="hold-0001")
        assert (replayed.body, replayed.header("idempotent-replayed")) == (taken.body, "true")
        first = read(await kim.hold(mandate, start=TWO), 201)
        assert reason(await kim.hold(mandate, idempotency_key="hold-0002"), 403) == "limit_reached"
        read(await kim.release(first), 200)
        read(await kim.hold(mandate, idempotency_key="hold-0002"), 201)


@pytest.mark.req("SCH-068")
async def test_a_replay_is_authorised_again(store, clock):
    """An hour later the mandate has expired: the stored answer is not handed out under it."""
    async with open_town(store, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)
        clock.advance(timedelta(hours=1, minutes=1))
        assert reason(await sam.hold(mandate, idempotency_key="hold-0001"), 403) == "mandate_expired"


@pytest.mark.req("SCH-070")
async def test_after_the_window_a_key_means_nothing(tmp_path, clock):
    """A day later the same key and bytes are a new request."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(exp=sam.claims()["iat"] + 3 * 86_400, constraints={"max_bookings": 2})
        first = read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)
        clock.advance(timedelta(days=1) - timedelta(seconds=1))
        assert read(await sam.hold(mandate, idempotency_key="hold-0001"), 201) == first
        clock.advance(timedelta(seconds=1))
        assert read(await sam.hold(mandate, idempotency_key="hold-0001"), 201)["hold_id"] != first["hold_id"]


@pytest.mark.req("SCH-069")
async def test_concurrent_duplicates_have_one_effect(store, clock):
    """Eight copies of one confirm at once: one booking, eight times the same bytes."""
    async with open_town(store, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        hold = read(await sam.hold(mandate), 201)
        answers = await asyncio.gather(*(sam.confirm(hold, mandate, idempotency_key="confirm-01") for _ in range(8)))
        assert {answer.body for answer in answers} == {answers[0].body}
        assert sorted(answer.header("idempotent-replayed") or "fresh" for answer in answers) == ["fresh"] + ["true"] * 7
        assert len((await town.rows())["host_booking"]) == 1


@pytest.mark.req("SCH-069")
async def test_a_lost_answer_to_a_confirm_is_found_by_retrying(tmp_path, clock):
    """The connection is cut before the answer is read; the retry gets the one booking there is."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam, mandate = (guest := town.guest()), guest.mandate()
        hold = read(await sam.hold(mandate), 201)
        with pytest.raises(PeerUnreachable):
            await sam.client.send(
                "POST",
                f"{BASE}/holds/{hold['hold_id']}/confirm",
                b'{"idempotency_key":"confirm-01","offer_sha256":"' + offer_hash(hold) + b'"}',
                extra_headers=[("SchCP-Mandate", mandate)],
                max_bytes=1,
            )
        again = await sam.confirm(hold, mandate, idempotency_key="confirm-01")
        assert again.header("idempotent-replayed") == "true"
        booking = read(again, 201)["booking"]
        shown = read(await sam.send("GET", f"/holds/{hold['hold_id']}"), 200)
        assert (shown["status"], shown["booking_id"]) == ("confirmed", booking["booking_id"])
        assert len((await town.rows())["host_booking"]) == 1


def offer_hash(hold):
    return sha256_b64u(hold["offer"]).encode()


async def test_the_same_key_on_another_path_is_another_key(tmp_path, clock):
    """Method and path belong to a key's scope: two holds are confirmed under one."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"max_bookings": 2})
        for start in (ONE, TWO):
            hold = read(await sam.hold(mandate, start=start), 201)
            read(await sam.confirm(hold, mandate, idempotency_key="confirm-01"), 201)
