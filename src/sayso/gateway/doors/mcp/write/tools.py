"""Acts as tools, and what they answered as tool results (GTW-034, GTW-040).

A disclosure answers with what it found. An execution answers with its proposal: the id, its state and when it lapses,
never with the shape of an effect. What was refused, by the constitution or by a person, is an error that names the
article or the reason; an error is never shaped like success.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from sayso.core.strictjson import JsonValue, encode
from sayso.gateway.doors.mcp.read.revisions import has
from sayso.governance.acts import Act, ActClass, Repeats

__all__ = ("PROPOSAL_URI", "Content", "ContentWriter", "Ticket", "disclosed_result", "error_result", "ticket_result",
           "tool_of")  # fmt: skip

PROPOSAL_URI = "osz://proposals/"
_STRUCTURED = "2025-06-18"
"""The revision that brought structured results, output schemas, titles and resource links."""
_REFUSED = frozenset({"refused_by_constitution", "rejected", "expired", "withdrawn", "failed"})

Content: TypeAlias = Mapping[str, JsonValue]
ContentWriter: TypeAlias = Callable[[Mapping[str, Any]], Sequence[Content]]
"""What an act answered, as content blocks, for an act whose answer is more than words."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool that changes something answers with: its proposal, to be followed.

    `expires_at` is when no answer becomes a no (RFC 3339); `article` names what refused it; `read` is where to look.
    """

    proposal_id: str
    state: str
    title: str
    read: str
    expires_at: str | None = None
    article: str | None = None
    reason: str | None = None


_TICKET_SCHEMA = msgspec.json.schema_components([Ticket], ref_template="#/$defs/{name}")[1]["Ticket"]


def tool_of(act: Act, version: str) -> dict[str, JsonValue]:
    """An act as an entry of tools/list."""
    is_disclosure = act.act_class is ActClass.DISCLOSURE
    tool: dict[str, JsonValue] = {
        "name": act.name,
        "description": _described(act),
        "inputSchema": act.input_schema(),
        "annotations": {
            "title": act.title,
            "readOnlyHint": is_disclosure,
            # Meaningful for what changes something only; a proposal itself destroys nothing, its effect might.
            "destructiveHint": not is_disclosure and act.touches_others,
            "idempotentHint": is_disclosure or act.repeats is not Repeats.AT_MOST_ONCE,
            "openWorldHint": act.touches_others,
        },
    }
    if has(version, _STRUCTURED):
        tool["title"] = act.title
        schema = act.output_schema() if is_disclosure else _TICKET_SCHEMA
        if schema is not None:
            tool["outputSchema"] = schema
    return tool


def _described(act: Act) -> str:
    if act.act_class is ActClass.DISCLOSURE:
        return act.description
    return f"{act.description} Nothing happens until a person approves: the answer is a proposal to follow."


def disclosed_result(
    result: Mapping[str, Any], version: str, *, is_error: bool, writer: ContentWriter | None = None
) -> dict[str, object]:
    """What a disclosure answered."""
    if is_error:
        return error_result(result, version)
    if writer is not None:
        return {"content": list(writer(result)), "isError": False}
    written = encode(result)
    answer: dict[str, object] = {"content": [{"type": "text", "text": written.decode()}], "isError": False}
    if has(version, _STRUCTURED):
        answer["structuredContent"] = msgspec.Raw(written)
    return answer


def error_result(result: Mapping[str, Any], version: str) -> dict[str, object]:
    """A refusal as a tool's own error: in words for the model, and whole for the program."""
    refused = result.get("refused")
    words = _words(refused) if isinstance(refused, Mapping) else encode(result).decode()
    answer: dict[str, object] = {"content": [{"type": "text", "text": words}], "isError": True}
    if has(version, _STRUCTURED):
        answer["structuredContent"] = result
    return answer


def _words(refused: Mapping[str, Any]) -> str:
    where = f" ({refused['place']})" if refused.get("place") else ""
    help_ = f" {refused['help']}" if refused.get("help") else ""
    return f"{refused.get('code')}: {str(refused.get('message')).removesuffix('.')}{where}.{help_}"


def ticket_result(ticket: Ticket, version: str) -> dict[str, object]:
    """A proposal that was filed, or refused on the spot."""
    is_error = ticket.state in _REFUSED
    content: list[Content] = [{"type": "text", "text": _said(ticket)}]
    if has(version, _STRUCTURED):
        link: dict[str, JsonValue] = {
            "type": "resource_link",
            "uri": ticket.read,
            "name": ticket.proposal_id,
            "title": ticket.title,
            "description": "The proposal, its state and, once it ran, its outcome.",
            "mimeType": "application/json",
        }
        return {"content": [*content, link], "isError": is_error, "structuredContent": ticket}
    return {"content": content, "isError": is_error}


def _said(ticket: Ticket) -> str:
    if ticket.state == "refused_by_constitution":
        why = f": {ticket.reason}" if ticket.reason else ""
        return f"Refused by article {ticket.article} of the constitution{why}. Proposal {ticket.proposal_id}."
    if ticket.state in _REFUSED:
        return f"Proposal {ticket.proposal_id} is {ticket.state}{f': {ticket.reason}' if ticket.reason else ''}."
    until = f" until {ticket.expires_at}" if ticket.expires_at else ""
    return f"Proposed, and waiting for a person{until}: proposal {ticket.proposal_id}. Nothing has happened yet."
