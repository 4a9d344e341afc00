"""`sayso console user`: nobody gets into the console without the person at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.console.passwords import Passwords
from sayso.apps.console.users import find_secret
from sayso.apps.home import open_home
from sayso.apps.keys import PRINCIPAL
from sayso.scheduling.terms.identity import principal_urn
from sayso.store.open import open_store
from sayso.store.vault import Vault
from tests.apps.cli.typed import PASSPHRASE, kinds, made, run
from tests.journeys.house import sayso
from tests.journeys.terminal import at_terminal

PASSWORD = "correct horse battery"


def add(home: Path, name: str, *typed: str, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Adds a user at a terminal; `typed` is what is typed at each prompt."""
    with at_terminal(("console", "user", "add", name, *options, "--home", str(home))) as (terminal, child):
        for line in typed:
            terminal.wait_for(": ")
            terminal.type(line)
        return (text := terminal.rest()) and child.wait(), text


@pytest.mark.req("GTW-060", "GTW-061")
def test_the_first_user_is_added_at_a_terminal_by_whoever_has_the_passphrase(tmp_path: Path) -> None:
    """The password is typed twice and kept as its Argon2id hash; a program without a terminal adds nobody."""
    home = made(tmp_path / "home", PASSPHRASE)
    typed = f"{PASSPHRASE}\n{PASSWORD}\n{PASSWORD}\n"
    piped = sayso("console", "user", "add", "mole", "--home", str(home), answers=typed)
    assert (piped.code, "terminal" in piped.err) == (1, True)
    code, text = add(home, "ada", PASSPHRASE, PASSWORD, PASSWORD)
    assert (code, "ada may sign in as owner" in text, PASSWORD in text) == (0, True, False)
    place = open_home(home, is_world=False)
    owner = principal_urn(Vault(home, place.clock).public(PRINCIPAL))
    with open_store(place.database, place.clock) as store:
        found = store.read(lambda view: find_secret(view, owner, "ada"))
    assert found is not None
    assert (found[0], Passwords()._check(found[1], PASSWORD), "m=65536,t=3,p=4" in found[1]) == ("owner", True, True)
    assert [each["name"] for each in run(home, "console", "user", "list", "--json").json["users"]] == ["ada"]
    assert kinds(home) == ["console.user_added"]


@pytest.mark.req("GTW-060")
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("wrong", "wrong", "wrong"), "does not open your keys"),
        ((PASSPHRASE, "short"), "12 to 256 characters"),
        ((PASSPHRASE, PASSWORD, "another password"), "not alike"),
    ],
)
def test_a_user_is_not_added_by_halves(tmp_path: Path, typed: tuple[str, ...], says: str) -> None:
    """Wrong passphrase, short password, two that differ, none: each says so, and nobody can sign in."""
    home = made(tmp_path / "home", PASSPHRASE)
    code, text = add(home, "ada", *typed)
    assert (code, says in text) == (1, True), text
    assert run(home, "console", "user", "list", "--json").json["users"] == []


@pytest.mark.req("GTW-060", "GTW-061")
def test_users_are_removed_by_whoever_has_the_passphrase(tmp_path: Path) -> None:
    """The last owner stays while others are there; a role is chosen when a user is added."""
    home = made(tmp_path / "home", None)
    assert add(home, "ben", PASSWORD, PASSWORD, options=("--role", "approver"))[0] == 1
    assert add(home, "ada", PASSWORD, PASSWORD)[0] == 0
    assert add(home, "ben", PASSWORD, PASSWORD, options=("--role", "approver"))[0] == 0
    assert "last owner" in run(home, "console", "user", "remove", "ada", code=1).err
    run(home, "console", "user", "remove", "ben")
    assert "ben" not in run(home, "console", "user", "list").out
    assert "no user ben" in run(home, "console", "user", "remove", "ben", code=1).err
