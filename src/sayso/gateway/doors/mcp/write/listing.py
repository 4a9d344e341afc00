"""Lists in pages, and what is read, as results (GTW-041, GTW-042).

A cursor is opaque to clients: here it is the place in the list, written so that a guess fails. The end of a list is a
page without a cursor and nothing else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import TypeVar

from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.mcp.read.revisions import Era
from sayso.gateway.surface import Contents, Prompt, PromptText, Readable, Template, Utterance

__all__ = ("FRESH_MS", "PAGE", "completion_result", "contents_result", "page_of", "prompt_of", "prompt_result",
           "resource_of", "template_of", "updated")  # fmt: skip

PAGE = 100
FRESH_MS = 60_000
"""How long a client may keep a list. What an agent may see is its own, so no cache in between may share it."""
_CURSOR = re.compile(r"p[0-9]{1,6}")
_MOST_VALUES = 100
T = TypeVar("T")


def page_of(name: str, entries: Sequence[JsonValue], cursor: str | None, era: Era) -> dict[str, object]:
    """One page of a list. Refused: `schema_invalid` for a cursor that was never handed out."""
    start = 0 if cursor is None else _start(cursor, len(entries))
    result: dict[str, object] = {name: list(entries[start : start + PAGE])}
    if start + PAGE < len(entries):
        result["nextCursor"] = base64.urlsafe_b64encode(f"p{start + PAGE}".encode()).decode()
    return _fresh(result, FRESH_MS, era)


def _start(cursor: str, size: int) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii")
    except ValueError:
        text = ""
    if not _CURSOR.fullmatch(text) or int(text[1:]) % PAGE or not 0 < int(text[1:]) < size:
        raise Refused.because("schema_invalid", "That cursor is none of this list", place="$.params.cursor")
    return int(text[1:])


def _fresh(result: dict[str, object], ttl_ms: int, era: Era) -> dict[str, object]:
    return {**result, "ttlMs": ttl_ms, "cacheScope": "private"} if era == "modern" else result


def resource_of(resource: Readable) -> JsonValue:
    """A resource as an entry of its list."""
    return {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mimeType": resource.mime_type,
    }


def template_of(template: Template) -> JsonValue:
    """A template as an entry of its list."""
    return {
        "uriTemplate": template.uri_template,
        "name": template.name,
        "title": template.title,
        "description": template.description,
        "mimeType": template.mime_type,
    }


def prompt_of(prompt: Prompt) -> JsonValue:
    """A prompt as an entry of its list."""
    blanks: list[JsonValue] = [
        {"name": blank.name, "description": blank.description, "required": blank.required} for blank in prompt.arguments
    ]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": blanks}


def contents_result(contents: Contents, era: Era) -> dict[str, object]:
    """A resource that was read."""
    return _fresh({"contents": [_contents(contents)]}, contents.ttl_ms, era)


def _contents(contents: Contents) -> dict[str, JsonValue]:
    written: dict[str, JsonValue] = {"uri": contents.uri, "mimeType": contents.mime_type}
    if contents.blob is not None:
        return {**written, "blob": base64.b64encode(contents.blob).decode()}
    return {**written, "text": contents.text or ""}


def prompt_result(prompt: PromptText) -> dict[str, object]:
    """A prompt that was filled in."""
    return {"description": prompt.description, "messages": [_message(each) for each in prompt.messages]}


def _message(said: Utterance) -> JsonValue:
    return {"role": said.role, "content": _content(said)}


def _content(said: Utterance) -> JsonValue:
    contents = said.contents
    if contents is None:
        return {"type": "text", "text": said.text}
    if contents.blob is not None and contents.mime_type.startswith("image/"):
        return {"type": "image", "data": base64.b64encode(contents.blob).decode(), "mimeType": contents.mime_type}
    return {"type": "resource", "resource": _contents(contents)}


def completion_result(values: Sequence[str]) -> dict[str, object]:
    """Values that a blank may be filled with."""
    shown = list(values[:_MOST_VALUES])
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def updated(uri: str, meta: JsonValue = None) -> JsonValue:
    """The notification that a resource is worth reading again."""
    params: dict[str, JsonValue] = {"uri": uri, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}
