"""What a server answered to a call, as the result a model reads. Pure.

A text stays a text, a structured value stays a value; where a server says the same twice (it should repeat a structured
value as text for older clients) it is said once. Pictures, sounds and other bytes are named and measured and left out:
a result reaches a model as text, where they would cost a conversation and show nothing. Everything is bounded; what was
cut says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sayso.control.loop.contract import ToolDone
from sayso.control.mcp_sources.limits import Limits
from sayso.core import strictjson
from sayso.core.excerpt import both_ends
from sayso.core.refusal import Refused

__all__ = ("read_result",)

_FIELD_CHARS = 2048
_LINK = ("uri", "name", "title", "description", "mimeType")
_Json = Mapping[str, object]


def read_result(answer: _Json, limits: Limits) -> ToolDone:
    """The result. A lone text is a string and a lone structured value itself; otherwise an object of `text`,
    `structured` and `parts` (`type` image, audio, resource_link or resource), whichever there are.
    """
    blocks = [each for each in _items(answer.get("content")) if isinstance(each, Mapping)]
    structured = answer.get("structuredContent")
    text = "\n".join(_texts(blocks))
    if structured is not None and _says(text, structured):
        text = ""
    found: dict[str, object] = {"text": both_ends(text, limits.result_chars)} if text else {}
    if structured is not None:
        found["structured"] = _bounded(structured, limits.result_chars)
    others = [_part(block, limits) for block in blocks if block.get("type") != "text"]
    if others:
        kept = others[: limits.parts]
        found["parts"] = kept if len(kept) == len(others) else [*kept, {"left_out": len(others) - len(kept)}]
    return ToolDone(_plain(found), is_error=answer.get("isError") is True)


def _plain(found: dict[str, object]) -> object:
    if not found:
        return ""
    if len(found) == 1 and "parts" not in found:
        return next(iter(found.values()))
    return found


def _texts(blocks: list[_Json]) -> Iterator[str]:
    for block in blocks:
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text


def _says(text: str, structured: object) -> bool:
    """Whether a text is nothing but the structured value again."""
    try:
        return strictjson.parse(text.encode("utf-8", "surrogatepass")) == structured
    except Refused:
        return False


def _bounded(value: object, limit: int) -> object:
    """The value, or the ends of its JSON where it is longer than a text may be."""
    written = strictjson.encode(value).decode()
    return value if len(written) <= limit else both_ends(written, limit)


def _part(block: _Json, limits: Limits) -> _Json:
    match block.get("type"):
        case "image" | "audio" as kind:
            return {"type": kind, **_measured(block, "data")}
        case "resource_link":
            return {"type": "resource_link", **_fields(block)}
        case "resource":
            return _resource(block.get("resource"), limits)
        case _:
            return {"type": "unknown"}


def _resource(resource: object, limits: Limits) -> _Json:
    if not isinstance(resource, Mapping):
        return {"type": "resource"}
    text = resource.get("text")
    if isinstance(text, str):
        # Each is one of at most `parts`, so that all together stay within the bound of a text.
        return {"type": "resource", **_fields(resource), "text": both_ends(text, limits.result_chars // limits.parts)}
    return {"type": "resource", **_fields(resource), **_measured(resource, "blob")}


def _fields(block: _Json) -> dict[str, object]:
    return {name: both_ends(value, _FIELD_CHARS) for name in _LINK if isinstance(value := block.get(name), str)}


def _measured(block: _Json, member: str) -> dict[str, object]:
    """What kind of bytes, and how many: base64 says three in four characters."""
    data = block.get(member)
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else 0
    kind = block.get("mimeType")
    named = {"mimeType": both_ends(kind, _FIELD_CHARS)} if isinstance(kind, str) else {}
    return {**named, "bytes": size, "left_out": "bytes are not shown to the model"}


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
