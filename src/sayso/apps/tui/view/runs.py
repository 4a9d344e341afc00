"""The runs of a session side by side: which is under way, which wait, and what the person said to which."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.apps.tui.view.blocks import Question, Reservation, SaidBlock
from sayso.apps.tui.view.fold import TOO_LATE, take_steer
from sayso.apps.tui.view.page import Page
from sayso.apps.tui.view.questioning import waiting, withdraw
from sayso.apps.tui.view.spoken import Telling
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ActiveRun, SessionState

__all__ = ("Runs",)

TAKEN_BACK = "taken from the queue"


class Runs:
    """Every run heard of. Of one that ended only that it did is kept, and the place of what it was started with."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._all: dict[str, Telling] = {}
        self._over: dict[str, SaidBlock | None] = {}
        self._live: dict[str, Telling] = {}
        self._queue: dict[str, str] = {}
        """Runs that wait for their turn, next first, with what the person said; empty where nobody told us."""

    def get(self, run_id: str) -> Telling:
        """The run, new where it was not heard of."""
        return self._all.get(run_id) or self._all.setdefault(run_id, Telling(run_id=run_id))

    def is_over(self, run_id: str) -> bool:
        """Whether the run's end was heard: nothing about it is news any more."""
        return run_id in self._over

    @property
    def active(self) -> Telling | None:
        """The run under way."""
        return next((each for each in self._live.values() if each.is_live), None)

    def questions(self) -> list[Question]:
        """What waits for the person, oldest first."""
        return [question for telling in self._live.values() for question in waiting(telling)]

    def reservations(self) -> Sequence[Reservation]:
        """What waits for its turn."""
        return [Reservation(run_id=i, text=t, position=n) for n, (i, t) in enumerate(self._queue.items(), 1)]

    def met(self, telling: Telling) -> None:
        """An event of this run was heard: unless it ended, it is under way."""
        telling.is_presumed_over = False
        self._live.setdefault(telling.run_id, telling)
        if telling.opening is None:
            # Where nobody said yet what the run was started with, its place is kept.
            block = SaidBlock(index=0, run_id=telling.run_id, text=self._queue.pop(telling.run_id, ""))
            telling.opening = self._page.add(block)
        if telling.status == "queued":
            telling.status = "running"

    def taken_back(self, telling: Telling) -> None:
        """A run ended that never started: what was said is shown as not sent."""
        text = self._queue.pop(telling.run_id, "")
        block = SaidBlock(index=0, run_id=telling.run_id, text=text, state="dropped", why=TAKEN_BACK)
        telling.opening = self._page.add(block)

    def ended(self, telling: Telling) -> None:
        """The run is over."""
        self._live.pop(telling.run_id, None)
        self._all.pop(telling.run_id, None)
        self._over[telling.run_id] = telling.opening

    def say(self, text: str, run_id: str | None, submission_id: str | None) -> None:
        """What the person said, put where it belongs: at the head of its run, into it as a steer, or into the queue."""
        if run_id is None:
            self._page.add(SaidBlock(index=0, text=text))
            return
        telling = None if run_id in self._over else self.get(run_id)
        opening = self._over[run_id] if telling is None else telling.opening
        if submission_id is None and opening is not None and not opening.text:
            opening.text = text
            # What follows it stands apart from it now.
            self._page.touch(opening, *self._page.blocks[opening.index + 1 : opening.index + 2])
        elif telling is None:
            steer = self._page.add(SaidBlock(index=0, run_id=run_id, text=text))
            take_steer(self._page, steer, TOO_LATE)
        elif submission_id is None and opening is None:
            self._open(telling, text)
        else:
            self._steer(telling, text, submission_id or f"{len(telling.steers)} unnamed")

    def reconcile(self, state: SessionState) -> None:
        """What the hub lists is what stands: a run or question that is not listed no longer waits."""
        if state.active_runs is UNSET:
            return
        listed = {run.run_id: run for run in state.active_runs}
        for run_id, telling in self._live.items():
            telling.is_presumed_over = run_id not in listed
            if telling.is_presumed_over:
                self._withdraw_unlisted(telling, telling.hearing.latest, frozenset())
        for run in state.active_runs:
            self._take_listed(run)
        gone = self._live.keys() | self._over.keys()
        waits = [run.run_id for run in state.active_runs if run.status == "queued" and run.run_id not in gone]
        self._queue = {run_id: self._queue.get(run_id, "") for run_id in waits}

    def _take_listed(self, run: ActiveRun) -> None:
        if run.run_id in self._over or run.pending_interactions is UNSET:
            return
        telling = self.get(run.run_id)
        telling.listed = frozenset(run.pending_interactions)
        telling.listed_at = 0 if run.as_of_sequence is UNSET else run.as_of_sequence
        self._withdraw_unlisted(telling, telling.listed_at, telling.listed)

    def _withdraw_unlisted(self, telling: Telling, up_to: int, listed: frozenset[str]) -> None:
        for question in list(telling.questions.values()):
            number = question.asked.sequence
            if question.interaction_id not in listed and number is not UNSET and number <= up_to:
                withdraw(self._page, telling, question.interaction_id)

    def _open(self, telling: Telling, text: str) -> None:
        if self.active is None and not self._queue:
            telling.opening = self._page.add(SaidBlock(index=0, run_id=telling.run_id, text=text))
        else:
            self._queue[telling.run_id] = text

    def _steer(self, telling: Telling, text: str, submission_id: str) -> None:
        block = self._page.add(SaidBlock(index=0, run_id=telling.run_id, text=text, state="steering"))
        why = telling.settled.get(submission_id)
        if why is None:
            telling.steers[submission_id] = block
        else:
            take_steer(self._page, block, why)
