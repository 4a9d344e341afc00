"""The models catalog, and the session's own model (OAP-049, OAP-067..071).

A catalog binds both ways and belongs to the revision it was served under; an announced change, or an attached provider,
begins a new one. What the session's model was is known from opens, states and switches, so a claim is judged against
every value it held between the question and its answer.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.refusals import is_success
from sayso.control.validator.rules.scene import Heard, Scene, Session

__all__ = ("hear_models", "hear_provider", "hear_switch", "judge_current", "note_selection")


def hear_models(scene: Scene, heard: Heard) -> None:
    """A `models.response`: consistent, true of the session, and in force from now on."""
    payload = heard.payload
    session = scene.session(payload.session_id)
    _judge_entries(payload, heard)
    _judge_providers(session, payload, heard)
    _judge_claim(scene, session, heard)
    cited, capabilities = heard.envelope.capability_revision, scene.in_hand
    if capabilities is None or cited != capabilities.revision:
        return
    before = session.models if session.models_revision == capabilities.revision else None
    binds = capabilities.level("models.list") in ("native", "emulated")
    if before is not None and binds and (before.models, before.providers) != (payload.models, payload.providers):
        heard.add("unannounced_catalog_change", "the catalog changed within one revision")
    session.models, session.models_revision = payload, capabilities.revision
    if binds:
        _settle_earlier(session, capabilities.revision, {model.id for model in payload.models})
    session.unsettled.clear()


def note_selection(session: Session, model: str, heard: Heard, *, is_granted: bool) -> None:
    """A model that was asked for before any catalog of its revision: the first one settles it."""
    capabilities = heard.steady
    is_judged = capabilities is not None and capabilities.offers("models.list")
    if capabilities is None or not is_judged or not capabilities.offers("run.model_selection"):
        return
    if session.models is not None and session.models_revision == capabilities.revision:
        return
    if session.unsettled_revision != capabilities.revision:
        session.unsettled_revision = capabilities.revision
        session.unsettled.clear()
    session.unsettled.setdefault((model, is_granted), heard.note)


def _settle_earlier(session: Session, revision: str, listed: set[str]) -> None:
    if session.unsettled_revision != revision:
        return
    for (model, is_granted), note in session.unsettled.items():
        if (model in listed) != is_granted:
            said = "was granted and is not listed" if is_granted else "was not found and is listed"
            note("model_not_in_catalog", f"`{model}` {said} in the first catalog of its revision", None)


def _judge_entries(payload: Any, heard: Heard) -> None:
    ids = Counter(model.id for model in payload.models)
    for name, count in ids.items():
        if count > 1:
            heard.add("duplicate_model_id", f"the model `{name}` is listed {count} times")
    if sum(model.default is True for model in payload.models) > 1:
        heard.add("ambiguous_default_model", "a catalog has at most one default")
    current = payload.current_model_id
    if current is not UNSET and current not in ids:
        heard.add("session_state_mismatch", f"the current model `{current}` is not listed")


def _judge_providers(session: Session, payload: Any, heard: Heard) -> None:
    if payload.providers is UNSET:
        return
    ids = [provider.id for provider in payload.providers]
    if len(set(ids)) != len(ids):
        heard.add("duplicate_provider", "a provider is listed twice")
    for model in payload.models:
        if model.provider_id is not UNSET and model.provider_id not in ids:
            heard.add(
                "unmatched_provider", f"`{model.id}` names the provider `{model.provider_id}`, which is not listed"
            )
            break
    for name in session.providers.keys() - set(ids):
        heard.add("session_state_mismatch", f"the attached provider `{name}` is not listed")


def _judge_claim(scene: Scene, session: Session, heard: Heard) -> None:
    payload, question = heard.payload, heard.question
    position = payload.as_of_model_event
    if position is not UNSET:
        run = None if position.run_id is UNSET else scene.runs.get(position.run_id)
        if run is not None and run.session_id != payload.session_id:
            heard.add("scope_mismatch", "the catalog's position is in another session's run")
        return
    if payload.current_model_id is UNSET or question is None:
        return
    held = session.models_since(question.when)
    if held and payload.current_model_id not in held:
        heard.add("session_state_mismatch", f"the session's model was not `{payload.current_model_id}`")


def hear_switch(scene: Scene, heard: Heard) -> None:
    """A granted switch: the session's model from now on."""
    if not is_success(heard) or heard.request is None:
        return
    if heard.payload.model_id != heard.request.model_id:
        heard.add("unapplied_control", "a switch that is granted sets the model that was asked for")
    session = scene.session(heard.payload.session_id)
    if session.model is not None and session.model != heard.payload.model_id:
        session.switched = (heard.when, session.model)
    session.set_model(heard.when, heard.payload.model_id)


def hear_provider(scene: Scene, heard: Heard) -> None:
    """A granted attachment: an id stands for one provider, and the catalog may change by it."""
    if not is_success(heard) or heard.request is None:
        return
    session, provider = scene.session(heard.payload.session_id), heard.request.provider
    if heard.payload.provider_id != provider.id:
        heard.add("scope_mismatch", "the answer names the provider that was attached")
    before = session.providers.setdefault(provider.id, provider)
    if before != provider:
        heard.add("duplicate_provider", f"`{provider.id}` stands for another provider already")
        return
    session.models = None


def judge_current(scene: Scene, session: Session, heard: Heard) -> None:
    """The model a state reports: not a reservation's before its time, not a single run's, and moved by a switch."""
    current, question = heard.payload.current_model_id, heard.question
    if current is UNSET or current == "":
        return
    held = session.models_since(question.when if question is not None else heard.when)
    if current in held:
        return
    if _is_early(scene, current, heard):
        heard.add("premature_session_mutation", f"`{current}` becomes the session's model when its run begins")
    elif held and current in session.run_models:
        heard.add("unapplied_control", f"`{current}` was chosen for one run and is not the session's model")
    elif (
        question is not None and session.switched is not None and _is_unmoved(session.switched, question.when, current)
    ):
        heard.add("session_state_mismatch", f"the session was switched away from `{current}`")
    else:
        session.set_model(heard.when, current)


def _is_unmoved(switched: tuple[int, str], when: int, current: str) -> bool:
    return switched[0] < when and switched[1] == current


def _is_early(scene: Scene, current: str, heard: Heard) -> bool:
    runs = (scene.runs.get(name) for name in _live(heard))
    return any(
        run is not None and run.is_queued and not run.is_started and run.is_session_wide and run.model == current
        for run in runs
    )


def _live(heard: Heard) -> list[str]:
    return [entry.run_id for entry in heard.payload.active_runs or ()]
