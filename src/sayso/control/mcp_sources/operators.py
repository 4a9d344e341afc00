"""What the operator's registry document says of each source, beyond what an attachment may.

A header's value never stands in the document: an entry names the variable that holds it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.hub.registry_document import ToolSourceEntry, not_valid
from sayso.control.mcp_sources.endpoint import read_endpoint
from sayso.control.mcp_sources.limits import Operator
from sayso.core.refusal import Refused

__all__ = ("operators_of",)


def operators_of(entries: Mapping[str, ToolSourceEntry], environ: Mapping[str, str]) -> dict[str, Operator]:
    """The operator's word on each configured source, by its id. Refused `config_invalid`, naming source and member:
    headers of a source without an endpoint, an entry that is no `Name=VARIABLE`, a variable that is not set, a header
    that cannot be sent, an endpoint that is not allowed.
    """
    return {source_id: _operator(source_id, entry, environ) for source_id, entry in entries.items()}


def _operator(source_id: str, entry: ToolSourceEntry, environ: Mapping[str, str]) -> Operator:
    place = f"tool_sources.{source_id}"
    if entry.headers and entry.kind != "remote":
        raise not_valid("shape", "only a remote source has headers", place=f"{place}.headers")
    headers = tuple(_header(each, environ, f"{place}.headers") for each in entry.headers or ())
    if entry.kind == "remote":
        try:
            read_endpoint(str(entry.endpoint or ""), headers)
        except Refused as refused:
            member = "headers" if refused.refusal.reason == "header" else "endpoint"
            raise not_valid("shape", refused.refusal.message, place=f"{place}.{member}") from None
    return Operator(headers=headers, trusts_hints=entry.trusts_hints is True)


def _header(entry: str, environ: Mapping[str, str], place: str) -> tuple[str, str]:
    name, is_given, variable = entry.partition("=")
    if not (name and is_given and variable):
        raise not_valid("shape", "a header is written Name=VARIABLE", place=place)
    if not environ.get(variable):
        raise not_valid("not_set", f"{variable} is not set", place=place, hint="Set it to the header's whole value.")
    return name, environ[variable]
