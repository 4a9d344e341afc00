"""What a database may answer besides rows, spelled the same for both engines.

Engines translate their driver's exceptions by error code, never by message text. What remains untranslated is a bug
of ours and surfaces as `Misuse`; damaged files surface as `Corrupt`.
"""

from __future__ import annotations

__all__ = ("Taken", "Unavailable")


class Taken(Exception):
    """A unique or exclusion constraint refused a row: somebody already holds what the row claims.

    `constraint` names it where the engine says so (Postgres does, SQLite does not). The unit is lost either way;
    an expected conflict is better written as `insert(...).on_conflict_do_nothing()` and told by the row count.
    """

    def __init__(self, constraint: str | None = None) -> None:
        super().__init__(f"taken: {constraint or 'a unique constraint'}")
        self.constraint = constraint


class Unavailable(Exception):
    """The database could not take the unit: busy for too long, out of space, connection lost. Trying again may help.

    Nothing of the unit was written, unless `maybe_committed`: then the connection broke while COMMIT was under way,
    and only looking again tells.
    """

    def __init__(self, why: str, *, maybe_committed: bool = False) -> None:
        super().__init__(f"the database is unavailable: {why}")
        self.why = why
        self.maybe_committed = maybe_committed
