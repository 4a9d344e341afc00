"""What a server lists, as the tools our loop offers. Pure: plain JSON in, a catalog or a refusal out.

A server's words about its own tools are claims. Descriptions and schemas go to the model, bounded. Whether a tool only
reads decides whether a person is asked, so that claim counts only where the operator vouches for the server; anywhere
else it is published as a claim, under a name nobody takes for the hint itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sayso.control.loop.contract import ToolSpec
from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.names import fitted_name
from sayso.core import strictjson
from sayso.core.excerpt import beginning
from sayso.core.refusal import Refused

__all__ = ("CLAIMED", "Catalog", "read_catalog")

CLAIMED = "dev.sayso.claimed"
"""The annotation that holds a server's own hints where nobody vouches for them."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TITLE_CHARS = 200
_Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tools, each name's tool at the server, and which of the server's tools cannot be offered and why."""

    specs: tuple[ToolSpec, ...] = ()
    natives: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def read_catalog(source_id: str, tools: Sequence[_Json], limits: Limits, *, trusts_hints: bool) -> Catalog:
    """The catalog of one whole list, in the order of the names.

    Refused `open_failed`: `too_many_tools`, `tool_name_clash`. A tool whose schema no model could be given is left out
    alone: `schema` (not the schema of an object) or `schema_too_large`.
    """
    if len(tools) > limits.tools:
        raise _no("too_many_tools", f"it lists {len(tools)} tools, and {limits.tools} is the bound")
    specs: dict[str, ToolSpec] = {}
    natives: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for tool in tools:
        native = str(tool.get("name", ""))
        name = fitted_name(source_id, native)
        if name in natives:
            raise _no("tool_name_clash", f"two of its tools would be called {name}")
        natives[name] = native
        schema = _read_schema(tool.get("inputSchema"), limits)
        if isinstance(schema, str):
            left_out[native] = schema
            continue
        specs[name] = ToolSpec(name, _describe(tool, limits), schema, _annotate(tool, trusts_hints=trusts_hints))
    offered = {name: natives[name] for name in specs}
    return Catalog(tuple(specs[name] for name in sorted(specs)), offered, left_out)


def _read_schema(schema: object, limits: Limits) -> _Json | str:
    """The schema of an object, or why there is none to give to a model."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return "schema"
    if len(strictjson.encode(schema)) > limits.schema_bytes:
        return "schema_too_large"
    return {"type": "object", **schema}


def _describe(tool: _Json, limits: Limits) -> str:
    words = (tool.get(key) for key in ("description", "title", "name"))
    return beginning(next((each for each in words if isinstance(each, str) and each), ""), limits.description_chars)


def _annotate(tool: _Json, *, trusts_hints: bool) -> _Json:
    said = tool.get("annotations")
    said = said if isinstance(said, Mapping) else {}
    title = next((each for each in (tool.get("title"), said.get("title")) if isinstance(each, str) and each), None)
    hints = {name: said[name] for name in _HINTS if isinstance(said.get(name), bool)}
    shown: dict[str, object] = {"title": title[:_TITLE_CHARS]} if title else {}
    if not hints:
        return shown
    return {**shown, **hints} if trusts_hints else {**shown, CLAIMED: hints}


def _no(reason: str, message: str) -> Refused:
    return Refused.because("open_failed", message, reason=reason)
