"""Tools that a program gives to an agent and runs itself (OAP-063..066, OAP-201)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sayso.control.client.verbs import SessionClient
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ActionCallRequested
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, ToolDefinition
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Json, JsonObject
from sayso.core.refusal import PeerRefused, Refused

__all__ = ("PROVIDE", "Tool", "answer_call", "definitions")

PROVIDE = "action.tools.provide"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what the model is told, and the function that does it. `run` takes the arguments as a mapping and gives
    any JSON value, at once or awaited; what it raises is told to the model as the tool's failure, by its kind alone.
    """

    name: str
    description: str
    input_schema: JsonObject
    run: Callable[[Mapping[str, Any]], Json | Awaitable[Json]]


def definitions(
    tools: Sequence[Tool], capabilities: CapabilitiesResponse, participant: str
) -> tuple[ToolDefinition, ...]:
    """The tools as an open provides them. Refused `unsupported_feature` where the endpoint does not advertise that."""
    support = (capabilities.features or {}).get(PROVIDE)
    if support is None or support.level == "unavailable":
        details = {"feature": PROVIDE, "reason": "unadvertised"}
        raise Refused.because("unsupported_feature", "this endpoint takes no tools of a client", details=details)
    source = capabilities.sources[0].id if capabilities.sources else UNSET
    return tuple(
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            execution_owner=participant,
            source=source,
        )
        for tool in tools
    )


async def answer_call(client: SessionClient, asked: Envelope[ActionCallRequested], tools: Mapping[str, Tool]) -> None:
    """Runs one call of ours and gives its result. An answer that came too late counts for nothing, and is no error."""
    tool = tools.get(asked.payload.name)
    try:
        await client.take_call(asked)
        if tool is None:
            await client.fail_call(asked, ProtocolError(code="unknown_tool", message="this client has no such tool"))
            return
        try:
            given = tool.run(asked.payload.arguments_json)  # type: ignore[arg-type]
            result = await given if inspect.isawaitable(given) else given
        except Exception as error:  # noqa: BLE001 - the tool is the caller's: its failure is told, and the run goes on
            failure = ProtocolError(code="tool_failed", message=f"the tool failed: {type(error).__name__}")
            await client.fail_call(asked, failure)
            return
        await client.end_call(asked, result)
    except PeerRefused as refused:
        if refused.refusal.code != "resolution_rejected":
            raise
