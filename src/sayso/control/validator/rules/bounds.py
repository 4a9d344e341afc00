"""How many runs a session holds, and refusals that say it holds too many (OAP-015, OAP-052, OAP-054).

A bound is a promise in both directions: an admission above it is a fault, and so is a refusal below it. An endpoint
decides at a moment the trace cannot name, so a bound counts as reached when it was reached at any time between the
request and its answer, and every other unanswered request for work counts as if it had taken a place.
"""

from __future__ import annotations

from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.capabilities import Capabilities
from sayso.control.validator.rules.ladder import CONTROLS, QUEUE, leave_of
from sayso.control.validator.rules.refusals import error_of
from sayso.control.validator.rules.scene import Heard, Question, RunFacts, Scene, Session

__all__ = ("count_admission", "count_end", "count_start", "judge_admission", "judge_busy")

_DODGES = frozenset(("session_busy", "illegal_run_transition", "internal_error", "internal", "queue_full"))
"""Codes that hide a busy session from a caller."""


def count_admission(session: Session, when: int, *, is_queued: bool) -> None:
    """A run took a place."""
    session.live += 1
    session.queued += is_queued
    session.live_peaks.add(when, session.live)
    session.queued_peaks.add(when, session.queued)


def count_start(session: Session, run: RunFacts) -> None:
    """A reservation left the queue and runs."""
    session.queued -= run.is_queued and not run.is_started


def count_end(session: Session, run: RunFacts) -> None:
    """A run ended; one that waited leaves the queue as well."""
    session.live -= 1
    session.queued -= run.is_queued and not run.is_started


def judge_admission(heard: Heard, session: Session) -> None:
    """A queued admission, counted: advertised, within the bounds, and saying why `auto` was queued."""
    capabilities, payload = heard.steady, heard.payload
    if capabilities is None or payload.admission != "queued":
        return
    question = heard.question
    is_auto = heard.request is not None and heard.request.delivery in ("auto", UNSET)
    was_busy = question is not None and question.was_busy and session.live > 1
    if is_auto and was_busy:
        if not capabilities.offers(QUEUE):
            heard.add("unavailable_capability", "a busy session queues where queueing is advertised")
            return
        if capabilities.level(QUEUE) == "degraded" and QUEUE not in leave_of(heard.request):
            heard.add("degraded_without_optin", f"`{QUEUE}` is degraded, and the request did not allow it")
        if payload.delivery_resolution != "session_busy":
            heard.add("illegal_run_transition", "`auto` on a busy session says `session_busy`")
    if capabilities.offers(QUEUE) and _is_over(session, capabilities):
        heard.add("queue_limit_exceeded", "more runs wait than the descriptor allows")


def _is_over(session: Session, capabilities: Capabilities) -> bool:
    over_queue = capabilities.max_queued is not None and session.queued > capabilities.max_queued
    return over_queue or (capabilities.max_active is not None and session.live > capabilities.max_active)


def judge_busy(scene: Scene, heard: Heard, message: Any) -> None:
    """The refusal of a request for work that no higher rung decided."""
    question, capabilities = heard.question, heard.steady
    if question is None or capabilities is None or heard.envelope.type != "error.response":
        return
    code, _ = error_of(heard)
    session_id = question.envelope.payload.session_id  # type: ignore[attr-defined]
    if session_id is UNSET or message.delivery == "steer":
        return
    session = scene.session(session_id)
    is_reached = _is_reached(scene, session, question, capabilities, message)
    if code == "run_active" and not is_reached:
        heard.add("queue_limit_exceeded", "the session had a place for this run all the while")
    elif code in _DODGES and question.was_busy and session.live > 0:
        if not capabilities.offers(QUEUE):
            heard.add("illegal_run_transition", "a busy session refuses with `run_active`")
        elif _is_full(session, capabilities):
            heard.add("queue_limit_exceeded", "a session at its bound refuses with `run_active`")


def _is_reached(scene: Scene, session: Session, question: Question, capabilities: Capabilities, message: Any) -> bool:
    """Whether the session could have been at its bound at some moment of the wait."""
    others = session.questions
    live = max(session.live_peaks.since(question.when), question.live) + others
    queued = max(session.queued_peaks.since(question.when), question.queued) + others
    if not capabilities.offers(QUEUE):
        return live > 0
    if _moves_model(capabilities, message) and live > 0:
        return True
    if capabilities.level(QUEUE) == "degraded" and QUEUE not in leave_of(question.envelope.payload):
        return live > 0
    over_queue = capabilities.max_queued is not None and queued >= capabilities.max_queued
    return over_queue or (capabilities.max_active is not None and live >= capabilities.max_active)


def _moves_model(capabilities: Capabilities, message: Any) -> bool:
    """A session-wide model an endpoint need not defer behind a run."""
    named = getattr(message, "model_id", UNSET) is not UNSET
    return named and capabilities.scope(CONTROLS["model_id"]) == "session"


def _is_full(session: Session, capabilities: Capabilities) -> bool:
    return capabilities.max_queued is not None and session.queued >= capabilities.max_queued
