"""Keys at rest and in use: sealed, private, opened for minutes, and never shown."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.proof.keys import PrivateKey
from sayso.proof.sealed import Cost
from sayso.store.keyfile import KeyFile, read_key_file
from sayso.store.vault import Vault

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
CHEAP = Cost(memory_kib=64, passes=1, lanes=1)
WORDS = "correct horse battery staple"
GUESS = "a passphrase that is wrong"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def vault(tmp_path: Path, clock: ManualClock) -> Vault:
    return Vault(tmp_path / "home", clock, cost=CHEAP)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "keys"


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.refusal.code


@pytest.mark.parametrize("kind", ["Ed25519", "P-256"])
def test_an_unprotected_key_signs_at_once(vault: Vault, kind: str) -> None:
    """The agent's own key: what it signs verifies under the public half that anybody may read."""
    public = vault.create("agent", kind=kind)  # type: ignore[arg-type]
    vault.public("agent").verify(vault.signer("agent").sign(b"data"), b"data")
    assert (vault.public("agent"), vault.protection("agent"), vault.names()) == (public, "none", ("agent",))


def test_a_protected_key_signs_only_while_unlocked(vault: Vault, clock: ManualClock) -> None:
    """Locked, unlocked for 300 seconds to the second, locked again; the refusal says what a person does."""
    public = vault.create("principal", passphrase=WORDS)
    assert vault.is_unlocked is False
    with pytest.raises(Refused) as caught:
        vault.signer("principal")
    assert caught.value.refusal.code == "locked"
    assert "keyapp approve" in str(caught.value)
    assert vault.unlock(WORDS) == ("principal",)
    clock.advance(timedelta(seconds=299))
    public.verify(vault.signer("principal").sign(b"data"), b"data")
    clock.advance(timedelta(seconds=1))
    assert (refusal(lambda: vault.signer("principal")), vault.is_unlocked) == ("locked", False)


def test_using_a_key_does_not_lengthen_its_unlock(vault: Vault, clock: ManualClock) -> None:
    """Five minutes from the passphrase, not from the last signature."""
    vault.create("principal", passphrase=WORDS)
    vault.unlock(WORDS)
    for _ in range(4):
        clock.advance(timedelta(seconds=75))
        if clock.now() < START + timedelta(seconds=300):
            vault.signer("principal")
    assert refusal(lambda: vault.signer("principal")) == "locked"


class TurnedClock(ManualClock):
    """A wall clock that somebody sets back while the machine's ticks go on."""

    back = timedelta(0)

    def now(self) -> datetime:
        return super().now() - self.back


def test_a_clock_set_back_does_not_lengthen_an_unlock(tmp_path: Path) -> None:
    """Before the moment of unlocking nothing is unlocked, and ticks count on their own."""
    clock = TurnedClock(START)
    vault = Vault(tmp_path, clock, cost=CHEAP)
    vault.create("principal", passphrase=WORDS)
    vault.unlock(WORDS)
    clock.back = timedelta(hours=1)
    assert refusal(lambda: vault.signer("principal")) == "locked"
    vault.unlock(WORDS)
    clock.advance(timedelta(seconds=301))
    clock.back += timedelta(seconds=301)
    assert refusal(lambda: vault.signer("principal")) == "locked"


def test_locking_forgets_at_once(vault: Vault) -> None:
    """A person who leaves can lock without waiting."""
    vault.create("principal", passphrase=WORDS)
    vault.unlock(WORDS)
    vault.lock()
    assert refusal(lambda: vault.signer("principal")) == "locked"


def test_an_unlock_is_not_another_vaults(vault: Vault, tmp_path: Path, clock: ManualClock) -> None:
    """It lives in the object that was asked: nothing is written that another process could pick up."""
    vault.create("principal", passphrase=WORDS)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    vault.unlock(WORDS)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert refusal(lambda: Vault(tmp_path / "home", clock).signer("principal")) == "locked"


def test_a_wrong_passphrase_opens_nothing_and_locks_what_was_open(vault: Vault) -> None:
    """All protected keys or none: a guess does not leave an earlier unlock standing."""
    vault.create("principal", passphrase=WORDS)
    vault.create("ledger", passphrase=WORDS)
    vault.unlock(WORDS)
    assert refusal(lambda: vault.unlock("guess")) == "wrong_passphrase"
    assert refusal(lambda: vault.unlock(None)) == "passphrase_needed"
    assert refusal(lambda: vault.unlock("")) == "empty_passphrase"
    assert [refusal(lambda name=name: vault.signer(name)) for name in vault.names()] == ["locked", "locked"]  # type: ignore[misc]
    assert vault.unlock(WORDS) == ("ledger", "principal")


def test_one_passphrase_opens_every_key_of_a_home(vault: Vault) -> None:
    """A second key under another passphrase is refused, so that one prompt is enough."""
    vault.create("principal", passphrase=WORDS)
    assert refusal(lambda: vault.create("ledger", passphrase="another")) == "wrong_passphrase"
    assert vault.names() == ("principal",)


def test_an_unlock_that_checks_nothing_is_refused(vault: Vault) -> None:
    """With no protected key any passphrase would do, and an empty yes is a no."""
    assert refusal(lambda: vault.unlock(WORDS)) == "nothing_to_unlock"
    vault.create("agent")
    assert (refusal(lambda: vault.unlock(WORDS)), vault.is_unlocked) == ("nothing_to_unlock", False)


def changed(folder: Path, name: str, /, **members: object) -> None:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **members}))


def test_a_box_opens_under_its_own_name_only(vault: Vault, folder: Path) -> None:
    """A box copied into another key's file does not make that key sign with it."""
    vault.create("principal", passphrase=WORDS)
    vault.create("ledger", passphrase=WORDS)
    principal = json.loads((folder / "principal.json").read_bytes())
    changed(folder, "ledger", sealed=principal["sealed"], public=principal["public"])
    assert refusal(lambda: vault.unlock(WORDS)) == "malformed_box"
    assert vault.is_unlocked is False


def test_a_file_swapped_after_the_unlock_is_noticed(vault: Vault, folder: Path) -> None:
    """What signs is what the file says, or nothing does."""
    vault.create("principal", passphrase=WORDS)
    vault.unlock(WORDS)
    changed(folder, "principal", public=PrivateKey.generate().public.jwk())
    with pytest.raises(Corrupt):
        vault.signer("principal")


def test_no_secret_is_ever_shown(vault: Vault, folder: Path, clock: ManualClock) -> None:
    """Not in a repr, not in the text of a failure, not in its traceback with every cause."""
    vault.create("agent")
    vault.create("principal", passphrase=WORDS)
    vault.unlock(WORDS)
    agent, principal = vault.signer("agent"), vault.signer("principal")
    secret = json.loads((folder / "agent.json").read_bytes())["secret"]
    shown = [repr(vault), repr(agent), repr(principal), repr(read_key_file(folder, "agent")), repr(vars(vault))]
    changed(folder, "agent", secret=secret[:-4])
    failures: list[Callable[[], object]] = [
        lambda: vault.signer("agent"),
        lambda: vault.create("principal", passphrase=WORDS),
        lambda: vault.unlock(GUESS),
        lambda: vault.signer("principal"),
        lambda: vault.create("Bad Name", passphrase=WORDS),
        lambda: vault.create("x", passphrase=WORDS, with_keyring=True),
    ]
    for call in failures:
        with pytest.raises((Refused, Corrupt, Misuse)) as caught:
            call()
        shown.append("".join(traceback.format_exception(caught.value)))
        shown.append(repr(caught.value))
    secrets = [WORDS, GUESS, secret, secret[:-4]]
    secrets += [key.private_bytes().hex() for key in (agent, principal)] + [repr(agent.private_bytes())]
    assert [each for each in secrets for text in shown if each in text] == []
    assert isinstance(read_key_file(folder, "principal"), KeyFile)


class MemoryKeyring(keyring.backend.KeyringBackend):
    """An operating system's keyring as far as this test has one."""

    priority = 1  # type: ignore[assignment]

    def __init__(self, failure: Exception | None = None, *, forgets: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.failure = failure
        self.forgets = forgets

    def get_password(self, service: str, username: str) -> str | None:
        if self.failure is not None:
            raise self.failure
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if not self.forgets:
            self.kept[service, username] = password


@pytest.fixture(autouse=True)
def _own_keyring() -> object:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(keyring.backends.fail.Keyring())


def test_a_key_under_the_keyring_is_opened_by_it(vault: Vault, folder: Path, clock: ManualClock) -> None:
    """No passphrase is typed; the random one lies in the keyring under this home's name and in no file."""
    system = MemoryKeyring()
    keyring.set_keyring(system)
    vault.create("principal", with_keyring=True)
    vault.create("console", with_keyring=True)
    ((service, owner), words) = next(iter(system.kept.items()))
    assert (service, owner, len(system.kept), len(words)) == ("sayso", str(folder.resolve()), 1, 43)
    assert [path for path in folder.iterdir() if words.encode() in path.read_bytes()] == []
    assert refusal(lambda: vault.signer("principal")) == "locked"
    assert vault.unlock() == ("console", "principal")
    vault.public("principal").verify(vault.signer("principal").sign(b"data"), b"data")
    clock.advance(timedelta(seconds=300))
    assert refusal(lambda: vault.signer("principal")) == "locked"


@pytest.mark.parametrize(
    "system",
    [
        keyring.backends.fail.Keyring(),
        MemoryKeyring(forgets=True),
        MemoryKeyring(OSError("no bus")),
        MemoryKeyring(keyring.errors.KeyringLocked("locked")),
    ],
)
def test_a_keyring_that_does_not_work_is_a_plain_refusal(
    vault: Vault, folder: Path, system: keyring.backend.KeyringBackend
) -> None:
    """No backend, one that keeps nothing, one that fails: nothing is made, and the sentence says what to do."""
    keyring.set_keyring(system)
    with pytest.raises(Refused) as caught:
        vault.create("principal", with_keyring=True)
    assert caught.value.refusal.code == "keyring_unavailable"
    assert "passphrase" in str(caught.value)
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_keyring_that_lost_its_entry_opens_nothing(vault: Vault) -> None:
    """It is not made anew: a new passphrase would open no box and hide the loss."""
    system = MemoryKeyring()
    keyring.set_keyring(system)
    vault.create("principal", with_keyring=True)
    system.kept.clear()
    assert refusal(vault.unlock) == "keyring_unavailable"
    assert system.kept == {}


def test_a_home_may_hold_keys_of_every_protection(vault: Vault) -> None:
    """One prompt and the keyring together open all; without the passphrase none is opened."""
    keyring.set_keyring(MemoryKeyring())
    vault.create("agent")
    vault.create("console", with_keyring=True)
    vault.create("principal", passphrase=WORDS)
    assert refusal(vault.unlock) == "passphrase_needed"
    assert vault.is_unlocked is False
    assert vault.unlock(WORDS) == ("console", "principal")
