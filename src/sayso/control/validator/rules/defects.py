"""What in a request no endpoint can honour, given what was published: the third rung (OAP-048, OAP-060, OAP-082).

Each defect has a refusal of its own, which names the member to change. Where the trace does not show enough to know, as
with a tool catalog nobody published, nothing is said either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.compiling import Check, compile_schema, references
from sayso.control.validator.rules.capabilities import Capabilities
from sayso.control.validator.rules.ladder import ATTACH, CONTROLS, PROVIDE
from sayso.control.validator.rules.scene import Question, Scene, Session
from sayso.core.refusal import Refused

__all__ = ("Defect", "binding_models", "defects", "known_tools", "output_check", "policy_of")


class Defect(msgspec.Struct, frozen=True):
    """One value that cannot be honoured, the refusal it is owed, and the diagnostic when it does not get it."""

    diagnostic: str
    message: str
    code: str
    details: Mapping[str, object]


class Policy(msgspec.Struct, frozen=True):
    """A `tool_choice` that is well formed: a filter, and perhaps a mode behind it."""

    allowed: frozenset[str] | None = None
    disallowed: frozenset[str] = frozenset()
    mode: str = "auto"
    name: str | None = None

    def admits(self, tool: str) -> bool:
        """Whether the filter lets this tool be called."""
        return self.mode != "none" and tool not in self.disallowed and (self.allowed is None or tool in self.allowed)


def defects(scene: Scene, question: Question, capabilities: Capabilities) -> list[Defect]:
    """Everything in this request that cannot be honoured, the one its refusal must name first."""
    name, payload = question.envelope.type, _payload(question)
    if name == "session.open.request":
        found = [*_attachments(payload, capabilities), *_provided(scene, payload, capabilities)]
        if payload.message is not UNSET:
            session = scene.sessions.get(str(payload.session_id)) or Session()
            found += _controls(payload.message, question, session, capabilities)
        return found
    if name == "session.message.submit.request":
        return list(_controls(payload, question, scene.session(payload.session_id), capabilities))
    if name == "session.model.switch.request":
        return list(_listed(payload.model_id, binding_models(question, capabilities), "models.list"))
    return []


def _payload(question: Question) -> Any:
    return question.envelope.payload


def _unsatisfiable(diagnostic: str, message: str, key: str, **details: object) -> Defect:
    return Defect(diagnostic, message, "unsupported_feature", {"feature": key, "reason": "unsatisfiable", **details})


# --- an open ---------------------------------------------------------------------------------------------------------


def _attachments(payload: Any, capabilities: Capabilities) -> Iterator[Defect]:
    seen = set(capabilities.sources)
    for source in payload.tool_sources or ():
        if source.id in seen:
            yield _unsatisfiable(
                "duplicate_tool_source", f"the source `{source.id}` is there already", ATTACH, source=source.id
            )
        seen.add(source.id)
        names = [variable.partition("=")[0] for variable in source.environment or ()]
        if len(set(names)) != len(names):
            message = f"the environment of `{source.id}` names a variable twice"
            yield _unsatisfiable("unsatisfiable_control", message, ATTACH, source=source.id)
        if source.kind == "remote" and not capabilities.has_mode(ATTACH, "remote"):
            message = f"`{source.id}` is remote, which is not among the disclosed modes"
            yield _unsatisfiable("unavailable_capability", message, ATTACH, source=source.id)


def _provided(scene: Scene, payload: Any, capabilities: Capabilities) -> Iterator[Defect]:
    sources = {*capabilities.sources, *(source.id for source in payload.tool_sources or ())}
    seen = set(capabilities.tools)
    for tool in payload.tools or ():
        if scene.participant is not None and tool.execution_owner != scene.participant:
            message = f"`{tool.name}` is owned by `{tool.execution_owner}`, who does not open the session"
            yield _unsatisfiable("wrong_tool_owner", message, PROVIDE, tool=tool.name)
        if tool.source is UNSET and capabilities.offers("action.tools.list"):
            message = f"`{tool.name}` names no source, and a catalog could not list it without one"
            yield _unsatisfiable("unmatched_tool_source", message, PROVIDE, tool=tool.name)
        if tool.source is not UNSET and tool.source not in sources:
            message = f"`{tool.name}` names the source `{tool.source}`, which nobody declares"
            yield _unsatisfiable("unmatched_tool_source", message, PROVIDE, source=tool.source)
        if tool.name in seen:
            yield _unsatisfiable(
                "duplicate_tool_name", f"a tool `{tool.name}` is there already", PROVIDE, tool=tool.name
            )
        seen.add(tool.name)


# --- controls --------------------------------------------------------------------------------------------------------


def _controls(message: Any, question: Question, session: Session, capabilities: Capabilities) -> Iterator[Defect]:
    if getattr(message, "delivery", "auto") == "steer":
        for member, key in sorted(CONTROLS.items(), key=lambda item: item[1]):
            if getattr(message, member) is not UNSET:
                text = "a steer carries no controls: its target's are in force"
                yield Defect("unsatisfiable_control", text, "unsupported_feature", {"feature": key})
        return
    if message.model_id is not UNSET:
        yield from _model(message.model_id, question, capabilities)
    if message.output_schema is not UNSET:
        yield from _schema(message.output_schema, capabilities)
    if message.tool_choice is not UNSET:
        yield from _policy(message.tool_choice, known_tools(session, capabilities))


def _model(model: str, question: Question, capabilities: Capabilities) -> Iterator[Defect]:
    if model == "":
        yield Defect("unsatisfiable_control", "no model has an empty id", "model_not_found", {"model_id": ""})
        return
    yield from _listed(model, binding_models(question, capabilities), "run.model_selection")


def _listed(model: str, listed: frozenset[str] | None, _key: str) -> Iterator[Defect]:
    if listed is not None and model not in listed:
        yield Defect("model_not_in_catalog", f"`{model}` is not in the catalog", "model_not_found", {"model_id": model})


def binding_models(question: Question, capabilities: Capabilities) -> frozenset[str] | None:
    """The ids of the catalog that binds this request; None where none does."""
    models = question.models
    if models is None or capabilities.level("models.list") not in ("native", "emulated"):
        return None
    return frozenset(model.id for model in models.models)


def known_tools(session: Session, capabilities: Capabilities) -> frozenset[str] | None:
    """The names of the session's tools, where a catalog says them; None where none does."""
    if session.tools is not None and session.tools.revision == capabilities.revision:
        return frozenset(session.tools.tools)
    if capabilities.tools:
        return frozenset((*capabilities.tools, *session.provided))
    return None


def policy_of(choice: object) -> Policy | None:
    """A `tool_choice` as a policy; None when it has no shape that means anything."""
    if not isinstance(choice, Mapping) or set(choice) - {"allowed", "disallowed", "mode", "name"}:
        return None
    lists = {name: choice[name] for name in ("allowed", "disallowed") if name in choice}
    if len(lists) > 1 or not all(_is_names(value) for value in lists.values()):
        return None
    mode, name = choice.get("mode", "auto"), choice.get("name")
    if mode not in ("auto", "none", "required", "named") or (mode == "named") != isinstance(name, str):
        return None
    if not choice:
        return None
    allowed = frozenset(lists["allowed"]) if "allowed" in lists else None
    return Policy(allowed, frozenset(lists.get("disallowed", ())), mode, name)


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value)


def _policy(choice: object, tools: frozenset[str] | None) -> Iterator[Defect]:
    key = CONTROLS["tool_choice"]
    policy = policy_of(choice)
    if policy is None:
        yield _unsatisfiable("unsatisfiable_control", "this tool choice is neither a filter nor a mode", key)
        return
    for name in sorted(policy.allowed or ()):
        if tools is not None and name not in tools:
            yield _unsatisfiable("unsatisfiable_control", f"there is no tool `{name}` to allow", key, tool=name)
    if policy.name is not None and not policy.admits(policy.name):
        yield _unsatisfiable("unsatisfiable_control", "the filter excludes the named tool", key, tool=policy.name)
    if policy.mode == "required" and tools is not None and not any(map(policy.admits, tools)):
        yield _unsatisfiable("unsatisfiable_control", "a call is required and none is left to make", key)


def _schema(schema: Mapping[str, object], capabilities: Capabilities) -> Iterator[Defect]:
    key = CONTROLS["output_schema"]
    check = output_check(schema)
    if check is None:
        yield _unsatisfiable("unsatisfiable_control", "no self-contained schema of an object", key)
        return
    fixed = fixed_result(capabilities)
    if fixed is not UNSET and check(fixed) is not None:
        yield _unsatisfiable("unsatisfiable_control", "the fixed result does not have the asked shape", key)


def fixed_result(capabilities: Capabilities) -> Any:
    """The one result an endpoint gives under any schema; unset where it does not say so."""
    support = capabilities.features.get(CONTROLS["output_schema"])
    if support is None or support.constraints is UNSET:
        return UNSET
    return support.constraints.get("fixed_result", UNSET)


def output_check(schema: Mapping[str, object]) -> Check | None:
    """A check by an output schema; None when it cannot be honoured: no schema, not of an object, or not by itself."""
    if any(not node[name].startswith("#") for node, name in references(schema)):
        return None
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and kind == ["object"]):
        return None
    try:
        return compile_schema(schema)
    except Refused:
        return None
