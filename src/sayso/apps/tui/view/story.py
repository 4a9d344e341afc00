"""The story of one session, folded from its envelopes: pure, and cheap for each of them.

It survives what really arrives (OAP-209, bugs B10 to B12): replays and repeats are told by the runs' numbers, a gap is
shown and mended by the final response, an event after a run's end changes nothing, an unknown one neither. A question
counts as open only while nothing heard or listed says that it was settled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sayso.apps.tui.view.blocks import Block, ModelBlock, NoteBlock, Question, Reservation
from sayso.apps.tui.view.clean import clean, clean_name
from sayso.apps.tui.view.fold import fold, whole
from sayso.apps.tui.view.numbers import News
from sayso.apps.tui.view.page import Page
from sayso.apps.tui.view.recalled import Recalled
from sayso.apps.tui.view.runs import Runs
from sayso.apps.tui.view.speech import mark_gap
from sayso.apps.tui.view.spoken import Telling
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.compaction import RunCompactionEnded
from sayso.control.protocol.payloads.content import Message, Usage
from sayso.control.protocol.payloads.models import ModelSwitchResponse
from sayso.control.protocol.payloads.run import (
    ContentDelta,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunStatus,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import SessionState

__all__ = ("Story",)

_REMEMBERED_IDS = 512


class Story:
    """One session. `blocks` only grows; what was changed in it is told once by `take_changes`."""

    def __init__(self, session_id: str | None = None) -> None:
        self.session_id = session_id
        """Where it is given, envelopes of other sessions are not this story's."""
        self.model_id: str | None = None
        """The session's model, as it came: pickers compare it."""
        self.tokens: int | None = None
        """Tokens used by all runs heard; None while no run said."""
        self.context_tokens: int | None = None
        """Tokens of history, estimated from the last run or compaction; None while nothing said so."""
        self._page = Page()
        self._runs = Runs(self._page)
        self._recalled = Recalled(self._page)
        self._ids: deque[str] = deque(maxlen=_REMEMBERED_IDS)

    # --- what the widgets read ---

    @property
    def blocks(self) -> Sequence[Block]:
        """What happened, in order; a block's `index` is its place here."""
        return self._page.blocks

    def take_changes(self) -> frozenset[int]:
        """The indexes of blocks that were added or changed since this was last called."""
        changed = frozenset(self._page.changed)
        self._page.changed.clear()
        return changed

    @property
    def question(self) -> Question | None:
        """The oldest question that waits for the person."""
        return next(iter(self._runs.questions()), None)

    @property
    def questions(self) -> Sequence[Question]:
        """Every question that waits, oldest first."""
        return self._runs.questions()

    @property
    def reservations(self) -> Sequence[Reservation]:
        """The runs that wait for their turn, next first."""
        return self._runs.reservations()

    @property
    def active_run_id(self) -> str | None:
        """The run under way; the oldest where there are several."""
        active = self._runs.active
        return None if active is None else active.run_id

    @property
    def run_status(self) -> RunStatus | None:
        """How the run under way stands."""
        active = self._runs.active
        return None if active is None else active.status

    @property
    def run_started_ms(self) -> int | None:
        """When the run under way started, in milliseconds since 1970, as its envelopes say."""
        active = self._runs.active
        return None if active is None else active.started_ms

    # --- what the program tells it ---

    def hear(self, envelope: Envelope[Wire]) -> None:
        """Folds one envelope in, whichever it is and however often it comes. Refuses nothing."""
        if self.session_id is not None and envelope.session_id not in (self.session_id, UNSET):
            return
        if envelope.run_id is UNSET or envelope.sequence is UNSET:
            self._hear_of_session(envelope)
            return
        if self._runs.is_over(envelope.run_id):
            return
        telling = self._runs.get(envelope.run_id)
        news = telling.hearing.hear(envelope.sequence)
        if news is News.REPEATED:
            return
        if news is News.LATE and isinstance(envelope.payload, ContentDelta):
            # A delta that comes late has no place any more; the final response has its words.
            return
        self._hear_of_run(telling, envelope, news)

    def said(self, text: str, run_id: str | None = None, *, submission_id: str | None = None) -> None:
        """What the person typed, and the run it was admitted as; with `submission_id` it steers that run."""
        self._runs.say(clean(text), run_id, submission_id)

    def note(self, text: str) -> None:
        """A line of the program's own."""
        self._page.add(NoteBlock(index=0, text=clean(text)))

    def recall(self, messages: Sequence[Message]) -> None:
        """The saved messages of a conversation that is taken up again, before anything of it is heard."""
        for message in messages:
            self._recalled.recall(message)

    def saw(self, state: SessionState) -> None:
        """The session's state as the hub told it, in an answer or an event: what is listed there no longer waits."""
        if self.session_id is not None and state.session_id != self.session_id:
            return
        if state.current_model_id is not UNSET:
            self._switch(state.current_model_id)
        self._runs.reconcile(state)

    def _hear_of_run(self, telling: Telling, envelope: Envelope[Wire], news: News) -> None:
        payload = envelope.payload
        is_end = isinstance(payload, RunCompleted | RunFailed | RunCancelled)
        if (
            is_end
            and telling.opening is None
            and news is News.NEXT
            and telling.hearing.latest == envelope.sequence == 1
        ):
            self._runs.taken_back(telling)
        else:
            self._runs.met(telling)
        if news is News.AFTER_GAP:
            mark_gap(self._page, telling)
        fold(self._page, telling, envelope)
        if isinstance(payload, RunStarted) and payload.model_id is not UNSET and self.model_id is None:
            self.model_id = payload.model_id
        if isinstance(payload, RunCompactionEnded) and payload.outcome == "completed":
            self.context_tokens = whole(payload.history_tokens) or self.context_tokens
        if isinstance(payload, RunCompleted | RunFailed | RunCancelled):
            if payload.usage is not UNSET:
                self._count(payload.usage, telling.turns)
            self._runs.ended(telling)

    def _count(self, usage: Usage, turns: int) -> None:
        """A run's usage is the sum over its turns; the history is about as long as one of them."""
        inputs, outputs = whole(usage.input_tokens), whole(usage.output_tokens)
        total = whole(usage.total_tokens)
        if total is None and inputs is not None and outputs is not None:
            total = inputs + outputs
        if total is not None:
            self.tokens = (self.tokens or 0) + total
            self.context_tokens = total // turns

    def _hear_of_session(self, envelope: Envelope[Wire]) -> None:
        if envelope.id in self._ids:
            return
        self._ids.append(envelope.id)
        match envelope.payload:
            case SessionState() as state:
                self.saw(state)
            case ModelSwitchResponse(model_id=model_id):
                self._switch(model_id)
            case _:
                pass

    def _switch(self, model_id: str) -> None:
        if self.model_id is not None and model_id != self.model_id:
            self._page.add(ModelBlock(index=0, model_id=clean_name(model_id)))
        self.model_id = model_id
