"""One request at a door, and the answer to it, in the terms that every door shares.

A door reads bytes and writes bytes. Who may knock, how often, how large, and what is receipted is decided in one place
for all of them (`guard`); what may be done is `governance`'s. These are the values they hand one another.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from sayso.core.frames import SseEvent
from sayso.core.refusal import Refusal

__all__ = ("Agent", "Answer", "Crossing", "Denial", "Deny", "Stream")


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came over the wire.

    `target` is path and query exactly as received, `headers` have lower-case names (as ASGI gives them), `body` is the
    raw bytes, `peer` the client's address.
    """

    door: str
    method: str
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    peer: str

    def header(self, name: bytes) -> str | None:
        """The value of a header that stands once, without surrounding white space; None where it is missing."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1").strip(" \t")
        return None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """Who was let in: an outside agent, bound to the person who issued its key."""

    id: str
    name: str
    owner: str
    scopes: frozenset[str]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What goes back: `body` is exactly the bytes sent, whose hash the receipt carries."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was not let through.

    `status` is the HTTP status; `left` how many more violations the agent has before it is suspended, where that may be
    told; `retry_after` whole seconds, for a 429.
    """

    refusal: Refusal
    status: int
    left: int | None = None
    retry_after: int | None = None


Deny: TypeAlias = Callable[[Crossing, Denial], Answer]
"""A denial in a protocol's own error shape: pure, and never fails, whatever the body was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An answer that goes on: `head` is what was receipted (its body the first events), `events` what follows."""

    head: Answer
    events: AsyncIterator[SseEvent]
