"""Asking somebody along by hand: two people, two homes, one room, each signing at their own terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.core import strictjson
from sayso.core.clock import SystemClock
from sayso.store.vault import Vault
from sayso.world.places import clock_file
from tests.journeys.house import kinds, running, sayso
from tests.journeys.test_real_home import following_real_time

ROOMS = "juniper.example"


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The rooms on the real clock, and two people who have added them; their keys are unlocked for the test."""
    town = tmp_path / "town"
    clock_file(town).parent.mkdir(mode=0o700, parents=True)
    with (
        following_real_time(clock_file(town)),
        running("world", "serve", "--home", str(town), "--json") as (_, line),
    ):
        address = strictjson.parse(line.encode())["ports"][ROOMS]
        yield person(tmp_path / "mira", address), person(tmp_path / "tom", address)


def person(home: Path, address: str) -> Path:
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text(f'zone = "America/Toronto"\nresolve = {{"{ROOMS}" = "{address}"}}\n')
    make_keys(Vault(home, SystemClock()), None)
    assert sayso("guest", "add", f"https://{ROOMS}", "--home", str(home)).code == 0
    return home


def guest(home: Path, *arguments: str, answers: str = ""):
    return sayso("guest", *arguments, "--home", str(home), answers=answers)


def named(text: str, prefix: str) -> str:
    found = re.search(rf"\b{prefix}_[a-z0-9]+", text)
    assert found is not None, text
    return found[0]


@pytest.mark.req("SCH-243", "SCH-244", "SCH-371")
def test_one_asks_along_and_the_other_answers_each_at_their_own_terminal(homes: tuple[Path, Path]) -> None:
    """The booker's command says how the other answers; reading, a no to signing, and the yes, each in plain words."""
    mira, tom = homes
    toms = re.search(r"urn:schcp:principal:\S+", sayso("keyapp", "show", "--home", str(tom)).out)
    assert toms is not None
    day = (SystemClock().now() + timedelta(days=1)).date()
    free = guest(mira, "slots", ROOMS, "room", day.isoformat(), (day + timedelta(days=3)).isoformat(), "--json")
    start = free.json["result"]["slots"][0]["start"]
    wrong = guest(mira, "hold", ROOMS, "room", start, "--participant", "Tom")
    assert (wrong.code, "'Tom' names nobody" in wrong.err) == (1, True), wrong.err
    along = ("--participant", f"Tom={toms[0]}", "--answer-within", "PT2H", "--silence", "yes")
    held = guest(mira, "hold", ROOMS, "room", start, *along, answers="y\n")
    assert held.code == 0, held.err
    booked = guest(mira, "confirm", named(held.out, "h"), answers="y\n")
    assert (booked.code, "Tom has to say yes by" in booked.out, "counts as a yes" in booked.out) == (0, True, True)
    booking = named(booked.out, "b")
    how = f"sayso guest answer juniper-rooms@juniper.example {booking}"
    assert ("Requested: " in booked.out, how in booked.out) == (True, True), booked.out
    read = guest(tom, "answer", ROOMS, booking, answers="y\n")
    assert (read.code, f"You are asked along: {booking}, tentative" in read.out) == (0, True), read.err
    assert "I allow my assistant to read the invitation" in read.out
    unsigned = guest(tom, "answer", ROOMS, booking, "yes", answers="\n")
    assert (unsigned.code, "I accept this invitation: Room for half an hour" in unsigned.out) == (1, True)
    accepted = guest(tom, "answer", ROOMS, booking, "yes", answers="y\n")
    assert (accepted.code, f"You accepted: {booking}, confirmed" in accepted.out) == (0, True), accepted.err
    final = guest(mira, "show", booking)
    assert (final.code, "Confirmed: " in final.out, "Tom: yes" in final.out) == (0, True, True), final.out
    assert "guest.invitation_answered" in kinds(tom, world=False)
    stranger = guest(mira, "answer", ROOMS, booking, "yes", answers="y\n")
    assert (stranger.code, "There is no such booking" in stranger.err) == (1, True), stranger.err
