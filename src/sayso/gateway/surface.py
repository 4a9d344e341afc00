"""What a gateway shows beside its acts: resources to read and prompts to fill in, as values that every door can write.

A door lists and reads through the port `Surface`; what stands behind it (knowledge, the Gate, the receipts) is not the
door's to know. Reading is disclosure: nothing here changes anything (GTW-030, GTW-041, GTW-042).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from sayso.gateway.crossing import Agent

__all__ = (
    "UNKNOWN_PROMPT",
    "UNKNOWN_RESOURCE",
    "Completes",
    "Contents",
    "Prompt",
    "PromptArgument",
    "PromptText",
    "Readable",
    "Surface",
    "Template",
    "Utterance",
)

UNKNOWN_RESOURCE = "unknown_resource"
UNKNOWN_PROMPT = "unknown_prompt"


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to read, by its address."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str = "application/json"


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A family of things to read; `uri_template` is RFC 6570, level 1."""

    uri_template: str
    name: str
    title: str
    description: str
    mime_type: str = "application/json"


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: either `text` or `blob`. `ttl_ms` is how long it may be taken for fresh, 0 for not at all."""

    uri: str
    text: str | None = None
    blob: bytes | None = None
    mime_type: str = "application/json"
    ttl_ms: int = 0


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """One blank of a prompt."""

    name: str
    description: str
    required: bool = False


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that can be asked for by name."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a filled-in prompt. `contents` is a resource shown instead of words."""

    text: str = ""
    role: Literal["user", "assistant"] = "user"
    contents: Contents | None = None


class PromptText(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt filled in."""

    description: str
    messages: tuple[Utterance, ...]


class Surface(Protocol):
    """What a door lists and reads. Both lists keep one order, so that pages and caches agree."""

    def resources(self) -> Sequence[Readable]:
        """Every resource with an address of its own."""
        ...

    def templates(self) -> Sequence[Template]:
        """Every family of resources."""
        ...

    async def read(self, uri: str, agent: Agent) -> Contents:
        """One resource. Refused `unknown_resource`, the same for what is missing and for what is another agent's."""
        ...

    def prompts(self) -> Sequence[Prompt]:
        """Every prompt."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> PromptText:
        """A prompt filled in. Refused `unknown_prompt`, or `schema_invalid` for an argument missing or not known."""
        ...


@runtime_checkable
class Completes(Protocol):
    """A surface that proposes values for the blanks of its prompts and templates."""

    def complete(self, of: str, argument: str, value: str) -> Sequence[str]:
        """Values that begin with `value`, best first. `of` is a prompt's name or a template; nothing is refused."""
        ...
