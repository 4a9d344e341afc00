"""Where log lines go: standard error, so that what a command answers stays alone on standard output."""

from __future__ import annotations

import logging
import sys

import structlog

__all__ = ("log_to_stderr",)


def log_to_stderr() -> None:
    """Sends every log line of this process to standard error, one line of key=value each.

    Libraries are heard from a warning on. Said first, so that none of them can set up logging for all others.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
