"""Everything an assistant can do, typed by hand: each command a process over the same acts and signatures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.core import strictjson
from sayso.core.clock import SystemClock
from sayso.proof.sealed import Cost
from sayso.store.vault import Vault
from tests.journeys.house import MAPLE, facts, host_kinds, kinds, running, sayso

ONE = "2026-10-15T13:00"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def guest(home: Path, *arguments: str, answers: str = ""):
    return sayso("guest", *arguments, "--world", "--home", str(home), answers=answers)


def named(text: str, prefix: str) -> str:
    found = re.search(rf"\b{prefix}_[a-z0-9]+", text)
    assert found is not None, text
    return found[0]


def test_a_person_does_everything_by_hand(home: Path) -> None:
    """Look, hold, confirm, move, cancel, each in plain words, with the exact texts signed on the way."""
    looked = guest(home, "discover", MAPLE)
    assert (looked.code, "oil-change: Synthetic oil change, 45 minutes, CAD 89.27 in total" in looked.out) == (0, True)
    found = guest(home, "slots", MAPLE, "oil-change", "2026-10-15T11:00", ONE)
    assert found.out.splitlines()[0].startswith("9 free times for Synthetic oil change")
    held = guest(home, "hold", MAPLE, "oil-change", ONE, "--max-price", "100", answers="y\n")
    assert (held.code, "for at most CAD 100.00 in total" in held.out, "Held until" in held.out) == (0, True, True)
    booked = guest(home, "confirm", named(held.out, "h"), answers="y\n")
    assert (booked.code, "I approve: Synthetic oil change" in booked.out) == (0, True), booked.err
    booking = named(booked.out, "b")
    shown = guest(home, "show")
    assert ("1:00 p.m. to 1:45 p.m." in shown.out, "You signed this exact offer." in shown.out) == (True, True)
    moved = guest(home, "change", booking, "2026-10-15T14:30", answers="y\n")
    assert (moved.code, f"Moved: {booking}" in moved.out) == (0, True), moved.err
    gone = guest(home, "cancel", booking)
    assert (gone.code, "cancelling cost nothing" in gone.out, "Sign this?" in gone.out) == (0, True, False)
    assert [kind for kind in host_kinds(home) if kind.startswith("booking.")] == [
        "booking.confirmed",
        "booking.moved",
        "booking.cancelled",
    ]


@pytest.mark.req("SCH-346")
@pytest.mark.parametrize(("answer", "mode"), [("\n", None), ("", None), ("y\n", "preapproved")])
def test_enter_is_no_and_what_is_signed_says_who_answered(home: Path, answer: str, mode: str | None) -> None:
    """Typing the command is not signing: the limits are asked for all the same."""
    done = guest(home, "hold", MAPLE, "oil-change", ONE, answers=answer)
    assert (done.code, "Sign this? [y/N]" in done.out) == (1 if mode is None else 0, True)
    signed = [r["body"]["mode"] for r in facts(home) if r["kind"] == "guest.mandate_signed"]
    assert (signed, "hold.placed" in host_kinds(home)) == ([mode] if mode else [], mode is not None)


def test_yes_beforehand_is_signed_as_preapproved_by_hand_too(home: Path) -> None:
    """A flag is not a person."""
    held = guest(home, "hold", MAPLE, "oil-change", ONE, "--yes", "--json")
    assert (held.code, held.json["refused"], held.json["result"]["outcome"]) == (0, False, "held")
    assert {r["body"]["mode"] for r in facts(home) if r["kind"] == "guest.mandate_signed"} == {"preapproved"}


def test_a_no_to_the_offer_gives_the_time_back(home: Path) -> None:
    """The next person can have it, and both logs say so."""
    held = guest(home, "hold", MAPLE, "oil-change", ONE, answers="y\n")
    refused = guest(home, "confirm", named(held.out, "h"), answers="\n")
    assert (refused.code, "hold.released" in host_kinds(home)) == (1, True)
    assert "guest.booking_confirmed" not in kinds(home)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("slots", MAPLE, "pedicure", "2026-10-15"), "Interior and exterior detailing"),
        (("slots", "elsewhere.example", "oil-change", "2026-10-15"), "not among the hosts you added"),
        (("hold", MAPLE, "oil-change", "2026-10-18T13:00"), "not free"),
        (("hold", MAPLE, "oil-change", "2026-10-12T13:00"), "has passed"),
        (("confirm", "h_nothing"), "no live hold"),
        (("cancel", "b_nothing"), "no such booking"),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_with_one(home: Path, arguments: tuple[str, ...], said: str) -> None:
    """A sentence on the error stream, and nothing signed."""
    done = guest(home, *arguments, answers="y\n")
    assert (done.code, said in done.err) == (1, True), done.err
    assert "guest.mandate_signed" not in kinds(home)


@pytest.mark.parametrize(
    "arguments", [("slots", MAPLE), ("hold", MAPLE, "oil-change"), ("confirm",), ("show", "--resolve", "nonsense")]
)
def test_a_wrong_call_by_hand_is_told_apart(home: Path, arguments: tuple[str, ...]) -> None:
    """Usage is 2."""
    assert sayso("guest", *arguments, "--home", str(home)).code == 2


@pytest.mark.req("SCH-325")
def test_a_real_home_reaches_a_test_name_for_one_command(tmp_path: Path, home: Path) -> None:
    """`--resolve` is this command's alone: without it the name of a test internet leads nowhere."""
    with running("world", "serve", "--home", str(tmp_path / "town"), "--json") as (_, line):
        address = strictjson.parse(line.encode())["ports"][MAPLE]
        home.mkdir(mode=0o700)
        make_keys(Vault(home, SystemClock(), cost=Cost(8, 1, 1)), "a passphrase")
        where = ("--home", str(home))
        here = ("--resolve", f"{MAPLE}={address}", *where)
        assert sayso("guest", "add", f"https://{MAPLE}", *here).code == 0
        assert "oil-change" in sayso("guest", "discover", *here).out
        assert "could not be read" in sayso("guest", "discover", *where).out


@pytest.mark.req("SCH-241")
def test_a_person_waits_by_hand_and_takes_what_comes_free(home: Path) -> None:
    """On Saturday there is one bay: the hour that is taken is waited for, comes free, is offered and booked."""
    ten = "2026-10-17T10:00"
    taken = guest(home, "hold", MAPLE, "winter-tires", ten, "--yes")
    booking = named(guest(home, "confirm", named(taken.out, "h"), "--yes").out, "b")
    joined = guest(home, "waitlist", "join", MAPLE, "winter-tires", ten, "--max-price", "150", answers="y\n")
    assert (joined.code, "Waits until Saturday 17 October 2026 at 10:00 a.m." in joined.out) == (0, True), joined.err
    assert guest(home, "cancel", booking).code == 0
    offered = guest(home, "waitlist", "show")
    assert (offered.code, f"Offered: {named(joined.out, 'w')}" in offered.out) == (0, True), offered.out
    booked = guest(home, "confirm", named(offered.out, "h"), answers="y\n")
    assert (booked.code, "Saturday 17 October 2026 from 10:00 a.m. to 11:00 a.m." in booked.out) == (0, True)
    assert "Taken: " in guest(home, "waitlist", "show", named(joined.out, "w")).out
    assert "What was waited for is booked." in guest(home, "waitlist", "leave", named(joined.out, "w")).out
