"""A person's calendar served from their own home, and one kept for them elsewhere: rules and answers by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.core.clock import SystemClock
from sayso.store.vault import Vault
from tests.journeys.house import Ran, sayso
from tests.journeys.terminal import at_terminal
from tests.journeys.test_host_by_hand import host, named, served

CALENDAR = Path(__file__).resolve().parents[2] / "docs" / "examples" / "calendar.toml"
NOBODY = "OWNER-GOES-HERE----------------------------"


def _day(ahead: int) -> str:
    return f"{(datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()}T15:00"


FIRST, SECOND = _day(2), _day(3)


def person_at(home: Path) -> str:
    """Makes somebody's keys; who they are."""
    home.mkdir(mode=0o700)
    make_keys(Vault(home, SystemClock()), None)
    return sayso("keyapp", "show", "--home", str(home)).out.split()[1]


def calendar_of(owner: str, tmp_path: Path) -> Path:
    settings = tmp_path / "calendar.toml"
    text = CALENDAR.read_text()
    assert NOBODY in text
    settings.write_text(text.replace(f"urn:schcp:principal:jwk-thumbprint:{NOBODY}", owner))
    return settings


def at_their_terminal(*arguments: str, says: str, until: str) -> str:
    """What stands on the screen when somebody answers the question themselves."""
    with at_terminal(arguments) as (terminal, _):
        terminal.wait_for("Sign this? [y/N] ")
        terminal.type(says)
        terminal.wait_for(until)
        return terminal.rest()


def guest_of(tmp_path: Path, resolve: str):
    """A friend in a home of their own, who has added the calendar; who they are, and what they can do."""
    home = tmp_path / "friend"
    principal = person_at(home)

    def command(name: str, *arguments: str, answers: str = "") -> Ran:
        return sayso("guest", name, *arguments, "--resolve", resolve, "--home", str(home), answers=answers)

    assert command("add", "https://noor.example").code == 0
    return principal, command


def asked_for(guest, start: str) -> Ran:
    held = guest("hold", "noor.example", "playdate", start, answers="y\n")
    assert held.code == 0, (held.out, held.err)
    return guest("confirm", named(held.out, "h"), answers="y\ny\n")


@pytest.mark.req("SCH-180", "SCH-187", "SCH-262", "SCH-263", "SCH-266", "SCH-267")
def test_somebody_keeps_their_own_calendar(tmp_path: Path) -> None:
    """A stranger is refused; a friend waits for a signature given at the terminal; a rule answers by itself."""
    noor = tmp_path / "noor"
    owner = person_at(noor)
    settings = calendar_of(owner, tmp_path)
    made = host(noor, "init", str(settings), "--unprotected")
    assert made.code == 0, made.err
    with served(noor, settings) as resolve:
        principal, guest = guest_of(tmp_path, resolve)
        stranger = guest("hold", "noor.example", "playdate", FIRST, answers="y\n")
        assert (stranger.code, "contacts only" in stranger.err + stranger.out) == (1, True), stranger
        assert host(noor, "contacts", "add", principal, "Kim").code == 0

        requested = asked_for(guest, FIRST)
        assert "Requested" in requested.out, requested
        booking = named(requested.out, "b")
        piped = host(noor, "approve", booking)
        assert (piped.code, "you sign yourself" in piped.err) == (1, True), piped
        no = at_their_terminal("host", "approve", booking, "--home", str(noor), says="", until="Nothing was signed")
        assert "I accept: Playdate at my calendar Noor Haddad (noor.example)" in no
        yes = at_their_terminal("host", "approve", booking, "--home", str(noor), says="y", until="Confirmed: Playdate")
        assert "asked for by the person with the key" in yes
        assert "Noor Haddad said yes in person." in guest("show", booking).out

        words = "Playdates with my contacts"
        shown = at_their_terminal(
            "host", "rules", "add", words, "--service", "playdate", "--home", str(noor), says="y", until="is kept"
        )
        assert f'My rule "{words}"' in " ".join(shown.split())
        by_rule = asked_for(guest, SECOND)
        assert (by_rule.code, "Confirmed" in by_rule.out) == (0, True), by_rule
        assert f'A rule that Noor Haddad signed said yes: "{words}". Noor Haddad may not have seen' in by_rule.out
        assert f'your rule "{words}" said yes; you may not have seen it yet' in host(noor, "bookings").out

        listed = host(noor, "rules", "list")
        rule = listed.out.split()[0]
        assert f'"{words}", until you withdraw it' in listed.out
        assert "withdrawn" in host(noor, "rules", "withdraw", rule).out
        assert f'"{words}", withdrawn' in host(noor, "rules", "list").out


@pytest.mark.req("SCH-025", "SCH-104", "SCH-180", "SCH-265")
def test_a_calendar_that_others_run_cannot_answer_for_its_owner(tmp_path: Path) -> None:
    """The operator's home has no key of Noor's: it prints what she signs at home, and brings it in; a rule likewise."""
    noor, operator = tmp_path / "noor", tmp_path / "operator"
    owner = person_at(noor)
    settings = calendar_of(owner, tmp_path)
    assert host(operator, "init", str(settings), "--unprotected").code == 0
    waits, signed = tmp_path / "waits.json", tmp_path / "signed.jwt"
    with served(operator, settings) as resolve:
        principal, guest = guest_of(tmp_path, resolve)
        assert host(operator, "contacts", "add", principal, "Kim").code == 0
        booking = named(asked_for(guest, FIRST).out, "b")
        alone = host(operator, "approve", booking)
        assert (alone.code, "owner" in alone.err) == (1, True), alone

        waits.write_text(host(operator, "to-sign", booking, "--no", "--message", "Maya is ill.").out)
        shown = at_their_terminal(
            "keyapp", "approve", str(waits), "--out", str(signed), "--resolve", resolve, "--home", str(noor),
            says="y", until="Signed: ",
        )  # fmt: skip
        assert 'I tell them: "Maya is ill."' in " ".join(shown.split())
        wrong = host(operator, "approve", booking, "--signed", str(signed))
        assert (wrong.code, "signed to say no" in wrong.err) == (1, True), wrong
        assert host(operator, "decline", booking, "--signed", str(signed)).out.startswith("Declined: Playdate")
        assert 'It says: "Maya is ill."' in guest("show", booking).out

        draft = host(operator, "rules", "add", "Playdates", "--on", "sat", "--draft")
        waits.write_text(draft.out)
        signing = ["keyapp", "approve", str(waits), "--out", str(signed), "--resolve", resolve, "--home", str(noor)]
        other = sayso(*signing, answers="y\n")
        assert (other.code, "you sign yourself" in other.err) == (1, True), other
        keeper = draft.out.split('"agent":"')[1][:43]
        at_their_terminal(*signing, "--agent", keeper, says="y", until="Signed: ")
        kept = host(operator, "rules", "add", "--signed", str(signed))
        assert (kept.code, "is kept" in kept.out) == (0, True), kept
