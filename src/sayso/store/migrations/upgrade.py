"""Brings a database up to the code's revision, in one transaction that other processes wait for."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

__all__ = ("upgrade",)


def upgrade(connection: Connection) -> None:
    """Runs the missing migrations on a connection whose transaction already holds the database's write lock.

    Whoever comes second finds nothing left to do, because the stored revision is read inside that transaction.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
