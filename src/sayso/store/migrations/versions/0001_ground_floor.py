"""The ground floor: store, ledger, governance, scheduling."""

from __future__ import annotations

from alembic import op

from sayso.store.tables import every_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        op.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    every_table().create_all(bind, checkfirst=False)
