"""Asking for a passphrase: on the person's own terminal, never from a pipe, an argument or the environment."""

from __future__ import annotations

import getpass
import os

__all__ = ("read_new_passphrase", "read_passphrase")

_TERMINAL = "/dev/tty"


def read_passphrase(prompt: str) -> str | None:
    """What the person types, unseen; None where there is no terminal to ask on or they end it."""
    try:
        os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    try:
        return getpass.getpass(prompt)
    except EOFError:
        return None


def read_new_passphrase() -> str | None:
    """A new passphrase, typed twice alike; None when they differ, are empty, or nobody can be asked."""
    first = read_passphrase("A passphrase for your keys: ")
    if not first:
        return None
    return first if read_passphrase("The same once more: ") == first else None
