"""Chairly: the booking platform that runs endpoints for shops and practices that run none (SCH-372)."""

from __future__ import annotations

from typing import Final

from sayso.scheduling.host.operator import OperatorConfig
from sayso.scheduling.terms.discovery import Contact

__all__ = ("CHAIRLY",)

CHAIRLY: Final = OperatorConfig(
    domain="chairly.example",
    name="Chairly",
    contact=Contact(email="help@chairly.example", words="For a booking, speak to the shop itself."),
)
