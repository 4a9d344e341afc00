"""Alembic's entry: the caller hands the connection over and ends its transaction."""

from __future__ import annotations

from alembic import context

from sayso.store.tables import every_table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=every_table(),
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
