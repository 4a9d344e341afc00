"""A pedicure at Rosie's: asked for in plain words, answered by Rosie from her own terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.journeys.house import ask, sayso


@pytest.mark.req("SCH-368", "SCH-176")
def test_a_guest_asks_and_the_salon_answers_from_its_desk(tmp_path: Path) -> None:
    """The words say that it is asked for; Rosie sees it with its deadline and says yes; the guest then hears so."""
    home = tmp_path / "home"
    done = ask(home, "Book a pedicure on Thursday at 4 PM, under $70", answers="y\nyes\n")
    assert (done.code, "Asked for, not yet confirmed" in done.last) == (0, True), done.out + done.err

    def rosie(*arguments: str):
        return sayso("host", *arguments, "--world-host", "rosies-nails", "--home", str(home))

    listed = rosie("bookings")
    assert "waits for your answer, answer by Tuesday 13 October 2026 at 11:05 a.m." in listed.out, listed.err
    booking = re.findall(r"\bb_[a-z0-9]+", listed.out)[0]
    assert rosie("approve", booking).out.startswith("Confirmed: Pedicure")
    told = ask(home, "What do I have on Thursday")
    assert (told.code, "Pedicure at Rosie's Nails" in told.out, "confirmed" in told.out) == (0, True, True), told.out
    nobody = sayso("host", "bookings", "--world-host", "rosie", "--home", str(home))
    assert (nobody.code != 0, "rosies-nails" in nobody.err) == (True, True)
