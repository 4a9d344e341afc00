"""A real home: keys under a passphrase, hosts a person added, and an unlock that lives in one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.core import strictjson
from sayso.core.clock import SystemClock, write_clock_file
from sayso.world.places import clock_file
from tests.journeys.house import MAPLE, kinds, running, sayso
from tests.journeys.terminal import at_terminal

PASSPHRASE = "correct horse battery staple"
ASKS = "Book my oil change next week, first available, under $100"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@contextmanager
def following_real_time(file: Path) -> Iterator[None]:
    """Writes the present into a clock file, before anything else and then twice a second.

    A home on the real clock signs for now: a shop whose clock stands still would soon refuse it as from the future.
    """
    clock, over = SystemClock(), threading.Event()

    def write() -> None:
        write_clock_file(file, clock.now().replace(microsecond=0))

    def follow() -> None:
        while not over.wait(0.5):
            write()

    write()
    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()


@pytest.fixture
def shop(home: Path, tmp_path: Path) -> Iterator[str]:
    """The garage on the real clock, and a home that resolves its name to it."""
    town = tmp_path / "town"
    clock_file(town).parent.mkdir(mode=0o700, parents=True)
    with (
        following_real_time(clock_file(town)),
        running("world", "serve", "--home", str(town), "--json") as (_, line),
    ):
        address = strictjson.parse(line.encode())["ports"][MAPLE]
        home.mkdir(mode=0o700)
        (home / "settings.toml").write_text(f'zone = "America/Toronto"\nresolve = {{"{MAPLE}" = "{address}"}}\n')
        yield address


def make_keys(home: Path) -> None:
    with at_terminal(["keyapp", "init", "--home", str(home)]) as (terminal, child):
        terminal.wait_for("A passphrase for your keys: ")
        terminal.type(PASSPHRASE)
        terminal.wait_for("once more: ")
        terminal.type(PASSPHRASE)
        said = terminal.rest()
        assert child.wait() == 0, said
    assert ("urn:schcp:principal:jwk-thumbprint:" in said, PASSPHRASE in said) == (True, False)


def test_a_person_unlocks_once_and_books(home: Path, shop: str) -> None:
    """The passphrase is asked for when the first signature is needed, is never shown, and serves one process."""
    make_keys(home)
    assert sayso("guest", "add", f"https://{MAPLE}", "--home", str(home)).code == 0
    with at_terminal(["ask", "--home", str(home), ASKS]) as (terminal, child):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        terminal.wait_for("Passphrase of your keys: ")
        terminal.type(PASSPHRASE)
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        said = terminal.rest()
        assert child.wait() == 0, said
    assert (PASSPHRASE in said, said.count("Passphrase of your keys")) == (False, 1)
    assert "guest.booking_receipt" in kinds(home, world=False)
    listed = sayso("receipts", "list", "--home", str(home), "--last", "1000", "--json").out.splitlines()
    signed = [r["body"] for r in map(strictjson.parse, map(str.encode, listed)) if r["kind"] == "guest.mandate_signed"]
    modes = [(each["shape"], each["mode"]) for each in signed]
    assert modes == [("buying", "human_present"), ("closed", "human_present"), ("management", "preapproved")]
    done = sayso("receipts", "verify", "--home", str(home))
    assert (done.code, "checkpoint  size" in done.out) == (0, True), done.out


def test_without_the_passphrase_nothing_is_signed_and_nothing_booked(home: Path, shop: str) -> None:
    """Somebody who has the files and the keyboard but not the passphrase gets no signature."""
    make_keys(home)
    assert sayso("guest", "add", f"https://{MAPLE}", "--home", str(home)).code == 0
    with at_terminal(["ask", "--home", str(home), ASKS]) as (terminal, child):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        for _ in range(3):
            terminal.wait_for("Passphrase of your keys: ")
            terminal.type("a guess")
        said = terminal.rest()
        assert child.wait() == 1, said
    assert "does not open your keys" in said
    assert "guest.mandate_signed" not in kinds(home, world=False)


def test_a_program_that_answers_yes_cannot_type_a_passphrase(home: Path, shop: str) -> None:
    """Without a terminal there is nobody to unlock: an agent that runs the command signs nothing, --yes or not."""
    make_keys(home)
    assert sayso("guest", "add", f"https://{MAPLE}", "--home", str(home)).code == 0
    for extra, answers in (([], "y\ny\n"), (["--yes"], "")):
        with_pipe = sayso("ask", "--home", str(home), *extra, ASKS, answers=answers)
        assert (with_pipe.code, "LOCKED" in with_pipe.out or "locked" in with_pipe.out) == (1, True), with_pipe.out
    assert "guest.mandate_signed" not in kinds(home, world=False)
