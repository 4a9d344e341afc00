"""The values of a request that the memory adapter cannot honour: the third rung of the ladder (OAP-016, 048, 050, 051).

Each refusal is `unsupported_feature` with the key, `unsatisfiable` and the offending member; a model's is
`model_not_found`. Of several the lower key is named. What is elected at all was judged by `adapters.gates` before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sayso.control.adapters.choosing import (
    ANY_TOOL,
    ToolChoice,
    no_controls,
    read_choice,
    unsatisfiable,
    verify_model,
)
from sayso.control.adapters.reference.offering import FIXED_RESULT
from sayso.control.adapters.reference.output_schema import is_satisfied_by
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import MessageSubmitRequest

__all__ = ("Controls", "read_controls")


@dataclass(frozen=True, slots=True)
class Controls:
    """What one submission elected, as the run keeps it."""

    model_id: str | None
    instructions: str | None
    choice: ToolChoice
    has_schema: bool


def read_controls(payload: MessageSubmitRequest, models: Sequence[str], tools: Sequence[ToolDefinition]) -> Controls:
    """The controls of a submission against the session's catalogs. Raises `Refused` (see the module)."""
    if payload.delivery == "steer":
        no_controls(payload)
    model_id = None if payload.model_id is UNSET else payload.model_id
    if model_id is not None:
        verify_model(model_id, models)
    if payload.output_schema is not UNSET and not is_satisfied_by(payload.output_schema, FIXED_RESULT):
        raise unsatisfiable("run.structured_output", "output_schema", "the fixed result does not satisfy this schema")
    names = [tool.name for tool in tools]
    choice = ANY_TOOL if payload.tool_choice is UNSET else read_choice(payload.tool_choice, names)
    return Controls(
        model_id=model_id,
        instructions=None if payload.instructions is UNSET else payload.instructions,
        choice=choice,
        has_schema=payload.output_schema is not UNSET,
    )
