"""The values of a request that the memory adapter cannot honour: the third rung of the ladder (OAP-016, 048, 050, 051).

Each refusal is `unsupported_feature` with the key, `unsatisfiable` and the offending member; a model's is
`model_not_found`. Of several the lower key is named. What is elected at all was judged by `adapters.gates` before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from sayso.control.adapters.gates import RUN_CONTROLS
from sayso.control.adapters.reference.offering import FIXED_RESULT
from sayso.control.adapters.reference.output_schema import is_satisfied_by
from sayso.control.protocol.payloads.capabilities import ToolDefinition
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Text
from sayso.control.protocol.payloads.session import MessageSubmitRequest
from sayso.core.refusal import Refused

__all__ = ("Controls", "ToolChoice", "may_call", "read_controls", "unsatisfiable", "verify_model")

_MODES = ("auto", "none", "required", "named")


class ToolChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tools a run may call: the filter first, then the mode over what it leaves."""

    allowed: Maybe[tuple[Text, ...]] = UNSET
    disallowed: Maybe[tuple[Text, ...]] = UNSET
    mode: str = "auto"
    name: Maybe[Text] = UNSET


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
        _refuse_on_steer(payload)
    model_id = None if payload.model_id is UNSET else payload.model_id
    if model_id is not None:
        verify_model(model_id, models)
    if payload.output_schema is not UNSET and not is_satisfied_by(payload.output_schema, FIXED_RESULT):
        raise unsatisfiable("run.structured_output", "output_schema", "the fixed result does not satisfy this schema")
    choice = ToolChoice() if payload.tool_choice is UNSET else _read_choice(payload.tool_choice, tools)
    return Controls(
        model_id=model_id,
        instructions=None if payload.instructions is UNSET else payload.instructions,
        choice=choice,
        has_schema=payload.output_schema is not UNSET,
    )


def _refuse_on_steer(payload: MessageSubmitRequest) -> None:
    """What the target run was admitted with holds until its end (OAP-056)."""
    elected = sorted((key, member) for member, key in RUN_CONTROLS.items() if getattr(payload, member) is not UNSET)
    for key, member in elected:
        raise unsatisfiable(key, member, "a steer carries no run controls")


def verify_model(model_id: str, models: Sequence[str]) -> None:
    """Raises `Refused` `model_not_found` for a model the session's catalog does not list."""
    if model_id not in models:
        details = {"model_id": model_id}
        raise Refused.because("model_not_found", "the session's catalog lists no such model", details=details)


def may_call(choice: ToolChoice, name: str) -> bool:
    """Whether the choice lets this tool be called."""
    if choice.mode == "none" or (choice.mode == "named" and name != choice.name):
        return False
    if choice.allowed is not UNSET:
        return name in choice.allowed
    return choice.disallowed is UNSET or name not in choice.disallowed


def unsatisfiable(feature: str, field: str, why: str, **details: object) -> Refused:
    """The refusal of a value, naming the member that holds it."""
    more: Mapping[str, object] = {"feature": feature, "reason": "unsatisfiable", "field": field, **details}
    return Refused.because("unsupported_feature", why, details=dict(more))


def _read_choice(value: object, tools: Sequence[ToolDefinition]) -> ToolChoice:
    key = "run.tool_selection"
    try:
        choice = msgspec.convert(value, ToolChoice, strict=True)
    except msgspec.ValidationError as error:
        raise unsatisfiable(key, "tool_choice", f"no tool choice: {error}") from None
    names = [tool.name for tool in tools]
    if choice.allowed is not UNSET and choice.disallowed is not UNSET:
        raise unsatisfiable(key, "tool_choice.allowed", "a choice allows or disallows, never both")
    for name in choice.allowed or ():
        if name not in names:
            raise unsatisfiable(key, "tool_choice.allowed", "the session lists no such tool", tool=name)
    if choice.mode not in _MODES:
        raise unsatisfiable(key, "tool_choice.mode", "this mode is not disclosed")
    if (choice.mode == "named") != (choice.name is not UNSET):
        raise unsatisfiable(key, "tool_choice.name", "the mode `named`, and no other, has a name")
    if choice.mode in ("required", "named") and not any(may_call(choice, name) for name in names):
        raise unsatisfiable(key, "tool_choice.mode", "the choice leaves no tool to call")
    return choice
