"""Phase three: the envelopes of a trace, in their order, against one another (OAP-027..029).

The legality machine of `control.protocol` says what may come after what; the rules say what was promised and kept. Both
hear every envelope once, and neither stops at a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import UnsetType

from sayso.control.protocol.conversation import Diagnostic
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.machine import SPEECH, Speech, conclude, step
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.types import AGENT_TYPES, Kind
from sayso.control.validator.diagnostics import MOST_KEPT, Finding, Findings, Phase
from sayso.control.validator.packs import Packs
from sayso.control.validator.rules import bounds, catalogs, execution, extensions, models, revisions, states, usage
from sayso.control.validator.rules.refusals import is_success, judge_answer
from sayso.control.validator.rules.scene import Heard, Question, Scene

__all__ = ("SemanticJudge",)

_WORK = ("session.message.submit.request", "session.compact.request", "session.open.request")
_TERMINALS = ("run.completed", "run.failed", "run.cancelled")
_ROLES = {"request": Kind.REQUEST, "response": Kind.RESPONSE, "event": Kind.EVENT}
Position = tuple[int, int | None, str]


class SemanticJudge:
    """Hears one trace."""

    def __init__(self, packs: Packs) -> None:
        self.findings = Findings(MOST_KEPT)
        self._scene = Scene(packs)
        self._asked_at: dict[str, Position] = {}
        self._runs_at: dict[str, Position] = {}
        self._logins_at: dict[str, Position] = {}
        self._speech: Speech | None = None
        """A run that speaks on, while nothing else is told."""

    def hear(self, index: int, line: int | None, envelope: Envelope[Wire], value: object) -> None:
        """One envelope, in its place."""
        scene, here = self._scene, (index, line, envelope.id)
        if self._speech is not None:
            scene.after, self._speech = self._speech.close(scene.after), None
        pack = scene.packs.types.get(envelope.type) if scene.packs.types else None
        # Asked before the step: of a persistent map the newest version alone answers for nothing.
        is_repeat = envelope.id in scene.after.ids
        name = envelope.in_reply_to
        is_first = name is not UNSET and name in scene.after.requests
        scene.after, faults = step(scene.after, envelope, _ROLES[pack.role] if pack else None)
        if faults:
            self._note_all(faults, here)
        if is_repeat:
            return
        if envelope.type in _UNJUDGED and envelope.run_id in self._runs_at and self._is_known(envelope):
            if not faults and envelope.type in SPEECH:
                self._speech = Speech(scene.after, envelope)
            return
        question = scene.questions.pop(name, None) if name is not UNSET and is_first else None
        heard = Heard(index, envelope, value, question, lambda code, text, place: self._note(here, code, text, place))
        self._settle_question(heard)
        self._dispatch(heard, here)

    @property
    def is_speaking(self) -> bool:
        """Whether a run said something and nothing else was told since."""
        return self._speech is not None

    def goes_on(self, envelope: Envelope[Wire]) -> bool:
        """Whether this is but the next thing that the speaking run says; then it has been heard."""
        return self._speech is not None and self._speech.take(envelope)

    def _is_known(self, envelope: Envelope[Wire]) -> bool:
        """Whether nothing can be said against the revision that an event cites."""
        cited, scene = envelope.capability_revision, self._scene
        return cited is UNSET or scene.revision is None or cited in scene.revisions

    def conclude(self) -> None:
        """The trace is over: what is still owed is noted where it began."""
        if self._speech is not None:
            self._scene.after = self._speech.close(self._scene.after)
        for fault in conclude(self._scene.after):
            places = self._runs_at
            if fault.code == "missing_response":
                places = self._asked_at
            elif fault.code == "missing_auth_terminal":
                places = self._logins_at
            here = places.get(fault.envelope_id, (None, None, fault.envelope_id))
            self.findings.add(
                Finding(
                    phase=Phase.SEMANTIC.value,
                    code=fault.code,
                    message=f"{fault.message}: `{fault.envelope_id}`",
                    index=here[0],
                    line=here[1],
                    envelope_id=here[2],
                )
            )

    # --- one envelope ------------------------------------------------------------------------------------------------

    def _dispatch(self, heard: Heard, here: Position) -> None:
        scene, envelope = self._scene, heard.envelope
        row = AGENT_TYPES.get(envelope.type)
        if (row is not None and row.kind is Kind.REQUEST) or _is_pack_request(scene, envelope.type):
            self._ask(heard, here)
            return
        revisions.judge_citation(scene, heard)
        if heard.question is not None:
            self._judge_answer(heard)
            self._asked_at.pop(heard.question.envelope.id, None)
        hear = _RULES.get(envelope.type)
        if hear is not None:
            if scene.after.early and envelope.run_id in scene.after.early:
                scene.early.setdefault(str(envelope.run_id), []).append(heard)
                return
            hear(scene, heard)
        elif row is None:
            extensions.hear_extension(scene, heard)
        self._note_runs(heard, here)
        if scene.early:
            self._hear_early(heard.when)

    def _hear_early(self, when: int) -> None:
        """What came of runs before the answer that has now settled whether they were admitted (OAP-011)."""
        scene = self._scene
        for run_id in [name for name in scene.early if name not in scene.after.early]:
            for heard in scene.early.pop(run_id):
                heard.when = when
                _RULES[heard.envelope.type](scene, heard)
                if heard.envelope.type in _TERMINALS:
                    self._runs_at.pop(run_id, None)

    def _ask(self, heard: Heard, here: Position) -> None:
        scene, envelope = self._scene, heard.envelope
        if envelope.type == "protocol.initialize.request" and heard.payload.participant is not UNSET:
            scene.participant = heard.payload.participant.id
        question = Question(envelope, heard.value, heard.when, scene.in_hand, scene.is_announced)
        question.revision = scene.revision
        session_id = _session_of(envelope)
        if session_id is not UNSET:
            session = scene.session(session_id)
            if scene.in_hand is not None and session.models_revision == scene.in_hand.revision:
                question.models = session.models
            question.was_busy, question.live, question.queued = session.live > 0, session.live, session.queued
            session.questions += envelope.type in _WORK
        scene.questions[envelope.id] = question
        self._asked_at[envelope.id] = here

    def _settle_question(self, heard: Heard) -> None:
        """The descriptor a question was asked on counts where it still holds; a question answered waits no more."""
        question = heard.question
        if question is None:
            return
        now, then = self._scene.in_hand, question.capabilities
        if now is None or then is None or now.revision != then.revision:
            question.capabilities = None
        session_id = _session_of(question.envelope)
        if session_id is not UNSET and question.envelope.type in _WORK:
            self._scene.session(session_id).questions -= 1

    def _judge_answer(self, heard: Heard) -> None:
        scene = self._scene
        if revisions.judge_pin(scene, heard):
            return
        if heard.question is not None and heard.question.envelope.type in scene.packs.types:
            extensions.judge_extension(scene, heard)
            return
        if extensions.judge_members(scene, heard) or judge_answer(scene, heard):
            return
        payload = heard.request
        message = payload.message if heard.question and heard.question.envelope.type == _WORK[2] else payload
        if heard.question is not None and heard.question.envelope.type in _WORK and message is not UNSET:
            bounds.judge_busy(scene, heard, message)

    def _note_runs(self, heard: Heard, here: Position) -> None:
        """Where each live thing began, for as long as it lives."""
        payload = heard.payload
        if heard.envelope.type == "auth.login.start.response":
            self._logins_at[payload.flow_id] = here
        elif heard.envelope.type == "auth.login.completed":
            self._logins_at.pop(payload.flow_id, None)
        elif heard.envelope.type in _TERMINALS:
            self._runs_at.pop(payload.run_id, None)
        else:
            named = [getattr(payload, "run_id", UNSET), getattr(payload, "active_run_id", UNSET)]
            named += [entry.run_id for entry in getattr(payload, "active_runs", UNSET) or ()]
            for name in named:
                if name is not UNSET and name in self._scene.after.runs:
                    self._runs_at.setdefault(name, here)

    # --- findings ----------------------------------------------------------------------------------------------------

    def _note_all(self, faults: tuple[Diagnostic, ...], here: Position) -> None:
        for fault in faults:
            self._note(here, fault.code, fault.message, None)

    def _note(self, here: Position, code: str, message: str, place: str | None) -> None:
        index, line, name = here
        self.findings.add(
            Finding(
                phase=Phase.SEMANTIC.value,
                code=code,
                message=message,
                index=index,
                line=line,
                envelope_id=name,
                place=place,
            )
        )


def _session_of(envelope: Envelope[Wire]) -> str | UnsetType:
    """The session a request speaks of, on the envelope or, as an open may, in the payload alone."""
    if envelope.session_id is not UNSET:
        return envelope.session_id
    named: str | UnsetType = getattr(envelope.payload, "session_id", UNSET)
    return named


def _is_pack_request(scene: Scene, name: str) -> bool:
    kind = scene.packs.types.get(name)
    return kind is not None and kind.role == "request"


# --- what each type is judged by -------------------------------------------------------------------------------------


def _capabilities(scene: Scene, heard: Heard) -> None:
    catalogs.judge_published(heard)
    revisions.hear_capabilities(scene, heard)


def _state(scene: Scene, heard: Heard) -> None:
    catalogs.judge_published(heard)
    session = scene.session(heard.payload.session_id)
    request_type = heard.question.envelope.type if heard.question is not None else ""
    if request_type == "session.open.request":
        _opened(scene, heard)
    else:
        catalogs.judge_sources(session, heard)
    _take_runs(scene, heard)
    states.judge_state(scene, session, heard)
    models.judge_current(scene, session, heard)


def _opened(scene: Scene, heard: Heard) -> None:
    asked, told = heard.request, heard.payload
    is_known = told.session_id in scene.sessions and _has_history(scene, heard)
    session = scene.session(told.session_id)
    is_recovered = told.recovery is not UNSET and told.recovery.recovered is True
    session.is_fresh = not is_known and not is_recovered and asked.recovery is UNSET and asked.reopen is not True
    if asked.reopen is True and (not is_recovered or told.active_runs or told.active_run_id is not UNSET):
        heard.add("session_state_mismatch", "a reopened session is recovered, with no run under way")
    for member in ("reasoning_level", "compaction_policy"):
        wanted, got = getattr(asked, member), getattr(told, member)
        if UNSET not in (wanted, got) and wanted != got:
            heard.add("unapplied_control", f"`{member}` is granted as asked, or refused; it is never rounded")
    catalogs.opened_with(scene, session, heard)


def _has_history(scene: Scene, heard: Heard) -> bool:
    session = scene.sessions[heard.payload.session_id]
    return bool(session.live or session.is_fresh or session.model_history)


def _take_runs(scene: Scene, heard: Heard) -> None:
    """Runs that a state brought into the trace: recovered ones, and the one an open's message became."""
    listed = {entry.run_id: entry for entry in heard.payload.active_runs or ()}
    names = [*listed, *([] if heard.payload.active_run_id is UNSET else [heard.payload.active_run_id])]
    for name in dict.fromkeys(names):
        if name in scene.runs or not (name in scene.after.runs or name in scene.early):
            continue
        entry = listed.get(name)
        is_queued = entry is not None and entry.status == "queued"
        asked = heard.question.envelope.id if heard.question is not None else ""
        is_asked = entry is not None and asked in (entry.admitted_submit_requests or ())
        message = getattr(heard.request, "message", None) if is_asked else None
        execution.admitted(
            scene, name, heard.payload.session_id, None if message is UNSET else message, heard, is_queued=is_queued
        )
        bounds.count_admission(scene.session(heard.payload.session_id), heard.when, is_queued=is_queued)


def _admission(scene: Scene, heard: Heard) -> None:
    payload = heard.payload
    if not is_success(heard) or payload.run_id is UNSET or payload.admission not in ("started", "queued"):
        return
    is_early = payload.run_id in scene.early
    if payload.run_id in scene.runs or not (is_early or payload.run_id in scene.after.runs):
        return
    is_queued = payload.admission == "queued" and not is_early
    session = scene.session(payload.session_id)
    message = heard.request if heard.envelope.type == "session.message.submit.response" else None
    execution.admitted(scene, payload.run_id, payload.session_id, message, heard, is_queued=is_queued)
    if message is not None and message.model_id not in (UNSET, ""):
        models.note_selection(session, message.model_id, heard, is_granted=True)
    bounds.count_admission(session, heard.when, is_queued=is_queued)
    if not is_early:
        bounds.judge_admission(heard, session)


def _refused(scene: Scene, heard: Heard) -> None:
    if heard.question is None or heard.question.envelope.type != "session.message.submit.request":
        return
    model = heard.request.model_id
    if heard.payload.error.code == "model_not_found" and model not in (UNSET, ""):
        models.note_selection(scene.session(heard.request.session_id), model, heard, is_granted=False)


def _started(scene: Scene, heard: Heard) -> None:
    run = scene.runs.get(str(heard.envelope.run_id))
    if run is not None:
        bounds.count_start(scene.session(run.session_id), run)
    execution.hear_started(scene, heard)


def _ended(scene: Scene, heard: Heard) -> None:
    if heard.envelope.type == "run.completed":
        execution.hear_completed(scene, heard)
    states.hear_terminal(scene, heard)
    name = str(heard.envelope.run_id)
    scene.ended_at.setdefault(name, heard.when)
    run = scene.runs.pop(name, None)
    if run is not None:
        bounds.count_end(scene.session(run.session_id), run)


def _call(scene: Scene, heard: Heard) -> None:
    if heard.envelope.type == "action.call.requested":
        usage.judge_usage(scene, heard)
        execution.judge_tool(scene, heard)
    catalogs.hear_call(scene, heard)


def _tools(scene: Scene, heard: Heard) -> None:
    catalogs.judge_published(heard)
    catalogs.hear_tools(scene, heard)


_RULES: Mapping[str, Callable[[Scene, Heard], None]] = {
    "capabilities.response": _capabilities,
    "capabilities.updated": revisions.hear_update,
    "session.open.response": _state,
    "session.state.response": _state,
    "session.state.updated": _state,
    "session.message.submit.response": _admission,
    "session.compact.response": _admission,
    "models.response": models.hear_models,
    "session.model.switch.response": models.hear_switch,
    "session.provider.attach.response": models.hear_provider,
    "action.tools.list.response": _tools,
    "error.response": _refused,
    "run.started": _started,
    **dict.fromkeys(_TERMINALS, _ended),
    **{name: _call for name in AGENT_TYPES if name.startswith("action.call.") and "resolve" not in name},
    "action.permission.requested": usage.judge_usage,
    "user.input.requested": usage.judge_usage,
    "run.compaction.started": usage.judge_usage,
    "run.steer.applied": usage.judge_usage,
    "run.steer.dropped": usage.judge_usage,
    "auth.login.event": usage.judge_usage,
}
_UNJUDGED = frozenset(name for name, row in AGENT_TYPES.items() if row.kind is Kind.EVENT and name not in _RULES)
"""Events that the machine alone judges: what is said, and how far it is."""
