"""Views of the tools' results: the published members are found, anything else reads as absent."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.provider.planner.conversation import Fact
from sayso.control.provider.planner.found import No, Slot, read_bookings, read_catalog, read_no, read_slots
from sayso.control.provider.planner.steps import Call

EASTERN = timezone(timedelta(hours=-4))
FREE = "2026-10-15T13:30:00-04:00"
ELSEWHERE = No("", "m", (Slot(datetime(2026, 10, 15, 13, 30, tzinfo=EASTERN), FREE, None),))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def failed(result: object) -> No:
    return read_no(Fact(Call("x"), result, is_error=True))


@pytest.mark.parametrize(
    ("result", "no"),
    [
        ({"refused": {"code": "SLOT_TAKEN", "reason": "slot_taken", "message": "Taken."}}, No("slot_taken", "Taken.")),
        ({"error": "permission_denied", "message": "no"}, No("permission_denied", "no")),
        ("it broke", No("", "it broke")),
        (None, No("", "The tool gave no reason.")),
        ({"refused": {"message": "m", "details": {"alternatives": [{"start": FREE}, {"start": "x"}]}}}, ELSEWHERE),
    ],
)
def test_a_refusal_is_read_in_every_form_it_comes_in(result: object, no: No) -> None:
    """The kernel's, the loop's, bare words, nothing at all."""
    assert failed(result) == no


def test_slots_keep_the_hosts_clock_and_their_order() -> None:
    """Times without an offset are none."""
    result = {
        "slots": [
            {"start": "2026-10-15T14:00:00-04:00", "total": {"amount": "5.00", "currency": "CAD"}},
            {"start": "2026-10-15T13:00:00-04:00"},
            {"start": "2026-10-15T12:00:00"},
        ],
        "more_from": "x",
    }
    slots, more = read_slots(result)
    assert [(slot.clock.hour, slot.total) for slot in slots] == [(13, None), (14, (Decimal("5.00"), "CAD"))]
    assert more == "x"


@given(ANYTHING)
def test_no_shape_of_json_breaks_a_view(result: object) -> None:
    """What is missing is absent."""
    assert read_catalog(result).hosts == ()
    assert read_bookings(result) == ()
    assert read_slots({"slots": result})[0] == ()
    assert failed(result).message
