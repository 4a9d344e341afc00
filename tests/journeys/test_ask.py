"""The main job, typed at a terminal: what a person sees, what is agreed, and what both sides can prove afterwards."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.core import strictjson
from sayso.core.clock import SystemClock
from sayso.proof.sealed import Cost
from sayso.store.vault import Vault
from tests.journeys.house import ASKS, MAPLE, SAYSO, ask, environment, facts, host_kinds, kinds, running, sayso
from tests.journeys.terminal import at_terminal

TERMS = (
    "I approve: Synthetic oil change at Maple Street Auto (maplestreetauto.example), Thursday 15 October 2026 from "
    "1:00 p.m. to 1:45 p.m. Eastern time. I pay Maple Street Auto CAD 89.27 directly: Synthetic oil change CAD 79.00, "
    "HST 13% CAD 10.27. Maple Street Auto keeps my booking details for 1 year after the booking."
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.req("SCH-365", "SCH-377", "SCH-169", "SCH-086")
def test_two_answers_book_the_oil_change(home: Path) -> None:
    """The person reads the limits and the exact offer, says yes twice, and both logs hold the booking."""
    done = ask(home, ASKS, answers="y\nyes\n")
    assert done.code == 0, done.out
    assert TERMS in done.out
    assert "for at most CAD 100.00 in total" in done.out
    assert "17 free times Thursday 15 October 2026 between 11:00 a.m. and 3:45 p.m. Eastern time" in done.out
    assert kinds(home) == [
        "ask.requested",
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "guest.hold_placed",
        "act.done",
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "guest.booking_confirmed",
        "guest.booking_receipt",
        "consent.asked",
        "guest.mandate_signed",
        "act.started",
        "act.done",
        "ask.ended",
        "batch.sealed",
    ]
    assert "booking.confirmed" in host_kinds(home)


def test_receipts_of_a_booking_verify_and_name_what_was_agreed(home: Path) -> None:
    """Who asked, what they signed, in which manner, and the host's word for it. A pipe is nobody's presence."""
    ask(home, ASKS, answers="y\ny\n")
    done = sayso("receipts", "verify", "--home", str(home), "--world")
    assert done.code == 0
    assert re.fullmatch(r"receipts: \d+ verified, chain intact", done.last)
    shapes = [(r["body"]["shape"], r["body"]["mode"]) for r in facts(home) if r["kind"] == "guest.mandate_signed"]
    assert shapes == [("buying", "preapproved"), ("closed", "preapproved"), ("management", "preapproved")]


@pytest.mark.req("SCH-213")
def test_a_booking_is_looked_up_and_cancelled_for_free(home: Path) -> None:
    """The buying mandate has done its work: the management mandate covers what comes later, with no question."""
    ask(home, ASKS, answers="y\ny\n")
    looked = ask(home, "What do I have")
    assert (looked.code, "Thursday 15 October 2026" in looked.out) == (0, True)
    cancelled = ask(home, "Cancel my oil change")
    assert cancelled.code == 0, cancelled.out
    assert "Sign this?" not in cancelled.out
    assert "booking.cancelled" in host_kinds(home)
    assert ask(home, "--json", "What do I have").json["steps"][-1]["result"]["upcoming"] == 0


@pytest.mark.req("SCH-221", "SCH-223")
def test_a_booking_is_moved_after_one_yes_to_the_new_offer(home: Path) -> None:
    """Never by cancelling and booking again."""
    ask(home, ASKS, answers="y\ny\n")
    moved = ask(home, "Move my oil change to Thursday at 2:30 pm", answers="y\n")
    assert moved.code == 0, moved.out
    assert "I approve this change to my booking" in moved.out
    assert [kind for kind in kinds(home) if "booking_" in kind][2:] == ["guest.booking_moved", "guest.booking_receipt"]


@pytest.mark.parametrize(("answers", "asked"), [("\n", 1), ("", 1), ("no\n", 1), ("y\n\n", 2), ("y\nmaybe\n", 2)])
def test_anything_but_yes_books_nothing_and_gives_the_time_back(home: Path, answers: str, asked: int) -> None:
    """Enter is no, the end of input is no, and a no to the offer releases the hold."""
    done = ask(home, ASKS, answers=answers)
    assert (done.code, done.out.count("Sign this? [y/N]")) == (1, asked)
    found = kinds(home)
    assert ("consent.refused" in found, "guest.booking_confirmed" in found) == (True, False)
    assert found.count("guest.hold_placed") == found.count("guest.hold_released") == asked - 1
    assert "booking.confirmed" not in host_kinds(home)


@pytest.mark.req("SCH-081")
def test_yes_beforehand_is_signed_as_preapproved(home: Path) -> None:
    """A flag is not a person, and what is signed says so."""
    done = ask(home, "--yes", ASKS)
    assert done.code == 0, done.out
    assert {r["body"]["mode"] for r in facts(home) if r["kind"] == "guest.mandate_signed"} == {"preapproved"}


@pytest.mark.req("SCH-189")
def test_limits_only_asks_once_and_the_booking_says_limits(home: Path) -> None:
    """Where the host allows it, the signed limits are enough; the booking never claims more."""
    done = ask(home, "--limits-only", "--json", ASKS, answers="y\n")
    assert done.code == 0, done.err
    assert done.json["steps"][-1]["result"]["user_signed"] == "only the limits: service, time window, price ceiling"
    confirmed = [r for r in facts(home) if r["kind"] == "guest.booking_confirmed"]
    assert confirmed[0]["body"]["approved"] == "limits"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Sing me a song about the sea", "language model"),
        ("Book a massage Thursday at 1 pm", "massage"),
        ("Book my oil change Thursday around 1 PM, under $50", "89.27"),
        ("Book my oil change yesterday at 1 pm", "gone by"),
    ],
)
def test_what_cannot_be_done_ends_in_a_plain_sentence(home: Path, words: str, said: str) -> None:
    """Not understood, unknown service, above the limit, in the past: nothing is asked, nothing held, nothing booked."""
    done = ask(home, words, answers="y\ny\n")
    assert (done.code, "Sign this?" in done.out) == (1, False), done.out
    assert said in done.out.split("…")[-1]
    found = kinds(home)
    assert (found[0], "guest.hold_placed" in found) == ("ask.requested", False)
    assert "ask.ended" in found


def test_a_host_that_is_down_is_said_to_be_down(home: Path, tmp_path: Path) -> None:
    """A host that was verified and added, and then does not answer: its name, a plain sentence, nothing held."""
    with running("world", "serve", "--home", str(tmp_path / "shop"), "--json") as (_, line):
        address = strictjson.parse(line.encode())["ports"][MAPLE]
        home.mkdir(mode=0o700)
        make_keys(Vault(home, SystemClock(), cost=Cost(8, 1, 1)), "a passphrase")
        (home / "settings.toml").write_text(f'resolve = {{"{MAPLE}" = "{address}"}}\n')
        added = sayso("guest", "add", f"https://{MAPLE}", "--home", str(home))
        assert (added.code, "maple-street-auto@maplestreetauto.example" in added.out) == (0, True), added.err
    done = sayso("ask", "--home", str(home), ASKS)
    assert (done.code, MAPLE in done.out, "could not be reached" in done.out) == (1, True, True), done.out
    assert kinds(home, world=False) == ["ask.requested", "ask.ended", "batch.sealed"]


@pytest.mark.parametrize("how", ["ctrl-c", "terminated", "terminal closed"])
def test_a_stop_at_the_second_question_gives_the_time_back(home: Path, how: str) -> None:
    """Stopped in the middle: nothing held, nothing booked, at once, and the receipts say so."""
    with at_terminal(["ask", "--world", "--home", str(home), ASKS]) as (terminal, child):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        terminal.wait_for("Sign this? [y/N] ")
        if how == "ctrl-c":
            terminal.press_ctrl_c()
        else:
            child.send_signal(signal.SIGTERM if how == "terminated" else signal.SIGHUP)
        said = terminal.rest()
        assert child.wait() == 1, said
    assert "Stopped. Nothing was booked, moved or cancelled. Nothing is held." in said
    found = kinds(home)
    assert (found.count("guest.hold_placed"), found.count("guest.hold_released")) == (1, 1)
    assert "guest.booking_confirmed" not in found
    assert [r["body"]["outcome"] for r in facts(home) if r["kind"] == "ask.ended"] == ["stopped"]
    assert "hold.released" in host_kinds(home)


def test_a_stop_after_the_booking_says_that_it_stands(home: Path) -> None:
    """What is done is done, and is not called nothing."""
    with at_terminal(["ask", "--world", "--home", str(home), "--limits-only", ASKS]) as (terminal, child):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("y")
        terminal.wait_for("Signed for you")
        terminal.press_ctrl_c()
        said = terminal.rest()
        code = child.wait()
    if code == 1:
        assert "This was already done: Synthetic oil change at Maple Street Auto, Thursday 15 October" in said
    else:
        assert (code, "Booked: Synthetic oil change" in said) == (0, True)
    assert "Nothing was booked" not in said


def test_nobody_answers_before_the_question_is_on_the_screen(home: Path) -> None:
    """What is typed ahead is thrown away, so that two impatient yeses sign nothing."""
    with at_terminal(["ask", "--world", "--home", str(home), ASKS]) as (terminal, child):
        terminal.wait_for("Looking")
        terminal.type("y")
        terminal.type("y")
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type("")
        said = terminal.rest()
        assert child.wait() == 1, said
    assert "guest.mandate_signed" not in kinds(home)


def test_a_no_is_not_gone_round_by_asking_for_less(home: Path) -> None:
    """Limits that were signed before the no are not used again: the next request asks from the start."""
    assert ask(home, ASKS, answers="y\nn\n").code == 1
    again = ask(home, "--limits-only", ASKS)
    assert (again.code, "asks for these limits" in again.out, "I approve" in again.out) == (1, True, False)
    assert host_kinds(home).count("hold.placed") == 1
    assert "booking.confirmed" not in host_kinds(home)


def test_limits_signed_for_one_request_serve_no_other(home: Path) -> None:
    """Nobody who opens the house later books on what was signed before, stopped or not."""
    assert ask(home, ASKS, answers="y\n").code == 1
    again = ask(home, "--limits-only", "--json", ASKS)
    assert (again.code, "booking.confirmed" in host_kinds(home)) == (1, False)


def test_a_reader_that_goes_away_leaves_the_receipts_whole(home: Path) -> None:
    """The output breaks in the middle; what is held is given back and the log ends the request."""
    command = [*SAYSO, "ask", "--world", "--home", str(home), ASKS]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("y\n")
    child.stdin.flush()
    while "Held until" not in child.stdout.readline():
        pass
    child.stdout.close()
    child.stdin.close()
    assert child.stderr is not None
    with child.stderr:
        assert "Traceback" not in child.stderr.read()
    child.wait()
    found = kinds(home)
    assert (found.count("guest.hold_placed"), found.count("guest.hold_released")) == (1, 1)
    assert ("ask.ended" in found, "guest.booking_confirmed" in found) == (True, False)


def test_a_real_home_without_keys_says_how_to_make_them(home: Path) -> None:
    """Nothing is invented for a person who has not begun."""
    done = sayso("ask", "--home", str(home), ASKS)
    assert (done.code, "sayso keyapp init" in done.err) == (3, True)


@pytest.mark.parametrize("arguments", [["ask"], ["ask", "  "], ["ask", "--nonsense"], ["nonsense"]])
def test_a_wrong_call_is_told_apart(arguments: list[str]) -> None:
    """Usage is 2, whatever was wrong with it."""
    assert sayso(*arguments).code == 2


def test_json_is_one_object_and_nothing_else(home: Path) -> None:
    """What a program reads; the questions go to the other stream."""
    done = ask(home, "--json", "--yes", ASKS)
    assert (done.json["outcome"], done.json["steps"][-1]["result"]["status"]) == ("done", "confirmed")
    assert MAPLE in done.err
