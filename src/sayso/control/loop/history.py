"""A history any provider accepts: each tool call has exactly one result, right behind it, and each result a call (B25).

An interrupted run leaves calls without results, a broken vendor results without calls; either makes the next request
fail for ever. `repair` is applied before every request, gives back a sound history unchanged, and loses nothing that
the user or the model said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sayso.control.protocol.payloads.content import ContentPart, Message, ToolCallPart, ToolResultPart

__all__ = ("calls_in", "interrupted", "repair")

_INTERRUPTED = {"error": "interrupted", "message": "this call was interrupted; it gave no result"}
_UNFINISHED = {
    "error": "interrupted",
    "message": "this call had begun and was interrupted; what it does may be done: look before you call again",
}


def calls_in(message: Message) -> tuple[ToolCallPart, ...]:
    """The tool calls of a message, in order."""
    return tuple(part for part in _parts(message) if isinstance(part, ToolCallPart))


def repair(messages: Sequence[Message], begun: Collection[str] = ()) -> tuple[Message, ...]:
    """The same conversation with every call answered once and nothing answered that was not called.

    Results move into one `tool` message behind the message that called. A call that gave no result gets one that says
    so, and if it is among those `begun`, that it may be done. Of two results the first counts; a call repeated under an
    id already used is dropped with its results.
    """
    results = _first_results(messages)
    used: set[str] = set()
    repaired: list[Message] = []
    for message in messages:
        kept, calls = _without_results(message, used)
        if kept is not None:
            repaired.append(kept)
        if calls:
            answers = tuple(results.get(call.tool_call_id) or interrupted(call.tool_call_id, begun) for call in calls)
            repaired.append(Message(role="tool", content=answers))
    return tuple(repaired)


def _first_results(messages: Iterable[Message]) -> dict[str, ToolResultPart]:
    """The first result of each call, counted only after the call was made."""
    called: set[str] = set()
    results: dict[str, ToolResultPart] = {}
    for message in messages:
        for part in _parts(message):
            if isinstance(part, ToolCallPart):
                called.add(part.tool_call_id)
            elif isinstance(part, ToolResultPart) and part.tool_call_id in called:
                results.setdefault(part.tool_call_id, part)
    return results


def _without_results(message: Message, used: set[str]) -> tuple[Message | None, list[ToolCallPart]]:
    """The message without results and repeated calls (None if nothing is left), and the calls it makes."""
    if isinstance(message.content, str):
        return (None if message.role == "tool" else message), []
    kept: list[ContentPart] = []
    calls: list[ToolCallPart] = []
    for part in message.content:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in used:
                continue
            used.add(part.tool_call_id)
            calls.append(part)
        elif isinstance(part, ToolResultPart):
            continue
        kept.append(part)
    if not kept:
        return None, calls
    if len(kept) == len(message.content):
        return message, calls
    return Message(role=message.role, content=tuple(kept), id=message.id, metadata=message.metadata), calls


def interrupted(name: str, begun: Collection[str]) -> ToolResultPart:
    """The result of a call that gave none; its tool may have done all of it where it is among those `begun`."""
    return ToolResultPart(tool_call_id=name, result=_UNFINISHED if name in begun else _INTERRUPTED, is_error=True)


def _parts(message: Message) -> tuple[ContentPart, ...]:
    return () if isinstance(message.content, str) else message.content
