"""A key app's side of scheduling: the mandates it signed, and which of them the person took back.

A mandate's key holds `owner`, the thumbprint of the person's key. `handle` is the last part of a mandate's status URL:
random, so that knowing one mandate tells nothing of another; units of a shared limit count under it.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("keyapp_mandate", "keyapp_unit")

keyapp_mandate = Table(
    "keyapp_mandate",
    metadata,
    Column("owner", Text, nullable=False),
    Column("jti", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("handle", Text),  # null where it has no status URL and so cannot be taken back
    Column("signed_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("revoked_us", BigInteger),
    PrimaryKeyConstraint("owner", "jti"),
    Index("ix_keyapp_mandate_handle", "handle"),
)

keyapp_unit = Table(
    "keyapp_unit",
    metadata,
    Column("handle", Text, nullable=False),  # the mandate's
    Column("host", Text, nullable=False),
    Column("unit", Text, nullable=False),  # the host's id for what it confirms
    Column("taken_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("handle", "host", "unit"),
)
