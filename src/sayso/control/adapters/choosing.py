"""What a submission may elect, held against the catalogs of its session: a model, a choice of tools (OAP-047..050).

Each refusal is `unsupported_feature` with the key, `unsatisfiable` and the offending member; a model's is
`model_not_found`. Whether a control is offered at all is judged by `gates` before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from sayso.control.adapters.gates import RUN_CONTROLS
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Text
from sayso.control.protocol.payloads.session import MessageSubmitRequest
from sayso.core.refusal import Refused

__all__ = ("ANY_TOOL", "ToolChoice", "may_call", "no_controls", "read_choice", "unsatisfiable", "verify_model")

_MODES = ("auto", "none", "required", "named")
_SELECTION = "run.tool_selection"


class ToolChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which tools a run may call: the filter first, then the mode over what it leaves."""

    allowed: Maybe[tuple[Text, ...]] = UNSET
    disallowed: Maybe[tuple[Text, ...]] = UNSET
    mode: str = "auto"
    name: Maybe[Text] = UNSET


ANY_TOOL = ToolChoice()
"""No choice was made."""


def read_choice(value: object, tools: Collection[str]) -> ToolChoice:
    """A submission's `tool_choice`, over the names of the session's tools. Raises `Refused`."""
    try:
        choice = msgspec.convert(value, ToolChoice, strict=True)
    except msgspec.ValidationError as error:
        raise unsatisfiable(_SELECTION, "tool_choice", f"no tool choice: {error}") from None
    if choice.allowed is not UNSET and choice.disallowed is not UNSET:
        raise unsatisfiable(_SELECTION, "tool_choice.allowed", "a choice allows or disallows, never both")
    for name in choice.allowed or ():
        if name not in tools:
            raise unsatisfiable(_SELECTION, "tool_choice.allowed", "the session lists no such tool", tool=name)
    if choice.mode not in _MODES:
        raise unsatisfiable(_SELECTION, "tool_choice.mode", "this mode is not disclosed")
    if (choice.mode == "named") != (choice.name is not UNSET):
        raise unsatisfiable(_SELECTION, "tool_choice.name", "the mode `named`, and no other, has a name")
    if choice.mode in ("required", "named") and not any(may_call(choice, name) for name in tools):
        raise unsatisfiable(_SELECTION, "tool_choice.mode", "the choice leaves no tool to call")
    return choice


def may_call(choice: ToolChoice, name: str) -> bool:
    """Whether the choice lets this tool be called."""
    if choice.mode == "none" or (choice.mode == "named" and name != choice.name):
        return False
    if choice.allowed is not UNSET:
        return name in choice.allowed
    return choice.disallowed is UNSET or name not in choice.disallowed


def verify_model(model_id: str, models: Collection[str]) -> None:
    """Raises `Refused` `model_not_found` for a model the session's catalog does not list."""
    if model_id not in models:
        details = {"model_id": model_id}
        raise Refused.because("model_not_found", "the session's catalog lists no such model", details=details)


def no_controls(payload: MessageSubmitRequest) -> None:
    """What the target of a steer was admitted with holds until its end (OAP-056). Raises `Refused`."""
    elected = sorted((key, member) for member, key in RUN_CONTROLS.items() if getattr(payload, member) is not UNSET)
    for key, member in elected:
        raise unsatisfiable(key, member, "a steer carries no run controls")


def unsatisfiable(feature: str, field: str, why: str, **details: object) -> Refused:
    """The refusal of a value, naming the member that holds it."""
    more: Mapping[str, object] = {"feature": feature, "reason": "unsatisfiable", "field": field, **details}
    return Refused.because("unsupported_feature", why, details=dict(more))
