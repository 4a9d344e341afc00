"""The console's own: who may sign in, and who is signed in.

Both hold `owner`, the id of the person whose house it is, first. A password is kept as its Argon2id string, a sign-in
as the SHA-256 of its token, so that a copy of the database opens no door.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, PrimaryKeyConstraint, Table, Text

from sayso.store.tables import metadata

__all__ = ("console_login", "console_user")

console_user = Table(
    "console_user",
    metadata,
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),  # owner, approver, viewer
    Column("secret", Text, nullable=False),  # Argon2id, with its parameters and salt
    Column("added_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner", "name"),
)

console_login = Table(
    "console_login",
    metadata,
    Column("owner", Text, nullable=False),
    Column("token_sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("started_us", BigInteger, nullable=False),
    Column("seen_us", BigInteger, nullable=False),  # the last time the person did something, to the minute
    PrimaryKeyConstraint("owner", "token_sha256"),
    Index(None, "owner", "name"),
    Index(None, "owner", "seen_us"),
)
