"""The agent's side of the application: it is opened, talked with, and another one opened when another was asked for."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import anyio
import anyio.to_thread
from textual.app import App

from sayso.apps.tui.composer import Composer
from sayso.apps.tui.seat import OpensSeat, Seat, Wanted
from sayso.core.refusal import Misuse, PeerRefused, PeerUnreachable, Refused

if TYPE_CHECKING:
    from types import ModuleType

    from sayso.apps.tui.answering import Answering
    from sayso.apps.tui.talk import Talk
    from sayso.apps.tui.view.status import StatusLine
    from sayso.apps.tui.view.story import Story
    from sayso.control.client.contract import OpenSettings

__all__ = ("LEAVING_SECONDS", "SAYING_NO", "SittingApp", "only")

SAYING_NO = (Refused, PeerRefused, PeerUnreachable, OSError)
"""Failures that are sentences for the person; any other is a failure of ours."""
LEAVING_SECONDS = 3.0
_LOOP = "sayso"


class SittingApp(App[None]):
    """One agent at a time, and one conversation with it at a time."""

    wanted: Wanted
    seat: Seat | None
    talk: Talk | None
    settings: OpenSettings
    """What later conversations of this screen are opened with, beside what was asked for at the start."""
    begun: anyio.Event
    """A conversation is open; another event for each."""
    _opens: OpensSeat
    _look_every: float
    _stage: ModuleType | None
    _story: Story | None
    _answering: Answering | None
    _resume: str | None
    _unsent: list[str]
    _is_leaving: bool
    _seat_ends: anyio.Event

    @abstractmethod
    def changed(self) -> None:
        """Something that the screen shows is another by now."""

    @abstractmethod
    def tell(self, text: str) -> None:
        """A line of our own."""

    @abstractmethod
    def put_back(self, text: str) -> None:
        """A text that could not be said."""

    @abstractmethod
    def act(self, text: str) -> None:
        """Carries out a command."""

    @abstractmethod
    async def say(self, text: str) -> None:
        """Says it, or has it wait."""

    @abstractmethod
    async def _dress(self) -> None: ...

    @abstractmethod
    async def _warm(self) -> None: ...

    @abstractmethod
    async def _show_story(self, story: Story) -> None: ...

    async def _live(self) -> None:
        """Opens the agent, talks, and opens another one when another was asked for, until the screen closes."""
        await self._dress()
        while not self._is_leaving:
            self._seat_ends = anyio.Event()
            try:
                async with self._opens(self.wanted) as seat:
                    await self._sit(seat)
            except Exception as failure:  # what says no is told, all else goes on its way
                said = only(failure)
                if not isinstance(said, SAYING_NO):
                    raise
                self.seat = self.talk = None
                self.tell(f"The agent could not be opened: {said} /quit leaves.")
                await self._seat_ends.wait()
        self.seat = None

    async def _sit(self, seat: Seat) -> None:
        if self._stage is None:
            raise Misuse("a conversation is shown on a stage")
        answering = await anyio.to_thread.run_sync(importlib.import_module, "sayso.apps.tui.answering")
        self.seat, self._answering = seat, answering.Answering(seat.client, seat.house)
        if seat.notice:
            self.tell(seat.notice)
        while not self._is_leaving and not self._seat_ends.is_set():
            talk = self._stage.Talk(
                seat.client,
                seat.adapter,
                changed=self.changed,
                tell=self.tell,
                put_back=self.put_back,
                story=self._story,
                is_ours=self.wanted.attach is None,
                look_every=self._look_every,
            )
            if await self._begin(talk, seat):
                await talk.follow()
                await self._close(talk)
            if not self._is_leaving:
                self.talk, self.begun = None, anyio.Event()
                await self._show_story(self._stage.Story())
                self.query_one(Composer).focus()

    async def _begin(self, talk: Talk, seat: Seat) -> bool:
        """Opens the conversation that was asked for; a new one where that cannot be had. False when none can."""
        named, self._resume = self._resume, None
        try:
            if named:
                await importlib.import_module("sayso.apps.tui.past").take_up(talk, seat, named, self._settings())
            else:
                await talk.open(self._settings())
        except SAYING_NO as failure:
            self.tell(f"{'It cannot be gone on with' if named else 'No conversation can be begun'}: {failure}")
            if named:
                return await self._begin(talk, seat)
            await self._seat_ends.wait()
            return False
        self.talk = talk
        self.begun.set()
        self.run_worker(self._warm(), group="warm", exclusive=True)
        self.run_worker(self.learn_standing(seat), group="standing", exclusive=True)
        if named == "":
            self.call_later(self.act, "/resume")
        unsent, self._unsent = self._unsent, []
        for text in unsent:
            await self.say(text)
        self.changed()
        return True

    async def learn_standing(self, seat: Seat) -> None:
        """What the status line says of the sandbox and of the model's window; what cannot be learned is not said."""
        talk = self.talk
        if talk is None or not self.query("#status"):
            return
        status = cast("StatusLine", self.query_one("#status"))
        status.is_sandboxed = await seat.is_sandboxed()
        status.context_window = await talk.context_window()
        self.changed()

    def _settings(self) -> OpenSettings:
        """What a session is opened with; its workspace is the one the agent was opened with."""
        if self.seat is None or self.seat.adapter != _LOOP:
            return {**self.settings}
        return {**self.settings, "metadata": {"sayso": {"permission": self.wanted.permission}}}

    async def _close(self, talk: Talk) -> None:
        """The session ends where it is ours alone; at a hub of others it and its run go on."""
        if self.wanted.attach is None:
            with anyio.move_on_after(LEAVING_SECONDS):
                try:
                    for waits in tuple(talk.waiting):
                        await talk.drop(waits)  # or its turn would come now, for a moment
                    await talk.cancel("the person left")
                    if talk.running is None:
                        await talk.client.close(talk.session_id)
                except (PeerRefused, PeerUnreachable):
                    pass  # it ends with its hub

    def begin_anew(self, resume: str | None = None) -> None:
        """Another conversation: a new one, or one of earlier."""
        self._resume = resume
        if self.talk is not None:
            self.talk.end()

    def open_anew(self, *, permission: Literal["ask", "bypass"]) -> None:
        """Another agent, with another standing answer to its questions."""
        self.wanted = replace(self.wanted, permission=permission, resume=None)
        self.changed()
        self._seat_ends.set()
        self.begin_anew()


def only(failure: Exception) -> Exception:
    """What really failed: a task group wraps what ended it."""
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure
