"""A haircut with Marcus at Fades on Queen, asked for in plain words and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.house import ask, sayso

FADES = "fades-on-queen@chairly.example"
TERMS = "I approve: Haircut with Marcus at Fades on Queen, listed by chairly.example, Thursday 15 October 2026 from"


@pytest.mark.req("SCH-114", "SCH-160", "SCH-168", "SCH-366")
def test_asked_in_plain_words(tmp_path: Path) -> None:
    """The assistant asks the shop for Marcus, and the person signs his name."""
    done = ask(tmp_path / "home", "Book a haircut with Marcus on Thursday around 1 PM", answers="y\nyes\n")
    assert done.code == 0, done.out + done.err
    assert f"{TERMS} 1:00 p.m. to 1:30 p.m. Eastern time." in " ".join(done.out.split())


@pytest.mark.req("SCH-114", "SCH-366")
def test_asked_by_hand(tmp_path: Path) -> None:
    """His free times, and one of them held; a name nobody there has is told with those there are."""
    home = tmp_path / "home"

    def guest(*arguments: str, answers: str = ""):
        return sayso("guest", *arguments, "--world", "--home", str(home), answers=answers)

    found = guest("slots", FADES, "haircut", "2026-10-15", "--with", "Marcus")
    assert (found.code, "18 free times for Haircut" in found.out) == (0, True), found.out + found.err
    held = guest("hold", FADES, "haircut", "2026-10-15T13:00", "--with", "Marcus", answers="y\n")
    assert (held.code, "Haircut with Marcus at Fades on Queen" in held.out) == (0, True), held.out + held.err
    nobody = guest("slots", FADES, "haircut", "2026-10-15", "--with", "Ellis")
    assert (nobody.code != 0, "There: Marcus, Dev." in nobody.out + nobody.err) == (True, True)
