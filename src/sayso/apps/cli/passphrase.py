"""Asking for a passphrase: on the person's own terminal, never from a pipe, an argument or the environment."""

from __future__ import annotations

import contextlib
import getpass
import os
import termios
from collections.abc import Iterator

from sayso.apps.asking.keyboard import beside

__all__ = ("ask_passphrase", "read_new_passphrase", "read_passphrase")

_TERMINAL = "/dev/tty"


async def ask_passphrase(prompt: str) -> str | None:
    """What the person types, unseen; None where there is no terminal to ask on or they end it.

    When it is cancelled the terminal shows what is typed again.
    """
    with _terminal_as_it_was() as has_terminal:
        return await beside(lambda: _typed(prompt)) if has_terminal else None


def read_passphrase(prompt: str) -> str | None:
    """The same for commands that have nothing else to do meanwhile."""
    with _terminal_as_it_was() as has_terminal:
        return _typed(prompt) if has_terminal else None


def read_new_passphrase() -> str | None:
    """A new passphrase, typed twice alike; None when they differ, are empty, or nobody can be asked."""
    with _terminal_as_it_was() as has_terminal:
        if not has_terminal:
            return None
        first = _typed("A passphrase for your keys: ")
        return first if first and _typed("The same once more: ") == first else None


def _typed(prompt: str) -> str | None:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        return None


@contextlib.contextmanager
def _terminal_as_it_was() -> Iterator[bool]:
    """Whether there is a terminal; at the end it behaves as before, also when a prompt was left in the middle."""
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        yield False
        return
    try:
        before = termios.tcgetattr(terminal)
        try:
            yield True
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)
