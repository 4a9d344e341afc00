"""An answer against what its request was owed, both ways (OAP-016, OAP-029, OAP-048).

A refusal that was due and did not come, or does not say what to change, is a fault; so is one that was not due.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.compiling import compile_schema
from sayso.control.validator.rules.capabilities import Capabilities
from sayso.control.validator.rules.defects import Defect, binding_models, defects, known_tools
from sayso.control.validator.rules.ladder import (
    ATTACH,
    CONTROLS,
    CORE,
    ELSEWHERE,
    PROVIDE,
    Owed,
    elections,
    first_rung,
)
from sayso.control.validator.rules.scene import Heard, Question, Scene
from sayso.core.refusal import Refused

__all__ = ("judge_answer",)

_CATALOGS = {
    "models.request": "models.list",
    "action.tools.list.request": "action.tools.list",
    "auth.providers.request": "auth.providers",
}
_VALUES = frozenset(
    ("session.open.reopen", "session.reasoning", "session.compaction.policy", "action.providers.attach")
)
"""Keys whose advertised use may still be refused for the value: the store is gone, a level is not to be had."""


def judge_answer(scene: Scene, heard: Heard) -> bool:
    """Judges the answer to a request that has one; True when a rung decided it, so that no lower one is asked."""
    question, capabilities = heard.question, heard.steady
    if question is None or capabilities is None:
        return False
    owed = first_rung(question.envelope.type, question.envelope.payload, capabilities)
    if owed is not None:
        _judge_owed(owed, heard)
        return True
    found = defects(scene, question, capabilities)
    if found:
        _judge_defects(found, heard)
        return True
    if heard.envelope.type == "error.response":
        return _judge_undue(scene, question, capabilities, heard)
    return False


def error_of(heard: Heard) -> tuple[str, Mapping[str, Any]]:
    """The code of a refusal and its details."""
    error = heard.payload.error
    return error.code, {} if error.details is UNSET else error.details


def is_success(heard: Heard) -> bool:
    """Whether the request was granted."""
    return heard.envelope.type != "error.response" and getattr(heard.payload, "accepted", True) is True


def _judge_owed(owed: Owed, heard: Heard) -> None:
    if is_success(heard):
        what = "is not advertised" if owed.rung == "unadvertised" else "is degraded, and the request did not allow it"
        heard.add(owed.diagnostic, f"`{owed.key}` {what}, but the request was granted")
        return
    if heard.envelope.type != "error.response":
        return
    code, details = error_of(heard)
    if code in ELSEWHERE:
        return
    is_named = code == owed.code and details.get("feature") == owed.key
    is_reasoned = owed.rung != "unadvertised" or not owed.is_reasoned or details.get("reason") == "unadvertised"
    if not (is_named and is_reasoned):
        heard.add(owed.diagnostic, f"the refusal owed here is `{owed.code}` naming `{owed.key}`")


def _judge_defects(found: list[Defect], heard: Heard) -> None:
    first = found[0]
    if is_success(heard):
        heard.add(first.diagnostic, f"{first.message}, but the request was granted")
        return
    if heard.envelope.type != "error.response":
        return
    code, details = error_of(heard)
    if code in ELSEWHERE:
        return
    if not any(code == one.code and _has(details, one.details) for one in found):
        heard.add(first.diagnostic, f"{first.message}; the refusal owed here is `{first.code}` saying so")


def _has(details: Mapping[str, Any], wanted: Mapping[str, object]) -> bool:
    return all(details.get(name, UNSET) == value for name, value in wanted.items())


# --- refusals that were not due --------------------------------------------------------------------------------------


def _judge_undue(scene: Scene, question: Question, capabilities: Capabilities, heard: Heard) -> bool:
    code, details = error_of(heard)
    if code in ELSEWHERE:
        return True
    catalog = _CATALOGS.get(question.envelope.type)
    if catalog is not None:
        heard.add("unhonoured_capability", f"`{catalog}` is advertised and nothing stands against this request")
        return True
    elected = elections(question.envelope.type, question.envelope.payload)
    if code == "model_not_found":
        return _judge_missing_model(question, capabilities, details, heard)
    if code == "capability_degraded":
        heard.add("unhonoured_capability", "nothing this request uses is degraded without its leave")
        return True
    if code != "unsupported_feature":
        return False
    key, reason = details.get("feature"), details.get("reason")
    if key in elected and key in CONTROLS.values():
        _judge_control(scene, question, capabilities, str(key), heard)
    elif key in elected and key in (ATTACH, PROVIDE):
        _judge_limits(question.envelope.payload, capabilities, str(key), details, heard)
    elif isinstance(key, str) and _is_denied(key, reason, elected, capabilities):
        heard.add("unhonoured_capability", f"`{key}` is advertised and nothing stands against this request")
    return True


def _is_denied(key: str, reason: object, elected: list[str], capabilities: Capabilities) -> bool:
    """Whether a refusal denies a feature that is advertised: all but a value that may be refused, or silence."""
    if key in elected and key in _VALUES and reason != "unadvertised":
        return False
    if key in CORE and not capabilities.offers(key):
        # A descriptor without a key of the core says nothing, so neither answer contradicts it.
        return False
    return key in elected or (reason == "unadvertised" and capabilities.offers(key))


def _judge_missing_model(
    question: Question, capabilities: Capabilities, details: Mapping[str, Any], heard: Heard
) -> bool:
    payload: Any = question.envelope.payload
    message = payload.message if question.envelope.type == "session.open.request" else payload
    model = getattr(message, "model_id", UNSET)
    listed = binding_models(question, capabilities)
    if model is UNSET or listed is None:
        return True
    if model in listed or details.get("model_id") != model:
        heard.add("model_not_in_catalog", f"`{model}` is in the catalog")
    return True


def _judge_control(scene: Scene, question: Question, capabilities: Capabilities, key: str, heard: Heard) -> None:
    """An advertised control whose value was found good; a tool filter is known to be good by a catalog alone."""
    payload: Any = question.envelope.payload
    if key == CONTROLS["tool_choice"] and known_tools(scene.session(payload.session_id), capabilities) is None:
        return
    if key == CONTROLS["output_schema"]:
        message = payload.message if question.envelope.type == "session.open.request" else payload
        if message.output_schema.get("type") != "object":
            return
    heard.add("unsatisfiable_control", f"`{key}` is advertised and this value is within all that it discloses")


def _judge_limits(payload: Any, capabilities: Capabilities, key: str, details: Mapping[str, Any], heard: Heard) -> None:
    outside = _over_attach(payload, capabilities) if key == ATTACH else _over_provide(payload, capabilities)
    code = "undisclosed_attach_limit" if key == ATTACH else "undisclosed_provide_limit"
    if outside is None:
        heard.add(code, f"the request is within every limit that `{key}` discloses")
    elif details.get("reason") != "unsatisfiable" or (key == ATTACH and details.get("source") not in outside):
        heard.add(code, "a refusal over a limit says `unsatisfiable` and which entry is over it")


def _over_attach(payload: Any, capabilities: Capabilities) -> set[str] | None:
    """The entries that a disclosed limit may be held against; None when none is over one."""
    sources = payload.tool_sources or ()
    most, kinds = capabilities.limit(ATTACH, "max_sources"), capabilities.limit(ATTACH, "transports")
    over = {source.id for source in sources} if isinstance(most, int) and len(sources) > most else set()
    if isinstance(kinds, list | tuple):
        over |= {source.id for source in sources if source.kind not in kinds}
    return over or None


def _over_provide(payload: Any, capabilities: Capabilities) -> set[str] | None:
    tools = payload.tools or ()
    most, pattern = capabilities.limit(PROVIDE, "max_tools"), capabilities.limit(PROVIDE, "name_pattern")
    dialect = capabilities.limit(PROVIDE, "schema_dialect")
    over = {tool.name for tool in tools} if isinstance(most, int) and len(tools) > most else set()
    if isinstance(pattern, str):
        over |= {tool.name for tool in tools if not _matches(pattern, tool.name)}
    if isinstance(dialect, str):
        over |= {tool.name for tool in tools if tool.input_schema.get("$schema", dialect) != dialect}
    return over or None


def _matches(pattern: str, name: str) -> bool:
    """By the schema library, whose patterns cannot run away; one it cannot read limits everything."""
    try:
        return compile_schema({"pattern": pattern})(name) is None
    except Refused:
        return False
