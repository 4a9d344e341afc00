"""Keyrings for tests, behind the same library the product asks: one that keeps, one that fails, one that forgets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError


class Keeping(KeyringBackend):
    """A keyring in memory."""

    priority = 5
    viable = False
    """Only where a test says so: the library would else take it for the machine's, being the best there is."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


class Failing(Keeping):
    """A desktop that is locked, and whose complaint repeats what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError(f"locked: {service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"no room for {password}")


class Forgetting(Keeping):
    """One that takes what is too long for it and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Silent(Keeping):
    """A desktop that asks a person who is not there, until `answer` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.answer = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.answer.wait()
        return super().get_password(service, username)


@contextmanager
def using(backend: KeyringBackend) -> Iterator[KeyringBackend]:
    """The machine's keyring is this one for a while."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield backend
    finally:
        keyring.set_keyring(before)
