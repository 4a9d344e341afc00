"""Credentials in `<home>/auth.json`, for machines without a keyring (OAP-150): 0600, written whole, never in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from sayso.control.provider.credentials.files import locked, read_private, write_whole
from sayso.control.provider.credentials.values import Credential
from sayso.core import strictjson
from sayso.core.refusal import Corrupt, Refused

__all__ = ("AUTH_FILE", "AuthFile")

AUTH_FILE = Path("auth").with_suffix(".json").name
_VERSION = 1
_LARGEST = 1_048_576


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: int = _VERSION
    providers: Mapping[str, Credential] = {}

    def __repr__(self) -> str:
        return f"auth.json({sorted(self.providers)})"


class AuthFile:
    """The file of one home. Two processes that write at once both get their entry in."""

    def __init__(self, home: Path) -> None:
        self._path = home / AUTH_FILE
        self._lock = home / f".{AUTH_FILE}.lock"

    def get(self, provider: str) -> Credential | None:
        """An entry. Refused `file_not_private`; Corrupt where the file is damaged."""
        return self._read().get(provider)

    def put(self, provider: str, credential: Credential) -> None:
        """Keeps an entry. Errors as `get`."""
        self._change(lambda entries: entries | {provider: credential})

    def remove(self, provider: str) -> bool:
        """Takes an entry away; whether there was one. Errors as `get`."""
        if self.get(provider) is None:
            return False
        self._change(lambda entries: {name: each for name, each in entries.items() if name != provider})
        return True

    def _change(self, change: Callable[[dict[str, Credential]], dict[str, Credential]]) -> None:
        with locked(self._lock):
            self._clear()
            document = _Document(providers=change(self._read()))
            write_whole(self._path, strictjson.encode(document) + b"\n")

    def _clear(self) -> None:
        """Nobody else writes now, so a draft that lies here is of a process that was killed, with everything in it."""
        for draft in self._path.parent.glob(f".{AUTH_FILE}.*"):
            if draft != self._lock:
                draft.unlink(missing_ok=True)

    def _read(self) -> dict[str, Credential]:
        data = read_private(self._path, _LARGEST)
        if data is None:
            return {}
        try:
            document = strictjson.decode(data, _Document)
        except Refused as refused:
            # The place and the kind alone: what the reader says of a damaged file may repeat a piece of it.
            raise Corrupt(f"stored credentials that cannot be read ({refused.refusal.code})", str(self._path)) from None
        if document.v != _VERSION:
            raise Corrupt("stored credentials of another version", str(self._path))
        return dict(document.providers)
