"""Telling a host who comes: from the settings, and by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sayso.world.people import DANA
from sayso.world.places import make_world_folder
from tests.journeys.house import ask, sayso


def named(text: str, prefix: str) -> str:
    return re.findall(rf"\b{prefix}_[a-z0-9]+", text)[0]


@pytest.mark.req("SCH-207", "SCH-208")
def test_a_name_of_the_settings_is_told_under_limits_that_say_so(tmp_path: Path) -> None:
    """The sentence stands in what Dana signs, without her address; Northwind's desk sees both."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = make_world_folder(home) / "settings.toml"
    settings.write_text('name = "Dana Whitfield"\ncontact = "dana@bigco.example"\n')
    done = ask(home, DANA.asks, answers="y\ny\n")
    assert done.code == 0, done.out + done.err
    assert "It may tell Northwind my name and how to reach me, for the appointment." in done.out
    assert "dana@bigco.example" not in done.out
    listed = sayso("host", "bookings", "--world-host", "northwind", "--home", str(home))
    assert "Dana Whitfield, dana@bigco.example" in listed.out, listed.err


@pytest.mark.req("SCH-207", "SCH-208", "SCH-367")
def test_by_hand_with_a_note_where_notes_are_taken(tmp_path: Path) -> None:
    """Northwind takes one; others say what to use instead, before anything is signed, and keep the hold."""
    home = tmp_path / "home"

    def guest(*arguments: str, answers: str = ""):
        return sayso("guest", *arguments, "--world", "--home", str(home), answers=answers)

    who = ("--name", "Dana Whitfield", "--contact", "+1 416 555 0110", "--for", "Lee")
    held = guest("hold", "northwind.example", "demo", "2026-10-15T10:00", *who, answers="y\n")
    assert "It may tell Northwind my name, how to reach me and who comes in my place" in held.out, held.err
    done = guest("confirm", named(held.out, "h"), "--note", "We run two warehouses.", answers="y\ny\n")
    assert done.code == 0, done.err
    listed = sayso("host", "bookings", "--world-host", "northwind", "--home", str(home)).out
    assert "Dana Whitfield, +1 416 555 0110; Lee comes" in listed
    assert 'their note: "We run two warehouses."' in listed
    nobody = guest("confirm", named(held.out, "h"), "--contact", "+1 416 555 0110")
    assert (nobody.code, "with a name in settings.toml: who is it?" in nobody.err) == (2, True), nobody.err
    wrong = guest("confirm", named(held.out, "h"), "--name", "Dana", "--contact", "ring me at home")
    assert (wrong.code, "--contact: write one telephone number" in wrong.err) == (2, True), wrong.err

    for shop, service, instead in (
        ("harbourviewdental.example", "dental-cleaning", "Fill in our own intake form when you arrive."),
        ("maplestreetauto.example", "oil-change", "Call us about anything we should know."),
    ):
        hold = named(guest("hold", shop, service, "2026-10-15T11:00", answers="y\n").out, "h")
        no = guest("confirm", hold, "--note", "I am nervous.", answers="y\ny\n")
        assert (no.code, instead in no.err) == (1, True), no.out
    assert guest("confirm", hold, answers="y\ny\n").code == 0
