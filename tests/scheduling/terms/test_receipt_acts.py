"""The acts a receipt can prove, each with the statuses it leaves; whatever contradicts itself proves nothing."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Refused
from tests.scheduling.terms.test_receipt_checks import OFFER, booking, receipt, verified

OTHER = "b" * 43
CONTRACT = OFFER.sha256
AT = "2026-10-13T13:00:00Z"
THEN = "2026-10-15T14:00:00-04:00"


def waits(sha256=OTHER):
    return {"offer_sha256": sha256, "start": THEN, "answer_by": AT}


def refused_move(sha256=OTHER):
    return {"offer_sha256": sha256, "start": THEN, "at": AT, "reason": "not_answered"}


def proposed(sha256=OTHER):
    return {"offer_id": "o_2", "offer_sha256": sha256, "start": THEN, "expires_at": AT}


GOOD = {
    "requested": booking("pending_host", answered=None),
    "expired": booking("expired", answered=None),
    "declined": booking("declined", declined={"by": "host", "at": AT}, answered=None),
    "cancelled": booking("cancelled", cancelled={"by": "host", "at": AT, "reason": "Flooded."}),
    "move_requested": booking(awaiting_host=waits()),
    "move_declined": booking(declined_change=refused_move()),
    "proposed": booking(proposed=proposed()),
    "proposal_over": booking(),
    "completed": booking("completed"),
    "attended": booking("completed", attended=True),
    "no_show": booking("no_show"),
}


@pytest.mark.req("SCH-195", "SCH-198")
@pytest.mark.parametrize("act", sorted(GOOD))
def test_each_act_is_proved_by_a_receipt_that_agrees_with_itself(act):
    """The whole booking, as it stands after it."""
    assert verified(receipt(GOOD[act], act=act), GOOD[act]).claims.act == act


BAD = {
    "a yes that still waits": ("confirmed", booking("pending_host"), "$.act"),
    "a request that is confirmed": ("requested", booking(), "$.act"),
    "a mark on what is ahead": ("no_show", booking(), "$.act"),
    "declined without the host's no": ("declined", booking("declined"), "$.booking.declined"),
    "confirmed with a no": ("confirmed", booking(declined={"by": "host", "at": AT}), "$.booking.declined"),
    "waiting but already moved": ("move_requested", booking(awaiting_host=waits(CONTRACT)), "$.booking.awaiting_host"),
    "waiting for nothing": ("move_requested", booking(), "$.booking.awaiting_host"),
    "waiting beside an end": ("completed", booking("completed", awaiting_host=waits()), "$.booking.awaiting_host"),
    "declined yet moved": (
        "move_declined",
        booking(declined_change=refused_move(CONTRACT)),
        "$.booking.declined_change",
    ),
    "a refusal of nothing": ("move_declined", booking(), "$.booking.declined_change"),
    "a proposal of what is agreed": ("proposed", booking(proposed=proposed(CONTRACT)), "$.booking.proposed"),
    "ended with an agreed end": ("ended", booking("completed", ended=AT), "$.booking.ended"),
    "came before it was over": ("confirmed", booking(attended=True), "$.booking.attended"),
}


@pytest.mark.req("SCH-193", "SCH-195", "SCH-230")
@pytest.mark.parametrize("name", sorted(BAD))
def test_a_receipt_that_contradicts_itself_is_refused(name):
    """Nobody relies on it, whoever signed it."""
    act, inner, place = BAD[name]
    with pytest.raises(Refused) as caught:
        verified(receipt(inner, act=act), inner)
    assert (caught.value.refusal.reason, caught.value.refusal.place) == ("receipt_invalid", place)
