"""The database: units of work on SQLite or Postgres, and what is exact across processes because it stands in rows."""
