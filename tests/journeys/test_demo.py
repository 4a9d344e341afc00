"""The demo is the main job over real sockets, and its last lines are a verification."""

from __future__ import annotations

import re

import pytest

from tests.journeys.house import sayso
from tests.journeys.test_ask import TERMS


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.req("SCH-365", "SCH-377")
def test_the_demo_prints_the_walkthrough_to_its_end() -> None:
    """The figures of the paper, each where it happens."""
    done = sayso("world", "demo")
    assert done.code == 0, done.out + done.err
    assert re.fullmatch(r"receipts: \d+ verified, chain intact", done.last)
    text = flat(done.out)
    starts = [f"{hour:02}:{minute:02}" for hour in range(11, 16) for minute in (0, 15, 30, 45)][:17]
    positions = [text.index(f"{start} CAD 89.27") for start in starts]
    assert positions == sorted(positions)
    for shown in (
        "17 free starts",
        '"expires_at":"2026-10-13T13:05:00Z"',
        '"max_price":{"amount":"100.00", "currency":"CAD"}',
        TERMS,
        '"act":"confirmed"',
        '"mode":"preapproved"',
        "management mandate",
    ):
        assert flat(shown) in text, shown
