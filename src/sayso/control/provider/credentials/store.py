"""Where a person's credentials are kept: the keyring first, else a file of the home (OAP-150)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from sayso.control.provider.credentials.auth_file import AuthFile
from sayso.control.provider.credentials.keyring_entries import DEFAULT_SERVICE, SERVICE_VARIABLE, KeyringEntries
from sayso.control.provider.credentials.values import Credential
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("CredentialStore", "Keeper", "Kept")

Keeper = Literal["keyring", "file"]


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A credential and who keeps it."""

    credential: Credential
    keeper: Keeper


class CredentialStore:
    """The stored credentials of one home, one a provider. Synchronous: call it off the event loop."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._file = AuthFile(home)
        self._keyring = KeyringEntries(home, environ.get(SERVICE_VARIABLE) or DEFAULT_SERVICE)

    @property
    def trouble(self) -> str | None:
        """What kind of failure the keyring had, if any: its entries were then not seen."""
        return self._keyring.trouble

    def get(self, provider: str) -> Kept | None:
        """The stored credential. Refused `file_not_private`; Corrupt for a damaged file."""
        entry = self._keyring.get(provider)
        credential = _decode(entry) if entry is not None else None
        if credential is not None:
            return Kept(credential=credential, keeper="keyring")
        credential = self._file.get(provider)
        return Kept(credential=credential, keeper="file") if credential is not None else None

    def put(self, provider: str, credential: Credential) -> Keeper:
        """Keeps a credential in exactly one place, and says in which. Errors as `get`."""
        if self._keyring.put(provider, strictjson.encode(credential).decode()):
            self._file.remove(provider)
            return "keyring"
        self._keyring.remove(provider)
        self._file.put(provider, credential)
        return "file"

    def remove(self, provider: str) -> bool:
        """Forgets a credential wherever it is; whether there was one. Errors as `get`."""
        was_in_keyring = self._keyring.remove(provider)
        return self._file.remove(provider) or was_in_keyring


def _decode(entry: str) -> Credential | None:
    """An entry as it was kept; None for one that somebody else wrote under our name."""
    try:
        return strictjson.decode(entry.encode(), Credential)  # type: ignore[arg-type]
    except (Refused, UnicodeEncodeError):
        return None
