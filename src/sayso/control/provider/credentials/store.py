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

    def verify(self) -> None:
        """Whether the file can be read, if there is one. Errors as `get`."""
        self._file.get("")

    def get(self, provider: str) -> Kept | None:
        """The stored credential. Refused `file_not_private`; Corrupt for a damaged file.

        The file is looked at first: it has an entry only where the keyring could not keep it, so its entry is the
        newer one, and a keyring that is locked is then not waited for.
        """
        credential = self._file.get(provider)
        if credential is not None:
            return Kept(credential=credential, keeper="file")
        entry = self._keyring.get(provider)
        credential = _decode(entry) if entry is not None else None
        return Kept(credential=credential, keeper="keyring") if credential is not None else None

    def put(self, provider: str, credential: Credential, *, keeper: Keeper = "keyring") -> Keeper:
        """Keeps a credential in exactly one place, and says in which: the keyring where it can, unless the `keeper`
        that it is for is the file. Errors as `get`, before anything is changed.
        """
        self._file.get(provider)
        if keeper == "file":
            self._file.put(provider, credential)
            return keeper
        if self._keyring.put(provider, strictjson.encode(credential).decode()):
            self._file.remove(provider)
            return "keyring"
        self._keyring.remove(provider)
        self._file.put(provider, credential)
        return "file"

    def replace(self, provider: str, kept: Kept, credential: Credential) -> bool:
        """Puts a credential where another is kept, if that is still the one; whether it was. A keyring that does not
        say so any more is believed to keep it. Errors as `get`.
        """
        failures = self._keyring.failures
        found = self.get(provider)
        is_unsaid = found is None and self._keyring.failures != failures
        if found != kept and not is_unsaid:
            return False
        self.put(provider, credential, keeper=kept.keeper)
        return True

    def remove(self, provider: str) -> bool:
        """Forgets a credential wherever it is; whether there was one. Errors as `get`."""
        was_in_file = self._file.remove(provider)
        return self._keyring.remove(provider) or was_in_file


def _decode(entry: str) -> Credential | None:
    """An entry as it was kept; None for one that somebody else wrote under our name."""
    try:
        return strictjson.decode(entry.encode(), Credential)  # type: ignore[arg-type]
    except (Refused, UnicodeEncodeError):
        return None
