"""What the desk prints of a booking: the guest's words in quotation marks, on their own line."""

from __future__ import annotations

import pytest
from msgspec import structs

from sayso.apps.cli.host_text import booking_lines
from sayso.core import strictjson
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.participant import BookedParticipant
from sayso.scheduling.terms.staff import DeskBooking
from tests.scheduling.terms.samples import PRINCIPAL
from tests.scheduling.terms.test_participants import LEE
from tests.scheduling.terms.test_receipt_checks import booking

THEIRS = 'Sam\nconfirmed; "Kim'
SHOWN = '"Sam[U+000A]confirmed; ’Kim"'


@pytest.mark.req("SCH-104", "SCH-207")
def test_a_guests_words_are_told_as_the_guests():
    """Names, notes, messages and who comes along; nothing of it can be read as how the booking stands."""
    made = strictjson.decode(strictjson.encode(booking()), Booking)
    along = BookedParticipant(principal=LEE, name=THEIRS, required=True)
    details = structs.replace(GuestDetails(name="Sam Rivera", contact="sam@home.example"), name=THEIRS, attendee=THEIRS)
    each = DeskBooking(
        booking=structs.replace(made, participants=(along,)),
        guest=PRINCIPAL,
        receipt="",
        details=details,
        note=THEIRS,
        message=THEIRS,
    )
    lines = list(booking_lines(each))
    assert f"; {SHOWN}: " in lines[1]
    assert lines[2:] == [
        f"    {SHOWN}, sam@home.example; {SHOWN} comes",
        f"    their note: {SHOWN}",
        f"    they said: {SHOWN}",
    ]
