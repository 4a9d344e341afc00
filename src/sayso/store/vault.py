"""When a private key may be used: sealed at rest, opened for minutes, in one process.

The agent must not be able to say yes for its person (design, Consent): a protected key signs only after `unlock`, with
a passphrase that a person typed or with one that the operating system's keyring gave, in the process that asked, for at
most 300 seconds by the clock it was handed. Nothing of an unlock is written down. Protection `none` is for the agent's
own key and for sample worlds.

How a key lies in its file is `keyfile`'s, sealing is `proof.sealed`'s. Asking the person, and which act needs which
key, belongs to the floors above.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from sayso.core import b64u
from sayso.core.clock import Clock
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Corrupt, Misuse, Refused
from sayso.proof.keys import Jwk, KeyKind, PrivateKey, PublicKey
from sayso.proof.sealed import DEFAULT_COST, NONCE_SIZE, SALT_SIZE, Cost, open_sealed, seal
from sayso.store.keyfile import (
    FILE_VERSION,
    NAME,
    KeyFile,
    Protection,
    check_private,
    key_path,
    read_key_file,
    write_key_file,
)

__all__ = ("UNLOCK_SECONDS", "Protection", "Vault")

UNLOCK_SECONDS = 300

_FOLDER = "keys"
_SERVICE = "sayso"
_UNLOCK_HELP = (
    "Type its passphrase where a command asks for it (sayso ask, keyapp approve, gate approve), on a terminal: "
    "an unlock holds for 5 minutes in that one process."
)


class Vault:
    """The keys of one home. Synchronous: unlocking takes a good part of a second a key, so call it off the loop."""

    def __init__(self, home: Path, clock: Clock, *, ids: Ids | None = None, cost: Cost = DEFAULT_COST) -> None:
        self._folder = home / _FOLDER
        self._clock = clock
        self._ids = ids or SystemIds()
        self._cost = cost
        self._opened: dict[str, PrivateKey] = {}
        self._opened_at: tuple[datetime, float] | None = None

    def __repr__(self) -> str:
        return f"Vault({self._folder})"

    def names(self) -> tuple[str, ...]:
        """The names of all keys, sorted."""
        if not self._folder.exists():
            return ()
        check_private(self._folder, self._folder.lstat(), is_folder=True)
        found = (path.stem for path in self._folder.iterdir() if path.suffix == ".json")
        return tuple(sorted(name for name in found if NAME.fullmatch(name)))

    def public(self, name: str) -> PublicKey:
        """The public half; needs no unlock. Refused `unknown_key`; Corrupt: the file is damaged."""
        return PublicKey.from_jwk(read_key_file(self._folder, name).public)

    def protection(self, name: str) -> Protection:
        """How a key is kept. Errors as `public`."""
        return read_key_file(self._folder, name).protection

    def create(
        self, name: str, *, passphrase: str | None = None, kind: KeyKind = "Ed25519", with_keyring: bool = False
    ) -> PublicKey:
        """Makes a key: under `passphrase`, under one in the operating system's keyring, or with neither unprotected.

        All keys under a passphrase share one, so that a single prompt opens them. Refused `bad_name`, `key_exists`,
        `wrong_passphrase` (another than the earlier keys'), `empty_passphrase`, `keyring_unavailable`,
        `file_not_private`.
        """
        if not NAME.fullmatch(name):
            raise Refused.because(
                "bad_name", "A key's name is lower-case letters, digits and hyphens, up to 63", place="name"
            )
        if with_keyring and passphrase is not None:
            raise Misuse("a key is kept under a passphrase or under the keyring")
        protection: Protection = "keyring" if with_keyring else "none" if passphrase is None else "passphrase"
        if passphrase is not None:
            self._compare_passphrase(passphrase)
        if with_keyring:
            passphrase = self._keyring_passphrase(may_make=True)
        key = PrivateKey.generate(kind)
        write_key_file(self._folder, self._file(name, key, protection, passphrase), f"{name}.{self._ids.token(9)}")
        return key.public

    def unlock(self, passphrase: str | None = None) -> tuple[str, ...]:
        """Opens every protected key, or none, for 300 seconds; gives their names.

        Refused `wrong_passphrase`, `passphrase_needed`, `keyring_unavailable`, and `nothing_to_unlock` where no key is
        protected: an unlock that checked nothing proves nobody's presence.
        """
        self.lock()
        opened = {}
        for name in self.names():
            file = read_key_file(self._folder, name)
            if file.protection == "passphrase" and passphrase is None:
                raise Refused.because("passphrase_needed", f"The key {name} is kept under a passphrase")
            if file.protection != "none":
                opened[name] = self._open(file, passphrase if file.protection == "passphrase" else None)
        if not opened:
            raise Refused.because("nothing_to_unlock", "No key of this home is protected")
        self._opened = opened
        self._opened_at = (self._clock.now(), self._clock.monotonic())
        return tuple(opened)

    def lock(self) -> None:
        """Forgets what was opened."""
        self._opened = {}
        self._opened_at = None

    @property
    def is_unlocked(self) -> bool:
        """Whether the person unlocked this vault, in this process, within the last 300 seconds."""
        if self._opened_at is not None and not self._is_fresh(*self._opened_at):
            self.lock()
        return bool(self._opened)

    def signer(self, name: str) -> PrivateKey:
        """The key that signs; use it at once and keep it nowhere.

        Refused `locked` unless it is unprotected or was unlocked, `unknown_key`, `file_not_private`; Corrupt.
        """
        file = read_key_file(self._folder, name)
        if file.protection == "none":
            return self._key(file, _secret(file, self._folder))
        key = self._opened.get(name) if self.is_unlocked else None
        if key is None:
            raise Refused.because("locked", f"The key {name} is locked", help=_UNLOCK_HELP, details={"key": name})
        return self._checked(file, key)

    def _is_fresh(self, since: datetime, since_tick: float) -> bool:
        # Both measures, and neither may run backwards: a clock set back must not lengthen an unlock.
        aged = self._clock.now() - since
        ticked = self._clock.monotonic() - since_tick
        return timedelta(0) <= aged < timedelta(seconds=UNLOCK_SECONDS) and 0 <= ticked < UNLOCK_SECONDS

    def _compare_passphrase(self, passphrase: str) -> None:
        for name in self.names():
            file = read_key_file(self._folder, name)
            if file.protection == "passphrase":
                self._open(file, passphrase)
                return

    def _open(self, file: KeyFile, passphrase: str | None) -> PrivateKey:
        if file.sealed is None:
            raise Misuse("only a sealed key is opened")
        if passphrase is None:
            passphrase = self._keyring_passphrase(may_make=False)
        return self._key(file, open_sealed(file.sealed, passphrase, label=file.label))

    def _key(self, file: KeyFile, secret: bytes) -> PrivateKey:
        try:
            return self._checked(file, PrivateKey.from_private_bytes(file.kind, secret))
        except Misuse:
            raise Corrupt("a key file whose key is none", str(key_path(self._folder, file.name))) from None

    def _checked(self, file: KeyFile, key: PrivateKey) -> PrivateKey:
        if key.public != PublicKey.from_jwk(file.public):
            path = key_path(self._folder, file.name)
            raise Corrupt("a key file whose private and public halves differ", str(path))
        return key

    def _file(self, name: str, key: PrivateKey, protection: Protection, passphrase: str | None) -> KeyFile:
        bare = KeyFile(v=FILE_VERSION, name=name, kind=key.kind, protection=protection, public=Jwk(**key.public.jwk()))
        if passphrase is None:
            return msgspec.structs.replace(bare, secret=b64u.encode(key.private_bytes()))
        box = seal(
            key.private_bytes(),
            passphrase,
            salt=self._ids.random(SALT_SIZE),
            nonce=self._ids.random(NONCE_SIZE),
            cost=self._cost,
            label=bare.label,
        )
        return msgspec.structs.replace(bare, sealed=box)

    def _keyring_passphrase(self, *, may_make: bool) -> str:
        """One random passphrase a home, known to the keyring alone."""
        import keyring  # noqa: PLC0415 - a tenth of a second that only keyring users should pay

        owner = str(self._folder.resolve())
        try:
            kept = keyring.get_password(_SERVICE, owner)
            if kept is None and may_make:
                keyring.set_password(_SERVICE, owner, self._ids.token(32))
                kept = keyring.get_password(_SERVICE, owner)
        except Exception as error:  # noqa: BLE001 - backends raise what their desktop raises
            raise _no_keyring(f"it failed ({type(error).__name__})") from None
        if not kept:
            raise _no_keyring("it does not have this home's entry")
        return kept


def _secret(file: KeyFile, folder: Path) -> bytes:
    try:
        return b64u.decode(file.secret or "")
    except Refused:
        raise Corrupt("a key file whose key is none", str(key_path(folder, file.name))) from None


def _no_keyring(why: str) -> Refused:
    return Refused.because(
        "keyring_unavailable",
        f"The operating system's keyring cannot be used: {why}",
        help="Log in to the desktop session that holds it, or keep the key under a passphrase.",
    )
