"""Admitted controls, held to the run they were admitted for (OAP-047..051).

A model is repeated on the admission, on `run.started` and, where it is named there, on the completion. A tool the
filter excludes is not called; a demanded call is made before the run completes. A result conforms to its schema, or is
exactly the fixed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.capabilities import Capabilities
from sayso.control.validator.rules.defects import fixed_result, output_check, policy_of
from sayso.control.validator.rules.ladder import CONTROLS
from sayso.control.validator.rules.scene import Heard, RunFacts, Scene, Session

__all__ = ("admitted", "hear_completed", "hear_started", "judge_tool")


def admitted(scene: Scene, run_id: str, session_id: str, message: Any, heard: Heard, *, is_queued: bool) -> None:
    """A run was admitted with these controls."""
    run = RunFacts(session_id, is_queued=is_queued)
    scene.runs[run_id] = run
    capabilities = heard.steady
    if message is None or capabilities is None:
        return
    _admit_model(run, scene.session(session_id), message, capabilities, heard)
    if message.tool_choice is not UNSET and capabilities.offers(CONTROLS["tool_choice"]):
        policy = policy_of(message.tool_choice)
        if policy is not None:
            run.allowed = frozenset() if policy.mode == "none" else policy.allowed
            run.disallowed = policy.disallowed
            run.must_call = {"required": "*", "named": policy.name}.get(policy.mode)
    if message.output_schema is not UNSET and capabilities.offers(CONTROLS["output_schema"]):
        run.has_schema = True
        run.check = output_check(message.output_schema)
        run.fixed_result = fixed_result(capabilities)


def _admit_model(run: RunFacts, session: Session, message: Any, capabilities: Capabilities, heard: Heard) -> None:
    if message.model_id is UNSET or not capabilities.offers(CONTROLS["model_id"]):
        return
    run.model = message.model_id
    run.is_session_wide = capabilities.scope(CONTROLS["model_id"]) == "session"
    if not run.is_session_wide:
        session.run_models.add(run.model)
    if heard.envelope.type == "session.message.submit.response" and heard.payload.model_id != run.model:
        heard.add("unapplied_control", "an admission repeats the model it was asked for")


def hear_started(scene: Scene, heard: Heard) -> None:
    """A run began: a session-wide model is the session's from here on."""
    run = scene.runs.get(str(heard.envelope.run_id))
    if run is None:
        return
    run.is_started = True
    if run.model is None:
        return
    if heard.payload.model_id != run.model:
        heard.add("unapplied_control", "a run starts with the model it was admitted for")
    if run.is_session_wide:
        scene.session(run.session_id).set_model(heard.when, run.model)


def judge_tool(scene: Scene, heard: Heard) -> None:
    """A call against the filter of its run."""
    run = scene.runs.get(str(heard.envelope.run_id))
    if run is None:
        return
    name = heard.payload.name
    run.called.add(name)
    if name in run.disallowed or (run.allowed is not None and name not in run.allowed):
        heard.add("unapplied_control", f"the run's filter excludes `{name}`")


def hear_completed(scene: Scene, heard: Heard) -> None:
    """A run completed: its model, its demanded call and its result."""
    run, payload = scene.runs.get(str(heard.envelope.run_id)), heard.payload
    if run is None:
        return
    if run.model is not None and payload.model_id not in (UNSET, run.model):
        heard.add("unapplied_control", "a run completes with the model it was admitted for")
    if run.must_call is not None and not (run.called and run.must_call in (*run.called, "*")):
        heard.add("unapplied_control", "the run completes without the call that was demanded")
    if run.has_schema:
        _judge_result(run, payload.result, heard)


def _judge_result(run: RunFacts, result: Any, heard: Heard) -> None:
    if result is UNSET:
        heard.add("unapplied_control", "a run under an output schema completes with a result")
        return
    if isinstance(run.fixed_result, Mapping) and result != run.fixed_result:
        heard.add("unapplied_control", "the result is the fixed one that was disclosed")
    elif run.check is not None and (wrong := run.check(result)) is not None:
        heard.add("unapplied_control", f"the result does not have the asked shape: {wrong}")
