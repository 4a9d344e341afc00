"""A demo at Northwind, which asks again: by hand, and told by the assistant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sayso.world.people import DANA
from tests.journeys.house import ask, kinds, sayso


@pytest.mark.req("SCH-248", "SCH-249", "SCH-371")
def test_a_demo_is_reconfirmed_from_the_terminal_without_signing_again(tmp_path: Path) -> None:
    """The offer says it, the last sentence says it, the booking says it; one command answers, another calls it off."""
    home = tmp_path / "home"
    done = ask(home, DANA.asks, answers="y\ny\n")
    assert done.code == 0, done.out + done.err
    assert "Northwind asks you to reconfirm from Tuesday 13 October 2026 at 10:00 a.m." in done.last
    assert "cancel, move or reconfirm this one booking" in done.out

    def guest(*arguments: str):
        return sayso("guest", *arguments, "--world", "--home", str(home))

    def desk():
        return sayso("host", "bookings", "--world-host", "northwind", "--home", str(home)).out

    assert "confirmed, to be reconfirmed by Wednesday 14 October 2026 at 10:00 a.m." in desk()
    assert (
        "until 1 day before the start; without an answer the booking ends."
        in guest("discover", "northwind.example").out
    )
    told = ask(home, "What do I have on Thursday").out
    assert "Northwind asks you to reconfirm" in told, told
    booking = re.findall(r"\bb_[a-z0-9]+", guest("show").out)[0]
    early = guest("reconfirm", booking)
    assert (early.code, "The booker is not asked yet." in early.err) == (1, True), early.out
    assert sayso("world", "clock", "+PT2H", "--home", str(home)).code == 0
    yes = guest("reconfirm", booking)
    assert (yes.code, yes.out.startswith("Reconfirmed: "), "Sign this?" in yes.out) == (0, True, False), yes.err
    assert "confirmed, reconfirmed Tuesday 13 October 2026 at 11:00 a.m." in desk()
    assert "You reconfirmed on Tuesday 13 October 2026 at 11:00 a.m." in guest("show", booking).out
    again = guest("reconfirm", booking, "--decline")
    assert (again.code, "waits for its booker's word" in again.err) == (1, True), again.out
    assert kinds(home).count("guest.booking_reconfirmed") == 1
