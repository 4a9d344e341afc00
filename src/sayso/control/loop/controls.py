"""What one submission elects for its run alone, read and held against the session's catalogs (OAP-047..051).

Each refusal is `unsupported_feature` with the key, `unsatisfiable` and the offending member; a model's is
`model_not_found`. Whether a control is offered at all was judged by `adapters.gates` before. Temperature is no control
of the loop (OAP-163): a submission has no member for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sayso.control.adapters.choosing import ANY_TOOL, ToolChoice, read_choice, unsatisfiable, verify_model
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject
from sayso.control.protocol.payloads.session import MessageSubmitRequest
from sayso.control.validator.compiling import compile_schema, references
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("NO_CONTROLS", "Controls", "demanded", "read_controls", "read_result")


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
        choice=ANY_TOOL if payload.tool_choice is UNSET else read_choice(payload.tool_choice, tools),
        schema=schema,
    )


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
