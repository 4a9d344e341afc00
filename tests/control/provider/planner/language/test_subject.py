"""What is left when times and prices are taken away: service, business, person."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sayso.control.provider.planner.language.understand import understand

ZONE = ZoneInfo("America/Toronto")
NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "service", "host", "person"),
    [
        ("book a quick beard trim tomorrow", "quick beard trim", None, None),
        ("my dog is due for grooming on friday", "grooming", None, None),
        ("hoping to bring my bike in for a tune-up on friday", "tune-up", None, None),
        ("sign my daughter up for a swimming lesson on friday", "swimming lesson", None, None),
        ("i need a wash, friday 10 am, at Nails & More please", "wash", "nails & more", None),
        ("book a cleaning at the Harbour Dental on friday", "cleaning", "harbour dental", None),
        ("a haircut at Best Cuts on friday", "haircut", "best cuts", None),
        ("book a massage with dana friday", "massage", None, "dana"),
        ("i want to see Dr. Patel on monday", None, None, "dr. patel"),
        ("book a facial with a peel on friday", "facial with a peel", None, None),
        ("reserve a 60 minute massage for friday", "60 minute massage", None, None),
        ("brake check on friday please", "brake check", None, None),
        ("wash and blow dry on friday at noon at the earliest", "wash and blow dry", None, None),
        ("book a trim on friday because my hair is a mess", "trim", None, None),
        ("book me something tomorrow", None, None, None),
    ],
)
def test_names_are_found(text: str, service: str | None, host: str | None, person: str | None) -> None:
    """As said, without the talk around it."""
    seen = understand(text, NOW, ZONE)
    assert (seen.service, seen.host, seen.person) == (service, host, person)
