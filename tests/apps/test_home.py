"""A home is private, its settings are closed, and nobody moves its clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.home import open_home
from sayso.apps.keys import AGENT, LEDGER, PRINCIPAL, has_keys, make_keys
from sayso.apps.person_zone import person_zone
from sayso.apps.settings import SETTINGS_FILE, Settings, default_home, read_settings
from sayso.core.clock import CLOCK_FILE_VARIABLE, FileClock, SystemClock
from sayso.core.refusal import Refused
from sayso.proof.sealed import Cost
from sayso.store.vault import Vault
from sayso.world.timekeeping import open_clock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def code_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    return refused.value.refusal.code


def test_a_new_home_is_readable_by_its_owner_alone(home: Path) -> None:
    """Keys and receipts lie in it."""
    assert open_home(home, is_world=False).path.stat().st_mode & 0o777 == 0o700


@pytest.mark.req("SCH-208")
def test_a_person_says_once_what_hosts_may_be_told_of_them(home: Path) -> None:
    """A name, and one number or address; words around it are refused before anything is told."""
    home.mkdir(mode=0o700)
    settings = home / SETTINGS_FILE
    settings.write_text('name = "Sam Rivera"\ncontact = "+1 416 555 0100"\n')
    assert read_settings(home) == Settings(name="Sam Rivera", contact="+1 416 555 0100")
    settings.write_text('name = "Sam Rivera"\ncontact = "evenings only, 416 555 0100"\n')
    with pytest.raises(Refused, match="contact") as refused:
        read_settings(home)
    assert code_of(refused) == "settings_invalid"


def test_a_home_that_others_can_read_is_refused(home: Path) -> None:
    """With the command that closes it."""
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    with pytest.raises(Refused, match="chmod 700") as refused:
        open_home(home, is_world=False)
    assert code_of(refused) == "home_not_private"


def test_a_real_home_refuses_a_movable_clock(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that moves time would move every deadline with it."""
    monkeypatch.setenv(CLOCK_FILE_VARIABLE, str(home / "clock"))
    with pytest.raises(Refused) as refused:
        open_home(home, is_world=False)
    assert code_of(refused) == "clock_not_movable"


def test_the_world_has_a_clock_of_its_own_inside(home: Path) -> None:
    """And its own folder, so that it never touches the real home."""
    home.mkdir(mode=0o700)
    open_clock(home)
    world = open_home(home, is_world=True)
    assert (world.path, type(world.clock)) == (home / "world", FileClock)
    assert isinstance(open_home(home, is_world=False).clock, SystemClock)


def test_the_world_never_uses_the_real_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever database the person's own home lives in."""
    monkeypatch.setenv("SAYSO_DATABASE_URL", "postgresql://db.example/real")
    assert open_home(home, is_world=True).database == str(home / "world" / "sayso.db")
    assert open_home(home, is_world=False).database == "postgresql://db.example/real"


def test_a_database_that_is_no_url_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt one must not become a new, empty file."""
    monkeypatch.setenv("SAYSO_DATABASE_URL", "garbage")
    with pytest.raises(Refused, match="postgresql://") as refused:
        open_home(home, is_world=False)
    assert code_of(refused) == "database_url_invalid"


@pytest.mark.parametrize("text", ["resolv = {}", 'resolve = "shop"', "resolve = [", b"\xff"])
def test_settings_that_cannot_be_read_are_refused_with_their_file(home: Path, text: str | bytes) -> None:
    """A misspelt key is no default."""
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Refused, match=r"settings\.toml") as refused:
        read_settings(home)
    assert code_of(refused) == "settings_invalid"


def test_settings_are_read_and_have_defaults(home: Path) -> None:
    """No file is a home with defaults."""
    assert read_settings(home) == Settings()
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text('zone = "Europe/Paris"\nresolve = {"shop.example" = "127.0.0.1:8443"}\n')
    assert read_settings(home) == Settings(zone="Europe/Paris", resolve={"shop.example": "127.0.0.1:8443"})


def test_the_home_is_named_by_the_environment_or_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One variable moves everything."""
    monkeypatch.setenv("SAYSO_HOME", "/somewhere")
    assert default_home() == Path("/somewhere")
    monkeypatch.delenv("SAYSO_HOME")
    assert default_home() == Path.home() / ".sayso"


def test_the_persons_zone_is_their_setting_before_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is no zone is refused; a machine without one is in UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert person_zone("Europe/Paris").key == "Europe/Paris"
    assert person_zone(None).key == "Asia/Tokyo"
    with pytest.raises(Refused) as refused:
        person_zone("Nowhere/Land")
    assert code_of(refused) == "unknown_zone"


def test_keys_that_sign_for_a_person_are_locked_and_the_agents_is_not(home: Path) -> None:
    """What the agent signs is worth nothing without a mandate."""
    vault = Vault(home, SystemClock(), cost=Cost(8, 1, 1))
    make_keys(vault, "a passphrase")
    assert has_keys(vault)
    kept = {name: vault.protection(name) for name in (PRINCIPAL, LEDGER, AGENT)}
    assert kept == {PRINCIPAL: "passphrase", LEDGER: "passphrase", AGENT: "none"}
    assert vault.signer(AGENT).public == vault.public(AGENT)
    for name in (PRINCIPAL, LEDGER):
        with pytest.raises(Refused) as refused:
            vault.signer(name)
        assert code_of(refused) == "locked"
