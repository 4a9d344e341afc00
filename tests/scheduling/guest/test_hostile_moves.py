"""A host that approves and lies: about a move nobody accepted, about what waits, about its own proposal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sayso.core.durations import parse_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.scheduling.guest.moving import accept_change, request_change
from sayso.scheduling.guest.reading import refresh
from sayso.scheduling.terms.change import AcceptRequest
from sayso.world.maple_street import maple_street_auto
from tests.scheduling.guest.hostile import HostileFetcher, edited, resigned
from tests.scheduling.host.frontdesk import TWO_HOURS, front_desk, with_staff
from tests.scheduling.host.town import HOST, open_town_on_file, read
from tests.scheduling.tools.household import open_household

pytestmark = pytest.mark.anyio

LATER = "2026-10-15T14:30:00-04:00"


@pytest.fixture
async def street(tmp_path, clock):
    """An approving shop whose answers are altered on their way, and Sam's household, whose limits are enough."""
    config = maple_street_auto()
    asking = with_staff(replace(config, policies=replace(config.policies, confirmation=TWO_HOURS)))
    async with open_town_on_file(tmp_path, clock, asking) as town:
        fetcher = HostileFetcher(town.port)
        async with fetcher, open_household(tmp_path / "guest", clock, fetcher, limits_only=True) as home:
            yield town, front_desk(town), home, fetcher


async def booked(home, desk):
    """A booking the shop said yes to, as the guest keeps it, and the limits it was made under."""
    answer = await home.booked()
    read(await desk.act("approve", answer["booking_id"]), 200)
    document = await home.guest.document(HOST)
    booking = await refresh(home.guest, document, await home.guest.book.booking(answer["booking_id"]))
    return document, booking, await home.guest.book.mandate(booking.limits)


@pytest.mark.req("SCH-230")
async def test_a_move_that_was_never_accepted_is_not_believed(street):
    """Asked for and left lying here; the host shows it as agreed under the limits."""
    _, desk, home, _ = street
    document, booking, limits = await booked(home, desk)
    change = await request_change(home.guest, document, booking, LATER, parse_duration("PT5M"), limits)
    ask = AcceptRequest(idempotency_key="behind-their-back", offer_sha256=change.offer_sha256)
    await home.guest.client(document).accept_change(booking.booking_id, change.offer_id, ask, limits.token)
    read(await desk.act("approve", booking.booking_id), 200)
    with pytest.raises(Refused) as refused:
        await refresh(home.guest, document, booking)
    assert refused.value.refusal.reason == "receipt_invalid"
    assert (await home.guest.book.booking(booking.booking_id)).sequence == 0


@pytest.mark.req("SCH-224", "SCH-230")
async def test_a_move_that_waits_has_to_be_the_one_we_accepted(street):
    """The receipt names another offer: nothing is kept of it."""
    _, desk, home, fetcher = street
    document, booking, limits = await booked(home, desk)
    change = await request_change(home.guest, document, booking, LATER, parse_duration("PT5M"), limits)

    def other(answer):
        answer["booking"]["awaiting_host"]["offer_sha256"] = "c" * 43
        answer["receipt"] = resigned(answer["receipt"], lambda claims: claims.update(booking=answer["booking"]))

    fetcher.rules["/accept"] = edited(other)
    with pytest.raises(Refused) as refused:
        await accept_change(home.guest, document, booking, change, limits)
    assert refused.value.refusal.reason == "receipt_invalid"
    kept = await home.guest.book.booking(booking.booking_id)
    assert (kept.version, kept.start) == (booking.version, parse_instant("2026-10-15T13:00:00-04:00"))
