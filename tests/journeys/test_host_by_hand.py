"""A host made from one TOML file and served as a process; a guest from another home books, moves and cancels there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.core.clock import SystemClock
from sayso.store.vault import Vault
from tests.journeys.house import Ran, kinds, running, sayso
from tests.journeys.terminal import at_terminal

SHOP = Path(__file__).resolve().parents[2] / "docs" / "examples" / "shop.toml"
TOMORROW = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
TEN, TWO = f"{TOMORROW}T10:00", f"{TOMORROW}T14:00"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return tmp_path / "shop-home"


@contextmanager
def served(home: Path, settings: Path) -> Iterator[str]:
    """The host's process; what a guest on this machine needs to reach it."""
    with running("host", "serve", str(settings), "--home", str(home)) as (child, line):
        assert child.stdout is not None, line
        second = child.stdout.readline()
        assert "--resolve" in second, (line, second)
        yield second.split("--resolve ")[1].strip()


@contextmanager
def guest_at(tmp_path: Path, resolve: str) -> Iterator:
    """Somebody with keys of their own in another home, who has added the shop."""
    home = tmp_path / "guest-home"
    home.mkdir(mode=0o700)
    make_keys(Vault(home, SystemClock()), None)

    def command(name: str, *arguments: str, answers: str = "") -> Ran:
        return sayso("guest", name, *arguments, "--resolve", resolve, "--home", str(home), answers=answers)

    added = command("add", "https://shop.example")
    assert (added.code, "The Shoe Shop" in added.out) == (0, True), added.err
    yield command


def named(text: str, prefix: str) -> str:
    found = re.search(rf"\b{prefix}_[a-z0-9]+", text)
    assert found is not None, text
    return found[0]


def host(home: Path, *arguments: str) -> Ran:
    return sayso("host", *arguments, "--home", str(home))


def test_a_fresh_host_serves_a_fresh_guest(tmp_path: Path, shop: Path) -> None:
    """Discover, slots, hold, confirm, change, cancel, each in plain words; the host sees each of them."""
    made = host(shop, "init", str(SHOP), "--unprotected")
    assert (made.code, "no passphrase" in made.err) == (0, True), made.err
    with served(shop, SHOP) as resolve, guest_at(tmp_path, resolve) as guest:
        assert "resole: Resoling, 30 minutes, CAD 45.20 in total" in guest("discover", "shop.example").out
        assert "free times for Resoling" in guest("slots", "shop.example", "resole", TEN, TWO).out
        held = guest("hold", "shop.example", "resole", TEN, answers="y\n")
        assert held.code == 0, held.err
        booked = guest("confirm", named(held.out, "h"), answers="y\ny\n")
        assert (booked.code, "Confirmed" in booked.out) == (0, True), booked.err
        booking = named(booked.out, "b")
        listed = host(shop, "bookings")
        assert (booking in listed.out, "Resoling" in listed.out, "CAD 45.20" in listed.out) == (True, True, True)
        moved = guest("change", booking, TWO, answers="y\ny\ny\n")
        assert (moved.code, "Moved" in moved.out) == (0, True), moved.err
        gone = guest("cancel", booking, answers="y\n")
        assert (gone.code, "cost nothing" in gone.out) == (0, True), gone.err
        assert "No bookings to come." in host(shop, "bookings").err
    told = [kind for kind in kinds(shop, world=False) if kind.startswith("booking.")]
    assert told == ["booking.confirmed", "booking.moved", "booking.cancelled"]


@pytest.mark.req("SCH-176", "SCH-184")
def test_a_host_answers_requests_from_its_own_terminal_while_it_is_served(tmp_path: Path, shop: Path) -> None:
    """Two processes on one store: the request is served by one and approved, proposed and called off by another."""
    settings = tmp_path / "approving.toml"
    settings.write_text(SHOP.read_text() + '\n[policies.confirmation]\nmode = "approval"\nanswer_within = "PT2H"\n')
    assert host(shop, "init", str(settings), "--unprotected").code == 0
    with served(shop, settings) as resolve, guest_at(tmp_path, resolve) as guest:
        held = guest("hold", "shop.example", "resole", TEN, answers="y\n")
        asked = guest("confirm", named(held.out, "h"), answers="y\ny\n")
        assert (asked.code, "Requested" in asked.out) == (0, True), asked.err
        booking = named(asked.out, "b")
        assert "waits for your answer, answer by" in host(shop, "bookings").out
        assert host(shop, "approve", booking).out.startswith("Confirmed: Resoling")
        again = host(shop, "approve", booking)
        assert (again.code, "waits for the host's answer" in again.err) == (1, True)
        assert "confirmed" in host(shop, "bookings").out
        proposed = host(shop, "propose", booking, TWO, "--message", "The bench is taken.")
        assert proposed.out.startswith("Proposed"), proposed.err
        shown = guest("show", booking)
        assert ("proposes" in shown.out, "The bench is taken." in shown.out) == (True, True), shown.out
        moved = guest("change", booking, TWO, answers="y\ny\ny\n")
        assert (moved.code, "Moved" in moved.out) == (0, True), moved.err
        early = host(shop, "no-show", booking)
        assert (early.code, "not over" in early.err) == (1, True)
        assert host(shop, "cancel", booking, "--reason", "Flooded.").code == 0
        assert 'called it off: "Flooded."' in guest("show", booking).out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('duration = "PT30M"', 'duration = "P1M"', "shop.toml, line 16: services[0].duration"),
        ('timezone = "America/Toronto"', 'timezone = "Toronto"', "shop.toml, line 8: timezone"),
        ("buffer =", "bufer =", "shop.toml, line 17: services[0].bufer"),
        ('amount = "40.00"', 'amount = "40.000"', "shop.toml, line 19: services[0].price"),
        ('fri = ["09:00-17:00"]', 'fri = ["9 to 5"]', "line 36: units[0].hours.fri"),
        ('type = "bench"', 'type = "stool"', "shop.toml, line 13: services[0]"),
        ('domain = "shop.example"', 'domain = "shop"', "shop.toml, line 6: domain"),
        ("[contact]", "[contact", "at line 10, column 9) (shop.toml)"),
    ],
)
def test_a_mistake_in_the_settings_is_named_by_line_and_key(
    tmp_path: Path, shop: Path, old: str, new: str, said: str
) -> None:
    """Nothing is made, and nothing half-read is served."""
    settings = tmp_path / "shop.toml"
    text = SHOP.read_text()
    assert old in text
    settings.write_text(text.replace(old, new, 1))
    done = host(shop, "init", str(settings), "--unprotected")
    assert (done.code, said in done.err) == (3, True), done.err
    assert not (shop / "keys").exists()


def test_a_host_without_a_passphrase_is_only_made_when_told_so(shop: Path) -> None:
    """No terminal, no passphrase, no key; a second init is refused, and so are acts in a home that is no host's."""
    assert "--unprotected" in host(shop, "init", str(SHOP)).err
    assert host(shop, "bookings").code == 3
    assert host(shop, "init", str(SHOP), "--unprotected").code == 0
    assert "a host's home already" in host(shop, "init", str(SHOP), "--unprotected").err


def test_a_hosts_keys_are_kept_under_a_passphrase_typed_at_its_terminal(shop: Path) -> None:
    """Asked for twice when they are made, once when it is served; without a terminal nothing is signed."""
    with at_terminal(["host", "init", str(SHOP), "--home", str(shop)]) as (terminal, _):
        for prompt in ("A passphrase for your keys: ", "once more: "):
            terminal.wait_for(prompt)
            terminal.type("open at nine")
        assert "Serve it: sayso host serve" in terminal.rest()
    assert Vault(shop, SystemClock()).protection("host") == "passphrase"
    assert host(shop, "bookings").code == 1
    with at_terminal(["host", "serve", str(SHOP), "--home", str(shop)]) as (terminal, _):
        terminal.wait_for("Passphrase of the host's keys: ")
        terminal.type("open at nine")
        terminal.wait_for("is served at http://127.0.0.1:")
