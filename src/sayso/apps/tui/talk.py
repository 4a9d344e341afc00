"""One conversation over any client of a hub: its session, the runs it reads, what waits for its turn, and hub loss.

Nothing here draws. Every run that was admitted is read to its terminal, one after another in the order of admission,
each from its first event, so that nothing is missed between two runs and nothing told twice counts twice. What is said
while a run is under way becomes a reservation of the hub; where the hub takes none, it waits here and is said when the
run has ended. A lost hub is tried again until it answers; reading then goes on behind the last event that was heard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio

from sayso.apps.tui.view.story import Story
from sayso.control.client.agent import AgentClient
from sayso.control.client.contract import OpenSettings
from sayso.control.client.errors import ReplayGapError
from sayso.control.protocol.payloads.capabilities import FeatureSupport
from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.control.protocol.payloads.session import SessionState
from sayso.control.protocol.signals import TERMINALS
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("Talk", "Waiting")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0
_GONE = frozenset({"unknown_session", "session_closed"})


@dataclass(slots=True, eq=False)
class Waiting:
    """A text whose turn has not come; `run_id` is its reservation, None while it waits on this side alone."""

    text: str
    run_id: str | None = None


class Talk:
    """`changed` is called after anything the screen shows changed, `tell` with a sentence for the person, and
    `put_back` with a text that waited and could not be said.

    Use: `open`, then `follow` as a task for as long as the session is talked in, and the other methods beside it.
    """

    def __init__(
        self,
        client: AgentClient,
        adapter: str,
        *,
        changed: Callable[[], None],
        tell: Callable[[str], None],
        put_back: Callable[[str], None] = lambda text: None,
        story: Story | None = None,
        is_ours: bool = True,
        look_every: float = 2.0,
    ) -> None:
        self.client = client
        self.adapter = adapter
        self.story = story or Story()
        self.session_id = ""
        self.state: SessionState | None = None
        self.features: Mapping[str, FeatureSupport] = {}
        self.waiting: list[Waiting] = []
        self.is_lost = False
        """Whether the hub does not answer."""
        self._changed = changed
        self._tell = tell
        self._put_back = put_back
        self._is_ours = is_ours
        self._look_every = look_every
        self._runs: deque[str] = deque()
        self._known: set[str] = set()
        self._dropped: set[str] = set()
        self._ended: set[str] = set()
        """Runs that had ended when they were first heard of: of those a hub may keep nothing any more."""
        self._more = anyio.Event()
        self._reading = anyio.CancelScope()
        self._is_over = False

    # --- the session ---

    async def open(self, settings: OpenSettings, *, attach: bool = False) -> SessionState:
        """Opens a session, takes one up again (`reopen` in the settings), or joins one that is open. Raises as the
        client does.
        """
        capabilities = await self.client.capabilities(self.adapter)
        self.features = dict(capabilities.features or {})
        if attach:
            state = await self.client.state(str(settings["session_id"]))
        else:
            state = await self.client.open(self.adapter, **settings)
        self.session_id = state.session_id
        self.story.session_id = self.session_id
        self._saw(state)
        return state

    def offers(self, feature: str) -> bool:
        """Whether the adapter has a feature."""
        found = self.features.get(feature)
        return found is not None and found.level != "unavailable"

    @property
    def is_busy(self) -> bool:
        """Whether something said now has to wait."""
        return bool(self._runs) or any(each.run_id is not None for each in self.waiting)

    @property
    def has_spoken(self) -> bool:
        """Whether anything was said in it."""
        return bool(self._known)

    @property
    def running(self) -> str | None:
        """The run that a cancel ends: the one under way, never one that waits."""
        return self._runs[0] if self._runs else None

    @property
    def queue(self) -> list[Waiting]:
        """What waits, next first; what others reserved comes behind what we did."""
        ours = {*self._dropped, *(each.run_id for each in self.waiting)}
        others = [Waiting(each.text, each.run_id) for each in self.story.reservations if each.run_id not in ours]
        return [*self.waiting, *others]

    @property
    def unsaid(self) -> list[str]:
        """What is lost when this program ends: texts that wait here, and reservations of a hub that ends with us."""
        return [each.text for each in self.waiting if self._is_ours or each.run_id is None]

    def _saw(self, state: SessionState) -> None:
        self.state = state
        self.story.saw(state)
        if not self._is_ours and state.as_of is not UNSET:
            for settled in state.as_of.settled or ():
                if settled.run_id not in self._known:
                    self._ended.add(settled.run_id)
                    self._admit(settled.run_id)
        listed: Sequence[Any] = state.active_runs or ()
        for run in listed:
            self._admit(run.run_id)
        self._admit(state.active_run_id)
        self._changed()

    def _admit(self, run_id: Maybe[str]) -> None:
        if run_id is not UNSET and run_id not in self._known:
            self._known.add(run_id)
            self._runs.append(run_id)
            self._more.set()

    # --- saying things ---

    async def say(self, text: str) -> None:
        """Says something now, or has it wait for the run under way. Raises as the client does; then nothing waits."""
        if self.is_busy:
            await self._queue(text)
            return
        try:
            admitted = await self.client.submit(self.session_id, text)
        except PeerRefused as refused:
            if refused.refusal.code != "run_active":
                raise
            await self._look()
            await self._queue(text)
            return
        self.story.said(text, admitted.run_id or None)
        self._admit(admitted.run_id)
        self._changed()

    async def _queue(self, text: str) -> None:
        waits = Waiting(text)
        self.waiting.append(waits)
        self._changed()
        # Behind what waits on this side a reservation would overtake it.
        if not self.offers("session.message.delivery.queue") or any(e.run_id is None for e in self.waiting[:-1]):
            return
        try:
            admitted = await self.client.submit(self.session_id, text, delivery="queue")
        except PeerRefused as refused:
            if refused.refusal.code in ("run_active", "unsupported_feature", "capability_degraded"):
                return
            self.waiting.remove(waits)
            raise
        except BaseException:
            self.waiting.remove(waits)
            raise
        waits.run_id = admitted.run_id or None
        self.story.said(text, admitted.run_id or None)
        self._admit(admitted.run_id)
        self._changed()

    async def steer(self, text: str) -> None:
        """Says something to the run under way. Raises as the client does."""
        admitted = await self.client.submit(self.session_id, text, delivery="steer", target_run_id=self.running or "")
        self.story.said(text, admitted.run_id or None, submission_id=admitted.submission_id)
        self._changed()

    async def cancel(self, reason: str = "stopped by the person") -> bool:
        """Wishes the run under way to end; what waits stays. False when there is none."""
        if self.running is None:
            return False
        await self.client.cancel(self.session_id, self.running, reason=reason)
        return True

    async def drop(self, waits: Waiting) -> bool:
        """Takes back what waits. False when its turn had come."""
        if waits.run_id is None and waits not in self.waiting:
            return False
        if waits.run_id is not None:
            try:
                await self.client.cancel(self.session_id, waits.run_id, reason="taken back by the person")
            except PeerRefused as refused:
                if refused.refusal.code not in ("run_terminal", "run_not_found"):
                    raise
                return False
            self._dropped.add(waits.run_id)
        if waits in self.waiting:
            self.waiting.remove(waits)
        self._changed()
        return True

    async def compact(self, focus: str | None) -> None:
        """Has the history made shorter. Raises as the client does."""
        admitted = await self.client.compact(self.session_id, focus=focus)
        self._admit(admitted.run_id)
        self._changed()

    async def switch_model(self, model_id: str) -> None:
        """Another model for later runs. Raises as the client does."""
        await self.client.switch_model(self.session_id, model_id)
        self._saw(await self.client.state(self.session_id))

    async def context_window(self) -> int | None:
        """The tokens that the session's model takes at once, where its catalog says."""
        if not self.offers("models.list"):
            return None
        try:
            listed = (await self.client.models(self.session_id, allow_degraded=("models.list",))).models
        except (PeerRefused, PeerUnreachable):
            return None
        return next((each.context_window or None for each in listed if each.id == self.story.model_id), None)

    # --- reading ---

    def end(self) -> None:
        """Another conversation begins: `follow` returns."""
        self._is_over = True
        self._more.set()
        self._reading.cancel()  # a run may say nothing for a long time

    async def follow(self) -> None:
        """Reads every admitted run, one after another, until `end`."""
        while not self._is_over:
            if self._runs:
                with anyio.CancelScope() as self._reading:
                    await self._read(self._runs[0])
            elif self._may_send():
                await self._send()
            else:
                await self._rest()

    async def _rest(self) -> None:
        """Until a run was admitted, by us or, at a hub that others talk to as well, by them."""
        self._more = anyio.Event()
        if self._is_ours:
            await self._more.wait()
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, tasks.cancel_scope)
            with anyio.move_on_after(self._look_every):
                await self._more.wait()
            tasks.cancel_scope.cancel()
        if not self._runs and not self._is_over:
            await self._look()

    async def _listen(self, scope: anyio.CancelScope) -> None:
        """The first event of whoever says something tells of their run, which is then read from its start."""
        try:
            async with aclosing(self.client.events(self.session_id)) as events:
                async for envelope in events:
                    self._admit(envelope.run_id)
                    break
        except (PeerRefused, PeerUnreachable):
            await anyio.sleep(self._look_every)  # the look that follows tells what is wrong
        scope.cancel()

    def _may_send(self) -> bool:
        return bool(self.waiting) and self.waiting[0].run_id is None and not self.is_lost

    async def _send(self) -> None:
        """Says the first text that waited here."""
        text = self.waiting.pop(0).text
        try:
            await self.say(text)
        except (Refused, PeerRefused, PeerUnreachable) as failure:
            self._tell(f"Not sent: {failure}")
            self._put_back(text)

    async def _look(self) -> None:
        try:
            self._saw(await self.client.state(self.session_id))
            self._found()
        except PeerRefused as refused:
            self._refused(refused)
        except PeerUnreachable as gone:
            await self._lost(gone)

    async def _read(self, run_id: str) -> None:
        heard = 0
        while run_id in self._runs and not self._is_over:
            try:
                async with aclosing(self.client.events(self.session_id, run_id=run_id, after=heard)) as events:
                    async for envelope in events:
                        heard = envelope.sequence or heard
                        self._found()
                        self.story.hear(envelope)
                        if envelope.type == "run.started" or envelope.type in TERMINALS:
                            self._turn_came(run_id)
                        if envelope.type in TERMINALS:
                            self._done(run_id)
                        self._changed()
                if run_id in self._runs:
                    self._ended_early(run_id)
            except ReplayGapError as gap:
                heard = gap.oldest_available - 1
            except PeerRefused as refused:
                self._done(run_id)
                if run_id not in self._ended:
                    self._refused(refused)
            except PeerUnreachable as gone:
                await self._lost(gone)

    def _turn_came(self, run_id: str) -> None:
        self.waiting = [each for each in self.waiting if each.run_id != run_id]

    def _done(self, run_id: str) -> None:
        if run_id in self._runs:
            self._runs.remove(run_id)
        self._turn_came(run_id)
        self._changed()

    def _ended_early(self, run_id: str) -> None:
        """A stream without a terminal: the session was closed under us."""
        self._done(run_id)
        self._tell(
            "The session was closed before the run ended. Go on with /resume, or say something new after /clear."
        )

    # --- hub loss ---

    async def _lost(self, gone: PeerUnreachable) -> None:
        """Returns when the hub answers again, or when this conversation is over."""
        if not self.is_lost:
            self.is_lost = True
            self._tell(f"The connection is lost: {gone} Trying again; what you type is kept.")
            self._changed()
        pause = _FIRST_PAUSE
        while not self._is_over:
            await anyio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)
            try:
                self._saw(await self.client.state(self.session_id))
            except PeerUnreachable:
                continue
            except PeerRefused as refused:
                self._found()
                await self._take_up(refused)
            self._found()
            return

    def _found(self) -> None:
        if self.is_lost:
            self.is_lost = False
            self._tell("The connection is back.")

    async def _take_up(self, refused: PeerRefused) -> None:
        """The hub is another one by now and does not know the session: it may know the conversation."""
        for run_id in tuple(self._runs):
            self._done(run_id)
        for waits in self.waiting:
            waits.run_id = None  # a reservation ended with the hub that had it
        if refused.refusal.code not in _GONE or not self.offers("session.open.reopen"):
            self._refused(refused)
            return
        try:
            self._saw(await self.client.open(self.adapter, session_id=self.session_id, reopen=True))
            self._tell("The hub was started anew; the conversation goes on where it was kept.")
        except (PeerRefused, PeerUnreachable) as failure:
            self._tell(f"The session is gone: {failure} Begin a new one with /clear.")

    def _refused(self, refused: PeerRefused) -> None:
        self._tell(f"The hub refused: {refused.refusal}")
