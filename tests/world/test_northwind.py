"""Northwind: half an hour with Ana or Ben, without a word about money, and a second yes the day before."""

from __future__ import annotations

import pytest

from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.documents import discovery_bytes
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.world.northwind import northwind
from sayso.world.people import DANA, LEE, PEOPLE


@pytest.mark.req("SCH-371", "SCH-372", "SCH-383")
def test_northwind_offers_an_unpriced_half_hour_with_ana_or_ben():
    """Two account executives to choose from, no price and no tax anywhere, reconfirmed by the day before."""
    document = verify_discovery(discovery_bytes(northwind(), PrivateKey.generate().public), "northwind.example")
    (demo,) = document.services
    assert (demo.id, demo.duration, demo.price, document.taxes) == ("demo", "PT30M", None, ())
    assert {each.title for each in document.resources if each.id in demo.choose_from} == {"Ana", "Ben"}
    asked = document.policies.reconfirm
    assert (asked.opens, asked.due, asked.silence) == ("P2D", "P1D", "lapses")
    assert (document.policies.confirmation.mode, document.policies.notes.accepted) == ("instant", True)


@pytest.mark.req("SCH-372")
def test_dana_and_lee_are_people_of_the_world():
    """She books, he attends; each has a story of their own to begin with."""
    assert {DANA, LEE} <= set(PEOPLE)
    assert DANA.asks == "Book a product demo with Ana on Thursday at 10 AM"
