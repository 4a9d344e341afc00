"""The passphrase of a host's keys, asked for where a command opens its desk."""

from __future__ import annotations

from sayso.apps.cli.passphrase import read_passphrase

__all__ = ("ask_passphrase",)


def ask_passphrase() -> str | None:
    """What is typed at the terminal; None where there is none."""
    return read_passphrase("Passphrase of the host's keys: ")
