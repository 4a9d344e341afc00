"""The database's shape through time. This package is light on purpose: Alembic is imported by `upgrade` alone, and
that only when a database is older than the code.
"""

from __future__ import annotations

from sayso.core.refusal import Refused

__all__ = ("HEAD", "refuse_newer")

HEAD = "0001"
"""The revision the code expects; revisions are numbered so that they compare as text."""


def refuse_newer(stored: str | None) -> None:
    """Raises `Refused` (`database_newer`) where a newer sayso has already changed the database's shape."""
    if stored is not None and stored > HEAD:
        raise Refused.because(
            "database_newer",
            f"the database is at revision {stored}, this sayso knows {HEAD} and older",
            help="Use the newer sayso that last opened it.",
        )
