"""The terminal UI: one person, one session, every question answered by one key."""
