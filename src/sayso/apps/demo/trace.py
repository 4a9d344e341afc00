"""The printed trace: every exchange with a host, every event of the run, every document that was signed.

Nothing is invented for the show: exchanges come from the fetcher that sent them, events from the hub, documents from
the key app. Signed tokens are shown by their first characters, and decoded where their content is the point.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any, TextIO

from sayso.apps.asking.conversation import Step
from sayso.apps.asking.plain_text import plain
from sayso.apps.watching import Exchange
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionResolved
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.proof.jws import read_jws
from sayso.scheduling.keyapp.app import Shown

__all__ = ("Trace",)

_WIDTH = 116
_LONG = re.compile(r"^[\w-]{60,}$|^eyJ[\w-]+\.[\w-]+\.[\w-]+$")
_SHOWN_HEADERS = {"signature-input": "Signature-Input", "schcp-mandate": "SchCP-Mandate"}
_SLOTS_SHOWN = 2
_STREAMED = "content.delta"


class Trace:
    """A `Telling` and a `Watch` in one, on a text stream."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._seen: set[bytes] = set()
        self._streamed = 0

    def heading(self, text: str) -> None:
        """Starts a chapter."""
        self._line(f"\n── {text} ".ljust(_WIDTH, "─"))

    def say(self, text: str) -> None:
        """A sentence of the story."""
        self._wrapped(text, "")

    def row(self, text: str) -> None:
        """A line of a table, as it is."""
        self._line(plain(text))

    def exchange(self, exchange: Exchange) -> None:
        """One request and its answer."""
        self._line(f"  → {exchange.method} {exchange.url}")
        for name, value in exchange.headers:
            if name.lower() in _SHOWN_HEADERS:
                self._line(f"      {_SHOWN_HEADERS[name.lower()]}: {_short(value)}")
        self._body(exchange.body)
        known = exchange.response.body in self._seen
        self._seen.add(exchange.response.body)
        self._line(f"  ← {exchange.response.status}{' (the same document as before)' if known else ''}")
        if not known:
            self._body(exchange.response.body)

    def envelope(self, envelope: Envelope[Wire]) -> None:
        if envelope.type == _STREAMED:
            self._streamed += 1
            return
        if self._streamed:
            self._line(f"  · {self._streamed} times {_STREAMED}")
            self._streamed = 0
        number = "" if envelope.sequence is UNSET else f"#{envelope.sequence} "
        outcome = f" {envelope.payload.outcome}" if isinstance(envelope.payload, PermissionResolved) else ""
        self._line(f"  · {number}{envelope.type}{outcome}")

    def calling(self, name: str) -> None:
        self.heading(name)

    def called(self, step: Step) -> None:
        if step.failed:
            self._line("  ! " + plain(strictjson.encode(_shortened(step.result)).decode()))
        elif step.name == "find_slots":
            self._slots(step.result)

    def signed(self, shown: Shown) -> None:
        self._wrapped(f"“{shown.text}”", "    ")
        self._line(f"    signed by the key app: {shown.kind}, text {shown.text_sha256}")

    def not_signed(self, why: str) -> None:
        self._line(f"    not signed: {plain(why)}")

    def mandate(self, token: str) -> None:
        """A mandate, decoded."""
        self._json(_decoded(token), "    ")

    def _slots(self, result: Mapping[str, Any]) -> None:
        slots = result["slots"]
        self._line(f"    {len(slots)} free starts, each with its all-in total:")
        cells = [f"{s['start'][11:16]} {s['total']['currency']} {s['total']['amount']}" for s in slots if "total" in s]
        for first in range(0, len(cells), 6):
            self._line("      " + "   ".join(cells[first : first + 6]))

    def _body(self, body: bytes) -> None:
        if not body:
            return
        try:
            self._json(strictjson.parse(body), "      ")
        except Refused:
            self._line(f"      ({len(body)} bytes that are no JSON)")

    def _json(self, value: Any, indent: str) -> None:
        # A blank after each comma between members, so that lines break there and not inside a value.
        text = plain(strictjson.encode(_shortened(value)).decode()).replace(',"', ', "').replace("},{", "}, {")
        for line in textwrap.wrap(text, _WIDTH - len(indent), break_on_hyphens=False, break_long_words=False):
            self._line(indent + line)

    def _wrapped(self, text: str, indent: str) -> None:
        for line in textwrap.wrap(plain(text), _WIDTH - len(indent)):
            self._line(indent + line)

    def _line(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def _short(text: str) -> str:
    return f"{text[:24]}…" if _LONG.match(text) else text


def _shortened(value: Any) -> Any:
    """The value with signed tokens cut, and of a long list of slots the first two."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Mapping):
        return {key: _cut(item) if key == "slots" else _shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value]
    return value


def _cut(slots: Any) -> Any:
    if isinstance(slots, list) and len(slots) > _SLOTS_SHOWN:
        return [*slots[:_SLOTS_SHOWN], f"… {len(slots)} in all"]
    return slots


def _decoded(token: str) -> Any:
    found = read_jws(token)
    return strictjson.parse(found.payload)
