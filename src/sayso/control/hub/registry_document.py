"""The registry document of `--config`: one JSON object, read strictly, each entry as a closed value (OAP-086, 087).

Two maps: `adapters` (name to entry) and `tool_sources` (id to entry). What is refused is refused by the path of the
member (`adapters.claude.Model`), and of several faults of one kind the first in sorted order is named, so that one
document has one refusal: a member given twice, then a member nobody knows (one that differs from a known one by its
case alone among them), then a value of the wrong type. What an entry of some type needs, and whether its variables are
set, is `registry_loading`'s to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from sayso.control.protocol.payloads.capabilities import ToolSourceKind
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Ordinal, Text
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("AdapterEntry", "RegistryDocument", "ToolSourceEntry", "not_valid", "read_registry_document")

T = TypeVar("T", bound=msgspec.Struct)
Words = tuple[str, ...]
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]', re.DOTALL)


class AdapterEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One adapter; `type` is the entry's own name where it is not given."""

    type: Maybe[Text] = UNSET
    version: Maybe[Text] = UNSET
    executable: Maybe[Text] = UNSET
    args: Maybe[Words] = UNSET
    environment: Maybe[Words] = UNSET
    working_directory: Maybe[Text] = UNSET
    model: Maybe[Text] = UNSET
    journal_capacity: Maybe[Annotated[int, Meta(ge=1, le=1_000_000)]] = UNSET
    allowed_tools: Maybe[Words] = UNSET
    unrestricted_tools: Maybe[bool] = UNSET
    approval_policy: Maybe[Text] = UNSET
    sandbox: Maybe[Text] = UNSET
    provider: Maybe[Text] = UNSET
    max_tokens: Maybe[Ordinal] = UNSET
    agent_config: Maybe[Text] = UNSET
    system_prompt: Maybe[Text] = UNSET
    endpoint: Maybe[Text] = UNSET
    agent: Maybe[Text] = UNSET


class ToolSourceEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tool source that clients may attach by its id. `headers` are `Name=VARIABLE`, for its endpoint alone; with
    `trusts_hints` a tool that calls itself read-only is called without asking.
    """

    kind: ToolSourceKind
    display_name: Maybe[str] = UNSET
    protocol: Maybe[str] = UNSET
    endpoint: Maybe[str] = UNSET
    command: Maybe[Text] = UNSET
    args: Maybe[Words] = UNSET
    environment: Maybe[Words] = UNSET
    headers: Maybe[Words] = UNSET
    trusts_hints: Maybe[bool] = UNSET


@dataclass(frozen=True, slots=True)
class RegistryDocument:
    """The whole document, its entries in sorted order."""

    adapters: Mapping[str, AdapterEntry] = field(default_factory=dict)
    tool_sources: Mapping[str, ToolSourceEntry] = field(default_factory=dict)


_MAPS: Mapping[str, type[msgspec.Struct]] = {"adapters": AdapterEntry, "tool_sources": ToolSourceEntry}


def read_registry_document(data: bytes) -> RegistryDocument:
    """Bytes to a document. Refused `config_invalid`, reasons `syntax`, `duplicate_member`, `unknown_member`, `shape`;
    the place is the member's path, or line and column where the text is no JSON.
    """
    document = _parse(data)
    if not isinstance(document, Mapping):
        raise not_valid("shape", "the document is one JSON object", place="$")
    unknown = sorted(_unknown_members(document))
    if unknown:
        path, name, known = unknown[0]
        alike = [each for each in known if each.lower() == name.lower()]
        hint = f"Write it as `{alike[0]}`." if alike else f"Known here: {', '.join(sorted(known))}."
        raise not_valid("unknown_member", f"nobody knows the member `{name}`", place=path, hint=hint)
    adapters = _entries(document, "adapters", AdapterEntry)
    sources = _entries(document, "tool_sources", ToolSourceEntry)
    return RegistryDocument(adapters, sources)


def not_valid(reason: str, message: str, *, place: str, hint: str | None = None) -> Refused:
    """The refusal of a document, or of an entry that a program registers."""
    return Refused.because("config_invalid", message, reason=reason, place=place, help=hint)


def _parse(data: bytes) -> object:
    try:
        return strictjson.parse(data)
    except Refused as refused:
        fault = refused.refusal
    if fault.reason == "duplicate_member":
        path, name = min(_repeated_members(data), default=(fault.place or "$", "?"))
        raise not_valid("duplicate_member", f"the member `{name}` is given twice", place=path)
    raise not_valid("syntax", f"the document is no JSON: {fault.message}", place=fault.place or "$")


def _unknown_members(document: Mapping[str, object]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Path and name of each member nobody knows, with what is known there."""
    for name in document:
        if name not in _MAPS:
            yield name, name, tuple(_MAPS)
    for name, entry_type in _MAPS.items():
        known = entry_type.__struct_fields__
        entries = document.get(name)
        for entry_name, entry in entries.items() if isinstance(entries, Mapping) else ():
            for member in entry if isinstance(entry, Mapping) else ():
                if member not in known:
                    yield f"{name}.{entry_name}.{member}", member, known


def _entries(document: Mapping[str, object], name: str, entry_type: type[T]) -> dict[str, T]:
    entries = document.get(name, {})
    if not isinstance(entries, Mapping):
        raise not_valid("shape", "expected an object of entries by name", place=name)
    return {entry: _entry(entries[entry], entry_type, f"{name}.{entry}") for entry in sorted(entries)}


def _entry(value: object, entry_type: type[T], path: str) -> T:
    try:
        return msgspec.convert(value, entry_type, strict=True)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `")
        member = place.rstrip("`").removeprefix("$")
        raise not_valid("shape", what[:1].lower() + what[1:], place=path + member) from None


# --- a member given twice: the parser says only where, and only the first -------------------------------------------


@dataclass(slots=True)
class _Level:
    """One open bracket: where it stands, and for an object which members were seen."""

    path: str
    is_object: bool
    seen: set[str] = field(default_factory=set)
    member: str = ""


def _repeated_members(data: bytes) -> Iterator[tuple[str, str]]:
    """Path and name of all members given twice. Runs on text the parser stopped in, so it trusts no bracket."""
    levels = [_Level("", is_object=False)]
    before = text = b""
    for token in _TOKEN.findall(data):
        top = levels[-1]
        if token in (b"{", b"["):
            path = f"{top.path}.{top.member}" if top.member else top.path
            levels.append(_Level(path, is_object=token == b"{"))
        elif token in (b"}", b"]"):
            if len(levels) > 1:
                levels.pop()
        elif token == b":" and top.is_object and text is before:
            name = _name(text)
            if name in top.seen:
                yield f"{top.path}.{name}".removeprefix("."), name
            top.seen.add(name)
            top.member = name
        elif token.startswith(b'"'):
            text = token
        before = token


def _name(token: bytes) -> str:
    """A member's name however it is escaped."""
    try:
        return str(strictjson.parse(token))
    except Refused:
        return token[1:-1].decode("utf-8", errors="replace")
