"""The sentences a person signs, word for word, from the reader's side."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.consent_text import (
    limits_text,
    management_text,
    offer_text,
    unverified_identity,
    verified_identity,
)
from sayso.scheduling.terms.draft import LimitsDraft
from sayso.scheduling.terms.mandate import Constraints
from sayso.scheduling.terms.offer import OfferClaims
from tests.scheduling.terms.samples import HASH, HOST, JKT, PRINCIPAL, document, money, offer
from tests.scheduling.terms.test_receipt_checks import booking

NOT_SOONER = (
    "I cannot take it back sooner, only wait until it ends: this key app has no address where Maple Street Auto "
    "could ask."
)
PAID = "I pay Maple Street Auto CAD 89.27 directly: Synthetic oil change CAD 79.00, HST 13% CAD 10.27."
KEPT = "Maple Street Auto keeps my booking details for 1 year after the booking."


def said(**changed):
    claims = strictjson.decode(strictjson.encode(offer(**changed)), OfferClaims)
    return offer_text(claims, verified_identity(document()))


def draft(**changed):
    found = {
        "host": HOST,
        "agent": JKT,
        "scope": ["hold", "book", "cancel", "reschedule"],
        "services": ["oil-change"],
        "window": {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"},
        "max_bookings": 1,
        "lifetime": "PT1H",
        "max_price": money("100.00"),
        **changed,
    }
    found = {name: value for name, value in found.items() if value is not None}
    return strictjson.decode(strictjson.encode(found), LimitsDraft)


@pytest.mark.req("SCH-168", "SCH-169", "SCH-161")
def test_the_walkthroughs_offer():
    """Service, host and verified domain, day, times and zone, what is paid to whom, how long records are kept."""
    assert said() == (
        "I approve: Synthetic oil change at Maple Street Auto (maplestreetauto.example), Thursday 15 October 2026 "
        f"from 1:00 p.m. to 1:45 p.m. Eastern time. {PAID} {KEPT}"
    )


@pytest.mark.req("SCH-160")
def test_an_offer_with_somebody_in_particular():
    """The everyday name of who was asked for."""
    assert said(resource_name="Alex").startswith(
        "I approve: Synthetic oil change with Alex at Maple Street Auto (maplestreetauto.example), Thursday"
    )


@pytest.mark.req("SCH-166", "SCH-169")
def test_an_open_ended_offer_without_a_price_elsewhere():
    """No end, no money, and the place the guest named."""
    text = said(end=None, open_end=True, total=None, lines=None, place={"at": "elsewhere", "name": "Trinity Park"})
    assert text == (
        "I approve: Synthetic oil change at Maple Street Auto (maplestreetauto.example), Thursday 15 October 2026 "
        f"from 1:00 p.m. Eastern time, open-ended, at Trinity Park. {KEPT}"
    )


def test_an_offer_at_my_address():
    """As much of it as the host needs."""
    place = {"at": "guest", "postal_code": "M6J 1H4", "country": "CA"}
    assert "1:45 p.m. Eastern time, at my address (M6J 1H4, CA). I pay" in said(place=place)


@pytest.mark.req("SCH-169")
def test_an_offer_that_the_host_answers_says_by_when_and_what_silence_means():
    """Deadline in words; nothing is booked without an answer, and a change leaves what was."""
    answer_by = "2026-10-13T11:00:00-04:00"
    assert (
        "Maple Street Auto answers by Tuesday 13 October 2026 at 11:00 a.m.; if it does not, nothing is booked."
    ) in said(answer_by=answer_by)
    change = {"booking_id": "b_1", "replaces": HASH}
    assert "if it does not, my booking stays as it is." in said(answer_by=answer_by, change=change, hold_id=None)


@pytest.mark.req("SCH-222")
def test_a_change_offer_says_that_it_is_one():
    """The person approves a change to what they have."""
    text = said(change={"booking_id": "b_1", "replaces": HASH}, hold_id=None)
    assert text.startswith("I approve this change to my booking: Synthetic oil change at Maple Street Auto (maple")


@pytest.mark.req("SCH-106")
def test_an_identity_nobody_verified_is_labelled():
    """What is claimed is quoted, and said to be claimed."""
    claims = strictjson.decode(strictjson.encode(offer()), OfferClaims)
    assert offer_text(claims, unverified_identity(HOST, claims.title)).startswith(
        'I approve: Synthetic oil change at "Maple Street Auto" (claims to be maplestreetauto.example, not verified), '
        "Thursday 15 October 2026 from"
    )
    assert limits_text(draft(), None).startswith(
        f'I allow my assistant to hold and book one appointment at "{HOST}" (claims to be maplestreetauto.example, '
        'not verified): "oil-change", on Thursday 15 October 2026 between 3:00 p.m. and 7:45 p.m. UTC'
    )


@pytest.mark.req("SCH-094", "SCH-077", "SCH-085")
def test_the_walkthroughs_limits():
    """What, where, when, how much, for how long, and that it cannot be taken back sooner."""
    assert limits_text(draft(), document()) == (
        "I allow my assistant to hold and book one appointment at Maple Street Auto (maplestreetauto.example): "
        "Synthetic oil change, on Thursday 15 October 2026 between 11:00 a.m. and 3:45 p.m. Eastern time, for at most "
        "CAD 100.00 in total. Within these limits it may also cancel or move that booking. My permission lasts 1 hour "
        f"from when I sign. {NOT_SOONER}"
    )


def test_limits_over_several_services_days_and_bookings():
    """Each limit in its own words; no ceiling means only what has no price."""
    text = limits_text(
        draft(
            scope=["hold", "book"],
            services=["oil-change", "diagnosis"],
            window={"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-16T15:45:00-04:00"},
            max_bookings=2,
            lifetime="P2D",
            max_price=None,
        ),
        document(),
    )
    assert text == (
        "I allow my assistant to hold and book up to 2 appointments at Maple Street Auto (maplestreetauto.example): "
        "Synthetic oil change or Brake diagnosis, between Thursday 15 October 2026 at 11:00 a.m. and Friday 16 October "
        "2026 at 3:45 p.m. Eastern time, only where no price is stated. My permission lasts 2 days from when I sign. "
        f"{NOT_SOONER}"
    )


@pytest.mark.req("SCH-086", "SCH-253")
def test_the_walkthroughs_management():
    """One booking, until it is over; moves inside the limits that were signed."""
    found = strictjson.decode(strictjson.encode(booking()), Booking)
    limits = Constraints(window=draft().window, max_price=draft().max_price)
    opening = (
        "I allow my assistant to cancel or move this one booking until the appointment is over: Synthetic oil change "
        "at Maple Street Auto (maplestreetauto.example), Thursday 15 October 2026 from 1:00 p.m. to 1:45 p.m. Eastern "
        "time. Cancelling is free."
    )
    identity = verified_identity(document())
    assert management_text(found, limits, identity) == (
        f"{opening} A move has to stay on Thursday 15 October 2026 between 11:00 a.m. and 3:45 p.m. Eastern time and "
        f"for at most CAD 100.00 in total, or I approve the new offer myself. {NOT_SOONER}"
    )
    assert management_text(found, Constraints(), identity) == (
        f"{opening} A move needs my approval of the new offer. {NOT_SOONER}"
    )


@pytest.mark.req("SCH-161", "SCH-172")
def test_retention_is_said_in_everyday_units():
    """Years of 365 days, else days."""
    assert said(retention="P730D").endswith("for 2 years after the booking.")
    assert said(retention="P90D").endswith("for 90 days after the booking.")


def test_the_text_depends_on_nothing_an_agent_could_write():
    """Offer and draft have no member for prose; the guest's id is not shown."""
    assert PRINCIPAL not in said()
    assert "statement" not in LimitsDraft.__struct_fields__
