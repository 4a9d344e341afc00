"""What `sayso receipts` works on: the log of a home, its keys, and the files people bring."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sayso.apps.home import Home, open_home
from sayso.apps.keys import LEDGER
from sayso.apps.settings import default_home
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.ledger.ledger import Ledger
from sayso.ledger.reading import list_logs
from sayso.ledger.rules.export import MAX_LINE
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.proof.note import read_verifier_key
from sayso.store.failures import Unavailable
from sayso.store.open import open_store
from sayso.store.unit import Store
from sayso.store.vault import Vault
from sayso.world.places import world_folder

__all__ = (
    "PublishedKey",
    "ReceiptLog",
    "check_owner",
    "lines_of",
    "open_log",
    "public_key",
    "read_published_key",
    "signing_key",
)

NO_RECEIPTS = "no_receipts"
MAX_KEY_FILE = 4096
_TRIES = 3


@dataclass(frozen=True, slots=True)
class ReceiptLog:
    """A home and the one log in it that is meant."""

    home: Home
    store: Store
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """A log's public key as others are told it; `log` is the log it belongs to, where the file says so."""

    key: PublicKey
    log: str | None


@contextmanager
def open_log(
    home: Path | None, *, is_world: bool, name: str | None, only_reading: bool = False
) -> Iterator[ReceiptLog]:
    """Opens the log of a home for the length of the block; with `only_reading` also of one that cannot be written, such
    as a backup or a disk that is mounted so.

    Refused: `no_receipts` where there is no such log, `which_log` where there are several and none is named.
    """
    path = home or default_home()
    # Looking for receipts never makes a home.
    if not (world_folder(path) if is_world else path).is_dir():
        raise _no_receipts(str(path))
    opened = open_home(path, is_world=is_world)
    with (
        _readable(opened) if only_reading else nullcontext(opened.database) as database,
        open_store(database, opened.clock) as store,
    ):
        log = _choose(store.read(list_logs), name, str(opened.path))
        yield ReceiptLog(opened, store, Ledger(store, log, opened.clock))


@contextmanager
def _readable(home: Home) -> Iterator[str]:
    """Where the database can be opened, which always writes beside it: where it is, or a private copy for the block.

    Refused: `no_receipts`. Unavailable: somebody else writes it while it is copied.
    """
    file = Path(home.database)
    if "://" in home.database or (os.access(home.path, os.W_OK) and (os.access(file, os.W_OK) or not file.exists())):
        yield home.database
        return
    if not file.is_file():
        raise _no_receipts(str(home.path))
    with tempfile.TemporaryDirectory(prefix="sayso-") as folder:
        yield str(_copied(file, Path(folder)))


def _copied(file: Path, folder: Path) -> Path:
    """The file and the log of what it does not hold yet, as they stood at one moment."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    for _ in range(_TRIES):
        before = _marks(parts)
        for part in parts:
            (folder / part.name).unlink(missing_ok=True)
            if part.exists():
                shutil.copyfile(part, folder / part.name)
        if _marks(parts) == before:
            return folder / file.name
    raise Unavailable("it is written to while it is read")


def _marks(parts: tuple[Path, ...]) -> list[tuple[int, int] | None]:
    found = [part.stat() if part.exists() else None for part in parts]
    return [None if each is None else (each.st_mtime_ns, each.st_size) for each in found]


def read_published_key(path: Path) -> PublishedKey:
    """Reads a key file: a verifier key (`name+id+base64`), or a JWK. Refused: `malformed_key`, `malformed_json`."""
    with path.open("rb") as file:
        data = file.read(MAX_KEY_FILE).strip()
    if data.startswith(b"{"):
        jwk = strictjson.parse(data)
        key = PublicKey.from_jwk(jwk if isinstance(jwk, dict) else {})
        if key.kind != "Ed25519":
            raise Refused.because("malformed_key", "A log's key is an Ed25519 key", place=str(path))
        return PublishedKey(key, None)
    log, key = read_verifier_key(data.decode("utf-8", errors="replace"))
    return PublishedKey(key, log)


def check_owner(published: PublishedKey, log: str) -> None:
    """Refused: `other_log` where the key file says that it is another log's key."""
    if published.log not in (None, log):
        raise Refused.because(
            "other_log",
            f"This is the key of {published.log}, and the receipts are of {log}",
            help="Get that log's key.",
        )


def public_key(log: ReceiptLog) -> PublicKey:
    """The key that this home publishes for its log. Refused: `unknown_key`, as the vault says."""
    return Vault(log.home.path, log.home.clock).public(LEDGER)


def signing_key(log: ReceiptLog, ask_passphrase: Callable[[], str | None]) -> PrivateKey:
    """The key that signs checkpoints, unlocked for this process; asks for the passphrase only where there is one.

    Refused: `unknown_key`, `wrong_passphrase`, `keyring_unavailable`, as the vault says; `locked` where nobody can be
    asked.
    """
    vault = Vault(log.home.path, log.home.clock)
    protection = vault.protection(LEDGER)
    passphrase = ask_passphrase() if protection == "passphrase" else None
    if protection == "keyring" or passphrase is not None:
        vault.unlock(passphrase)
    return vault.signer(LEDGER)


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """An export's lines; one that is too long is cut, and then refused by whoever reads it."""
    return iter(lambda: file.readline(MAX_LINE + 1), b"")


def _choose(logs: list[str], name: str | None, home: str) -> str:
    if name in logs:
        return name
    if not logs:
        raise _no_receipts(home)
    if name is None and len(logs) == 1:
        return logs[0]
    raise Refused.because(
        "which_log",
        f"There is no log {name} here" if name else "There are several logs here",
        help=f"Name one with --log: {', '.join(logs)}.",
    )


def _no_receipts(home: str) -> Refused:
    return Refused.because(
        NO_RECEIPTS,
        f"There are no receipts in {home} yet",
        help="Ask for something first (sayso ask), or name another home with --home or --world.",
    )
