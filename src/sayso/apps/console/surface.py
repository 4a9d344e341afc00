"""How a page is written: templates whose every value is escaped, and stripped of what no font shows.

Text of agents, hosts and documents reaches a page through `{{ }}` alone; the environment escapes it and replaces
control and direction characters with question marks, as for a terminal. Nothing is marked safe but our own macros.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sayso.apps.asking.plain_text import plain
from sayso.apps.console.words import in_words, lasting, spoken

__all__ = ("NAVIGATION", "NOTICES", "STATIC", "write_page")

_HERE = Path(__file__).parent
STATIC = _HERE / "static"

NAVIGATION = (
    ("/", "Overview", "1"),
    ("/gate", "Gate", "2"),
    ("/agents", "Agents", "3"),
    ("/tasks", "Tasks", "4"),
    ("/receipts", "Receipts", "5"),
    ("/memory", "Memory", "6"),
    ("/hypotheses", "Hypotheses", "7"),
    ("/limits", "Limits", "8"),
)
"""Address, name and access key of each part."""

NOTICES: Mapping[str, str] = {
    "approved": "Approved. It is being carried out; the outcome appears here.",
    "rejected": "Rejected. The agent is told so, with your reason.",
    "answered": "Answered.",
    "revoked": "Revoked. The next request with that key is refused.",
    "suspended": "Suspended. None of its keys works until you reissue.",
    "assigned": "Assigned. The agent finds it in its task feed.",
    "withdrawn": "Taken back. The agent no longer finds it.",
    "added": "Added. It can be searched now.",
    "asked": "The simulation waits at the Gate.",
    "signed_out": "You are signed out, and your keys are locked.",
}
"""What a page says after a form was sent; the address names one of these and never carries words."""


def _said(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return plain(value)


_environment = Environment(
    autoescape=True,
    loader=FileSystemLoader(_HERE / "templates"),
    undefined=StrictUndefined,
    finalize=_said,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals.update(navigation=NAVIGATION, notices=NOTICES, in_words=in_words, lasting=lasting, spoken=spoken)


def write_page(template: str, values: Mapping[str, Any]) -> bytes:
    """A page, or a part of one, as UTF-8."""
    return _environment.get_template(template).render(values).encode()
