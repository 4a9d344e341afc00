"""From what an assistant asks to the limits a person signs."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.money import Money
from sayso.core.refusal import Refused
from sayso.scheduling.tools.arguments import Ceiling, HoldSlot
from sayso.scheduling.tools.wanted import differences, read_ceiling, read_wanted
from tests.scheduling.terms.samples import HOST, JKT, NOW, document, money

ASK = {
    "host": HOST,
    "service_id": "oil-change",
    "start": "2026-10-15T13:00",
    "earliest_start": "2026-10-15T11:00",
    "latest_start": "2026-10-15T15:00",
    "max_price": {"amount": "100"},
}


def wanted(**changed):
    ask = {name: value for name, value in {**ASK, **changed}.items() if value is not None}
    return read_wanted(strictjson.decode(strictjson.encode(ask), HoldSlot), document(), JKT, NOW)


@pytest.mark.req("SCH-377", "SCH-077", "SCH-085")
def test_the_walkthroughs_ask_becomes_the_walkthroughs_limits():
    """The window runs to the end of the last appointment that would be accepted."""
    assert strictjson.parse(wanted().document) == {
        "host": HOST,
        "agent": JKT,
        "scope": ["hold", "book", "cancel", "reschedule"],
        "services": ["oil-change"],
        "window": {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"},
        "max_bookings": 1,
        "lifetime": "PT1H",
        "max_price": money("100.00"),
    }


def test_the_same_ask_always_gives_the_same_draft():
    """So that an answer can be told to belong to it."""
    assert wanted().subject == wanted().subject
    assert wanted().subject != wanted(max_price={"amount": "101"}).subject


def test_without_a_range_or_a_price_the_limits_are_this_slot_and_its_total():
    """Nothing wider than what was asked is signed."""
    draft = wanted(earliest_start=None, latest_start=None, max_price=None).draft
    assert (draft.window.not_before, draft.window.not_after) == (
        "2026-10-15T13:00:00-04:00",
        "2026-10-15T13:45:00-04:00",
    )
    assert (draft.max_price.amount, draft.max_price.currency) == ("89.27", "CAD")


@pytest.mark.req("SCH-078")
def test_an_open_ended_unpriced_service_is_bounded_by_its_start_and_by_no_price():
    """There is nothing a ceiling could bind."""
    found = wanted(service_id="diagnosis", max_price=None)
    assert (found.end, found.ceiling, found.draft.max_price) == (None, None, None)
    assert found.draft.window.not_after == "2026-10-15T15:01:00-04:00"


@pytest.mark.parametrize(
    ("ceiling", "currency", "found"),
    [
        (Ceiling(amount="100"), "CAD", Money(10000, "CAD")),
        (Ceiling(amount="89.5"), "CAD", Money(8950, "CAD")),
        (Ceiling(amount="100", currency="JPY"), "CAD", Money(100, "JPY")),
        (Ceiling(amount="1", currency="KWD"), None, Money(1000, "KWD")),
    ],
)
@pytest.mark.req("SCH-269")
def test_a_ceiling_is_read_in_the_currencys_own_digits(ceiling, currency, found):
    """Two, none, three."""
    assert read_ceiling(ceiling, currency) == found


@pytest.mark.parametrize(
    ("ceiling", "currency"),
    [
        (Ceiling(amount="100"), None),
        (Ceiling(amount="100.001"), "CAD"),
        (Ceiling(amount="10.5"), "JPY"),
        (Ceiling(amount="10", currency="XXX"), "CAD"),
    ],
)
def test_a_ceiling_nobody_could_sign_is_refused(ceiling, currency):
    """No currency, too many digits, no such currency."""
    with pytest.raises(Refused) as caught:
        read_ceiling(ceiling, currency)
    assert caught.value.refusal.reason == "outside_request"


@pytest.mark.req("SCH-345")
def test_differences_are_told_in_sentences():
    """Another time, an unmentioned price, a price above the limit; and nothing when nothing differs."""
    total = document().services[0].price
    assert differences(wanted(asked_start="2026-10-15T13:00"), document(), total) == []
    assert differences(wanted(asked_start="2026-10-15T14:00", max_price=None), document(), total) == [
        "It starts on Thursday 15 October 2026 at 1:00 p.m., and not on Thursday 15 October 2026 at 2:00 p.m. "
        "as asked.",
        "It costs CAD 79.00 in total, and no price was mentioned.",
    ]
    assert differences(wanted(max_price={"amount": "70"}), document(), total) == [
        "It costs CAD 79.00, above the limit of CAD 70.00."
    ]
