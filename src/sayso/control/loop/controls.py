"""What one submission elects for its run alone, read and held against the session's catalogs (OAP-047..051).

Each refusal is `unsupported_feature` with the key, `unsatisfiable` and the offending member; a model's is
`model_not_found`. Whether a control is offered at all was judged by `adapters.gates` before. Temperature is no control
of the loop (OAP-163): a submission has no member for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from sayso.control.adapters.gates import RUN_CONTROLS
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Text
from sayso.control.protocol.payloads.session import MessageSubmitRequest
from sayso.control.validator.compiling import compile_schema, references
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = (
    "ANY_TOOL",
    "NO_CONTROLS",
    "Controls",
    "ToolChoice",
    "demanded",
    "may_call",
    "no_controls",
    "read_controls",
    "read_result",
    "unsatisfiable",
    "verify_model",
)

_MODES = ("auto", "none", "required", "named")


class ToolChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tools a run may call: the filter first, then the mode over what it leaves."""

    allowed: Maybe[tuple[Text, ...]] = UNSET
    disallowed: Maybe[tuple[Text, ...]] = UNSET
    mode: str = "auto"
    name: Maybe[Text] = UNSET


ANY_TOOL = ToolChoice()
"""No choice was made."""


@dataclass(frozen=True, slots=True)
class Controls:
    """What one submission elected, as its reservation keeps it."""

    model_id: str | None = None
    instructions: str | None = None
    choice: ToolChoice = ANY_TOOL
    schema: JsonObject | None = None


NO_CONTROLS = Controls()


def read_controls(payload: MessageSubmitRequest, models: Collection[str], tools: Collection[str]) -> Controls:
    """The controls of a submission. Raises `Refused` (see the module)."""
    model_id = None if payload.model_id is UNSET else payload.model_id
    schema = None if payload.output_schema is UNSET else payload.output_schema
    if model_id is not None:
        verify_model(model_id, models)
    if schema is not None and not _is_usable(schema):
        raise unsatisfiable("run.structured_output", "output_schema", "no JSON Schema of an object on its own")
    return Controls(
        model_id=model_id,
        instructions=None if payload.instructions is UNSET else payload.instructions,
        choice=ANY_TOOL if payload.tool_choice is UNSET else _read_choice(payload.tool_choice, tools),
        schema=schema,
    )


def no_controls(payload: MessageSubmitRequest) -> None:
    """What the target of a steer was admitted with holds until its end (OAP-056). Raises `Refused`."""
    elected = sorted((key, member) for member, key in RUN_CONTROLS.items() if getattr(payload, member) is not UNSET)
    for key, member in elected:
        raise unsatisfiable(key, member, "a steer carries no run controls")


def verify_model(model_id: str, models: Collection[str]) -> None:
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


def demanded(choice: ToolChoice, called: Collection[str]) -> object | None:
    """The call the model still owes, in the provider profile's words; None when it owes none."""
    if choice.mode == "required" and not called:
        return "required"
    if choice.mode == "named" and choice.name not in called:
        return {"name": choice.name}
    return None


def read_result(text: str, schema: Mapping[str, object]) -> JsonObject | None:
    """The object a final answer is, if it is one of the asked shape; else None. Nothing is repaired."""
    try:
        value = strictjson.parse(text.encode())
    except Refused:
        return None
    return value if isinstance(value, dict) and compile_schema(schema)(value) is None else None


def unsatisfiable(feature: str, field: str, why: str, **details: object) -> Refused:
    """The refusal of a value, naming the member that holds it."""
    more: Mapping[str, object] = {"feature": feature, "reason": "unsatisfiable", "field": field, **details}
    return Refused.because("unsupported_feature", why, details=dict(more))


def _is_usable(schema: Mapping[str, object]) -> bool:
    """Whether it is a schema that refers to nothing outside itself and can describe an object."""
    if schema.get("type", "object") not in ("object", ["object"]):
        return False
    if any(not node[name].startswith("#") for node, name in references(schema)):
        return False
    try:
        compile_schema(schema)
    except Refused:
        return False
    return True


def _read_choice(value: object, tools: Collection[str]) -> ToolChoice:
    key = "run.tool_selection"
    try:
        choice = msgspec.convert(value, ToolChoice, strict=True)
    except msgspec.ValidationError as error:
        raise unsatisfiable(key, "tool_choice", f"no tool choice: {error}") from None
    if choice.allowed is not UNSET and choice.disallowed is not UNSET:
        raise unsatisfiable(key, "tool_choice.allowed", "a choice allows or disallows, never both")
    for name in choice.allowed or ():
        if name not in tools:
            raise unsatisfiable(key, "tool_choice.allowed", "the session lists no such tool", tool=name)
    if choice.mode not in _MODES:
        raise unsatisfiable(key, "tool_choice.mode", "this mode is not disclosed")
    if (choice.mode == "named") != (choice.name is not UNSET):
        raise unsatisfiable(key, "tool_choice.name", "the mode `named`, and no other, has a name")
    if choice.mode in ("required", "named") and not any(may_call(choice, name) for name in tools):
        raise unsatisfiable(key, "tool_choice.mode", "the choice leaves no tool to call")
    return choice
