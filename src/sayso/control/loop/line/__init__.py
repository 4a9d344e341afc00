"""The line of a session's runs: one at work, others reserved behind it."""
