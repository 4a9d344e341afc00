"""Daybook: the service that keeps people's own calendars, each open to their contacts alone (SCH-370, SCH-372)."""

from __future__ import annotations

from typing import Final

from sayso.scheduling.host.operator import OperatorConfig
from sayso.scheduling.terms.discovery import Contact

__all__ = ("DAYBOOK",)

DAYBOOK: Final = OperatorConfig(
    domain="daybook.example",
    name="Daybook",
    contact=Contact(email="help@daybook.example", words="To meet somebody, speak to them yourself."),
)
