"""Credentials in the operating system's keyring: Keychain, Secret Service, Credential Manager (OAP-150).

The keyring has no list, so an entry is asked for by name: the service (`SAYSO_KEYRING_SERVICE`, else `sayso`) and the
home with the provider, so that two homes never see each other's. A keyring that fails is told apart from one that has
nothing, and neither ends a command: the file is there. One that does not answer, such as a desktop that asks a person
who is not there, is asked on a thread that nothing waits for at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ("DEFAULT_SERVICE", "SERVICE_VARIABLE", "KeyringEntries")

T = TypeVar("T")

_PATIENCE = 20.0
SERVICE_VARIABLE = "SAYSO_KEYRING_SERVICE"
DEFAULT_SERVICE = "sayso"


class KeyringEntries:
    """One home's entries. Every call may wait up to `patience` seconds for a desktop that asks its user, so keep it off
    the event loop. While a call stays unanswered no other is made.
    """

    def __init__(self, home: Path, service: str, *, patience: float = _PATIENCE) -> None:
        self._home = str(home.resolve())
        self._service = service
        self._patience = patience
        self._unanswered: threading.Thread | None = None
        self._is_usable: bool | None = None
        self.trouble: str | None = None
        """The kind of the last failure, for a status line; never its text, which a backend may fill with anything."""
        self.failures = 0

    def is_usable(self) -> bool:
        """Whether this machine has a keyring at all; looked at until it could be said."""
        if self._is_usable is None:
            self._is_usable = self._try(_has_backend)
        return self._is_usable is True

    def get(self, provider: str) -> str | None:
        """The entry; None where there is none, or where the keyring cannot be asked."""
        if not self.is_usable():
            return None
        found: str | None = self._try(lambda: _keyring().get_password(self._service, self._name(provider)))
        return found

    def put(self, provider: str, value: str) -> bool:
        """Keeps an entry and reads it again; whether it is now there."""

        def kept() -> bool:
            _keyring().set_password(self._service, self._name(provider), value)
            return bool(_keyring().get_password(self._service, self._name(provider)) == value)

        return self.is_usable() and self._try(kept) is True

    def remove(self, provider: str) -> bool:
        """Takes an entry away; whether there was one. It is asked first: backends differ in how they say no."""
        if self.get(provider) is None:
            return False

        def gone() -> bool:
            _keyring().delete_password(self._service, self._name(provider))
            return True

        return self._try(gone) is True

    def _name(self, provider: str) -> str:
        return f"{self._home} provider {provider}"

    def _try(self, act: Callable[[], T]) -> T | None:
        done: list[T] = []

        def run() -> None:
            try:
                done.append(act())
            except Exception as error:  # noqa: BLE001 - backends raise what their desktop raises
                self._fail(type(error).__name__)

        if self._unanswered is None or not self._unanswered.is_alive():
            asking = threading.Thread(target=run, name="keyring", daemon=True)
            asking.start()
            asking.join(self._patience)
            self._unanswered = asking if asking.is_alive() else None
        if self._unanswered is not None:
            self._fail(TimeoutError.__name__)
            return None
        return done[0] if done else None

    def _fail(self, kind: str) -> None:
        self.trouble = kind
        self.failures += 1


def _keyring() -> Any:
    import keyring  # noqa: PLC0415 - a tenth of a second that only a lookup beyond the environment should pay

    return keyring


def _has_backend() -> bool:
    return bool(_keyring().get_keyring().priority > 0)
