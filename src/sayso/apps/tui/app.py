"""The application: one screen over one conversation at a time, and the agent behind it, opened once the screen stands.

It takes keys from its first moment. What is sent before the agent is there waits, and is sent then. What a command does
stands in `acting`, what a conversation is in `talk`; here is what the screen shows and where a key goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

import anyio
import anyio.to_thread
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from sayso.apps.tui.composer import Completion, Composer
from sayso.apps.tui.look import CSS, choose_theme, keep_theme, shown_choices
from sayso.apps.tui.queueing import QueueStrip
from sayso.apps.tui.seat import OpensSeat, Seat, Wanted
from sayso.apps.tui.sitting import LEAVING_SECONDS, SAYING_NO, SittingApp, only
from sayso.apps.tui.typed import TypedText
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused

if TYPE_CHECKING:
    from types import ModuleType

    from sayso.apps.tui.answering import Answering
    from sayso.apps.tui.signing_in import Standing
    from sayso.apps.tui.talk import Talk
    from sayso.apps.tui.view.blocks import Question
    from sayso.apps.tui.view.questions import QuestionPanel
    from sayso.apps.tui.view.status import StatusLine
    from sayso.apps.tui.view.story import Story
    from sayso.apps.tui.view.transcript import Transcript
    from sayso.control.client.contract import OpenSettings

__all__ = ("SaysoApp",)

_TWICE_SECONDS = 2.0
_DRAFT_SECONDS = 0.5
_LOG_SECONDS = 10.0
_FRAME_SECONDS = 1 / 30


class SaysoApp(SittingApp):
    """`opens` opens the agent that was asked for; `trim` is called now and then to keep the log small. `look_every` is
    how often a hub of others is looked at, `grace` how long a question stands before a key answers it; both in seconds.

    After it ended: `failure` is the error that ended it, if one did, and `farewell` what to say on the terminal.
    """

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    TITLE = "sayso"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False),
        Binding("escape", "stop", show=False),
        Binding("ctrl+s", "steer", show=False, priority=True),
        Binding("pageup", "scroll_talk(-1)", show=False),
        Binding("pagedown", "scroll_talk(1)", show=False),
    ]

    def __init__(
        self,
        wanted: Wanted,
        opens: OpensSeat,
        *,
        theme: str | None = None,
        is_light: bool = False,
        trim: Callable[[], None] = lambda: None,
        look_every: float = 2.0,
        grace: float = 0.4,
    ) -> None:
        super().__init__()
        self._grace = grace
        self.wanted = wanted
        self.seat: Seat | None = None
        self.talk: Talk | None = None
        self.clock = SystemClock()
        self.farewell = ""
        self.settings: OpenSettings = {}
        self.standings: dict[str, Standing] | None = None
        """How the providers of this home stand, once that is known."""
        self._opens = opens
        self._trim = trim
        self._look_every = look_every
        self._typed = TypedText(wanted.home / "tui")
        self._stage: ModuleType | None = None
        """What is slow to import, once it is there."""
        self._story: Story | None = None
        self._notes: list[str] = []
        self._answering: Answering | None = None
        self._resume = wanted.resume
        self._unsent: list[str] = []
        self._is_leaving = self._is_drawing = False
        self._seat_ends, self.begun = anyio.Event(), anyio.Event()
        self._interrupted_at = float("-inf")
        self._draft_timer: Any = None
        self._is_light = is_light
        self.theme = choose_theme(wanted.home / "tui", theme, self.available_themes, is_light=is_light)

    @property
    def failure(self) -> Exception | None:
        """What went wrong inside."""
        # A worker's failure comes wrapped.
        inner = getattr(self._exception, "error", None)
        return only(inner if isinstance(inner, Exception) else self._exception) if self._exception else None

    # --- the screen ---

    def compose(self) -> ComposeResult:
        yield Vertical(id="talk")
        yield QueueStrip()
        yield Static("", id="choices")
        yield Composer()
        yield Static("starting…", id="starting")

    def on_mount(self) -> None:
        self._typed.load()
        self.query_one("#choices").display = False
        composer = self.query_one(Composer)
        composer.put(self._typed.draft())
        self.set_interval(_LOG_SECONDS, self._trim)
        for each in () if self.is_headless else (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, self.action_leave)
        # Keys that came meanwhile wait in line behind this. What opens the agent is read once they are on the screen.
        self.screen.set_focus(composer)
        self.call_after_refresh(self._begin_to_live)

    def _begin_to_live(self) -> None:
        self.run_worker(self._live(), name="agent", group="agent")

    async def _dress(self) -> None:
        """What shows a story is imported beside a composer that takes keys already."""
        if self._stage is None:
            self._stage = await anyio.to_thread.run_sync(importlib.import_module, "sayso.apps.tui.stage")
            await self._show_story(self._stage.Story())
            status = self._stage.StatusLine(
                self._story, now_ms=self._now_ms, permission=self.wanted.permission, id="status"
            )
            status.notice = "starting"
            with self.batch_update():
                await self.query_one("#starting").remove()
                await self.mount(status)

    @property
    def _transcript(self) -> Transcript:
        return cast("Transcript", self.query_one("#transcript"))

    @property
    def _question(self) -> QuestionPanel:
        return cast("QuestionPanel", self.query_one("#question"))

    @property
    def _status(self) -> StatusLine:
        return cast("StatusLine", self.query_one("#status"))

    def _panel(self, stage: ModuleType, story: Story) -> QuestionPanel:
        panel: QuestionPanel = stage.QuestionPanel(
            story, regenerate=self._regenerate, is_locked=self._is_locked, grace=self._grace, id="question"
        )
        return panel

    def _now_ms(self) -> int:
        return int(self.clock.now().timestamp() * 1000)

    def changed(self) -> None:
        """Something that the screen shows is another by now: it is drawn with the next frame."""
        if not self._is_drawing and self.is_running:
            self._is_drawing = True
            self.set_timer(_FRAME_SECONDS, self._draw)

    async def _draw(self) -> None:
        self._is_drawing = False
        if not self.is_running or self._is_leaving or not self.query("#status"):
            return
        await self._transcript.refresh_story()
        await self._question.refresh_story()
        if self.talk is not None:
            self.query_one(QueueStrip).show(self.talk.queue)
        status = self._status
        status.permission = self.wanted.permission
        status.notice = "starting" if self.talk is None else "reconnecting" if self.talk.is_lost else ""
        await status.refresh_story()

    async def _show_story(self, story: Story) -> None:
        stage, around = self._stage, self.query_one("#talk")
        if stage is None:
            return
        self._story = story
        notes, self._notes = self._notes, []
        for note in notes:
            story.note(note)
        with self.batch_update():
            await around.remove_children()
            await around.mount(stage.Transcript(story, id="transcript"), self._panel(stage, story))
        if self.query("#status"):
            self._status.tell(story)
        self.query_one(Composer).display = True
        self.changed()

    def tell(self, text: str) -> None:
        """A line of our own, behind what was said so far."""
        if self._story is None:
            self._notes.append(text)
        else:
            self._story.note(text)
            self.changed()

    def use_theme(self, name: str | None) -> None:
        """Other colours, also the next time; None is what goes with the terminal."""
        keep_theme(self.wanted.home / "tui", name)
        self.theme = choose_theme(self.wanted.home / "tui", name, self.available_themes, is_light=self._is_light)

    def action_scroll_talk(self, pages: int) -> None:
        """Reads back and on."""
        if self._story is None:
            return
        transcript = self._transcript
        transcript.scroll_relative(y=pages * max(1, transcript.size.height - 1), animate=False)

    # --- saying things ---

    async def say(self, text: str) -> None:
        """Says it, or has it wait; what could not be sent is put back into the composer."""
        if self.talk is None:
            self._unsent.append(text)
            self.tell(f"Waiting for the agent, then sent: {text}")
            return
        try:
            await self.talk.say(text)
        except SAYING_NO as failure:
            self.tell(f"Not sent: {failure}")
            self.put_back(text)

    async def steer(self, text: str) -> None:
        """Says it to the run under way."""
        talk = self.talk
        if talk is None or talk.running is None:
            self.tell("Nothing is running: there is nothing to steer. Enter sends.")
            self.put_back(text)
            return
        try:
            await talk.steer(text)
        except SAYING_NO as failure:
            self.tell(f"Not steered: {failure}")
            self.put_back(text)

    def put_back(self, text: str) -> None:
        """Into the composer, before what stands there."""
        composer = self.query_one(Composer)
        composer.put(f"{text}\n{composer.text}" if composer.text else text)

    async def _warm(self) -> None:
        """What commands need is there before the first one is typed; what goes wrong here they will say."""
        acting = await anyio.to_thread.run_sync(importlib.import_module, "sayso.apps.tui.acting")
        with contextlib.suppress(*SAYING_NO):
            await acting.warm(self)

    def act(self, text: str) -> None:
        """Carries out a command."""
        acting = importlib.import_module("sayso.apps.tui.acting")
        self.run_worker(acting.act(self, text), group="command")

    def on_composer_sent(self, message: Composer.Sent) -> None:
        """Enter: a command, or something said."""
        composer = self.query_one(Composer)
        composer.put("")
        self._typed.add(message.text)
        self._typed.keep_draft("")
        if message.text.startswith("/") and importlib.import_module("sayso.apps.tui.commands").is_command(message.text):
            self.act(message.text)
        else:
            self.run_worker(self.say(message.text), group="say")

    def action_steer(self) -> None:
        """The steer key."""
        composer = self.query_one(Composer)
        if composer.has_focus and (text := composer.text).strip():
            composer.put("")
            self._typed.add(text)
            self.run_worker(self.steer(text), group="say")

    async def action_stop(self) -> None:
        """Escape: ends what is running; what waits stays."""
        if self.talk is None:
            return
        try:
            await self.talk.cancel()
        except SAYING_NO as failure:
            self.tell(f"It could not be stopped: {failure}")

    # --- the composer's wishes ---

    def on_composer_recalled(self, message: Composer.Recalled) -> None:
        """What was sent before; first of all what waits, which is nearer."""
        composer = self.query_one(Composer)
        if message.direction == "earlier" and not composer.text and self.query_one(QueueStrip).enter():
            return
        text = self._typed.earlier(composer.text) if message.direction == "earlier" else self._typed.later()
        if text is not None:
            composer.put(text)

    def on_composer_completing(self, message: Composer.Completing) -> None:
        """Shows the choices."""
        if self.query("#choices"):
            self._show_choices(message.completion, message.chosen)

    def _show_choices(self, completion: Completion | None, chosen: int) -> None:
        choices = self.query_one("#choices", Static)
        choices.display = completion is not None
        if completion is not None:
            choices.update(shown_choices(completion, chosen))

    def on_composer_wants_files(self) -> None:
        """Reads which files there are, off the loop."""
        self.run_worker(self._list_files(), group="files", exclusive=True)

    async def _list_files(self) -> None:
        files = await anyio.to_thread.run_sync(importlib.import_module, "sayso.apps.tui.files")
        found = await files.list_files(self.wanted.workspace, self.wanted.home)
        if self.query(Composer):
            composer = self.query_one(Composer)
            composer.files = found
            composer.refresh_completion()

    def on_text_area_changed(self) -> None:
        """What is being typed is kept, also when we are killed."""
        if self._draft_timer is None:
            self._draft_timer = self.set_timer(_DRAFT_SECONDS, self._keep_draft)

    def _keep_draft(self) -> None:
        self._draft_timer = None
        if self.query(Composer):  # and not being taken down
            self._typed.keep_draft(self.query_one(Composer).text)

    # --- what waits ---

    async def on_queue_strip_dropped(self, message: QueueStrip.Dropped) -> None:
        """Takes it back; to edit it, it comes into the composer."""
        if self.talk is None:
            return
        try:
            was_taken = await self.talk.drop(message.waits)
        except SAYING_NO as failure:
            self.tell(f"It could not be taken back: {failure}")
            return
        if not was_taken:
            self.tell("Its turn had come already.")
        elif message.to_edit:
            self.put_back(message.waits.text)
            self.query_one(Composer).focus()

    def on_queue_strip_left(self) -> None:
        """Back to typing."""
        if self.query(Composer):
            self.query_one(Composer).focus()

    # --- questions ---

    async def _regenerate(self, question: Question) -> str:
        if self._answering is None:
            raise Refused.because("not_ready", "the agent is not open yet")
        return await self._answering.regenerate(question)

    def pop_screen(self) -> AwaitComplete:
        """What was behind a list has the keys again; a question that came meanwhile is seen only now."""
        popped = super().pop_screen()
        if self.query("#question") and self._question.question is not None:
            self._question.uncovered()
        else:
            self.query_one(Composer).focus()
        return popped

    def _is_locked(self) -> bool:
        return self._answering is not None and self._answering.is_locked

    def on_question_panel_changed(self, message: QuestionPanel.Changed) -> None:
        """The panel stands in the composer's place while it asks."""
        if not self.query(Composer):
            return  # the screen is being taken down
        composer = self.query_one(Composer)
        composer.display = message.question is None
        # The room is the question's.
        self.query_one(QueueStrip).set_class(message.question is not None, "-aside")
        self._show_choices(None, 0)
        if message.question is None:
            if ahead := self._question.take_ahead():
                composer.insert(ahead)
            composer.focus()

    def on_question_panel_answered(self, message: QuestionPanel.Answered) -> None:
        """Carries the answer to whoever asked."""
        self.run_worker(self._answer(message), group="answer")

    async def _answer(self, message: QuestionPanel.Answered) -> None:
        answering = await anyio.to_thread.run_sync(importlib.import_module, "sayso.apps.tui.answering")
        if self._answering is None:
            return
        try:
            told = await self._answering.answer(message.question, message.answer)
        except answering.Again as again:
            self._question.again(message.question, str(again))
        except SAYING_NO as failure:
            self._question.again(message.question, str(failure))
        else:
            if told:
                self.tell(told)

    # --- leaving ---

    def on_composer_leaving(self) -> None:
        """Ctrl-D on an empty line."""
        self.action_leave()

    def action_interrupt(self) -> None:
        """Ctrl-C: twice leaves."""
        now = asyncio.get_running_loop().time()
        if now - self._interrupted_at < _TWICE_SECONDS:
            self.action_leave()
            return
        self._interrupted_at = now
        self.notify("Ctrl-C once more leaves. Esc stops what is running.", timeout=_TWICE_SECONDS)

    def action_leave(self) -> None:
        """Leaves: what was typed and said is kept."""
        if not self._is_leaving:
            self._is_leaving = True
            self.run_worker(self._leave(), group="leave")

    async def _leave(self) -> None:
        text = self._undelivered()
        self._typed.keep_draft(text)
        self.farewell = self._farewell(has_draft=bool(text))
        self._seat_ends.set()
        if self.talk is not None:
            self.talk.end()
        with anyio.move_on_after(LEAVING_SECONDS):
            await self.workers.wait_for_complete([each for each in self.workers if each.group == "agent"])
        self.exit()

    def _undelivered(self) -> str:
        """All that was typed here and reached nobody: what waits, then what stands in the composer."""
        waiting = [*self._unsent, *(self.talk.unsaid if self.talk is not None else ())]
        ahead = self._question.take_ahead() if self.query("#question") else ""
        return "\n".join(filter(None, [*waiting, self.query_one(Composer).text + ahead]))

    def _farewell(self, *, has_draft: bool) -> str:
        said = []
        talk = self.talk
        is_kept = self.wanted.attach is not None or (self.seat is not None and self.seat.conversations is not None)
        if is_kept and talk is not None and talk.has_spoken and talk.offers("session.open.reopen"):
            at = f" --attach {self.wanted.attach}" if self.wanted.attach else ""
            said.append(f"The conversation is kept. Go on with it: sayso tui{at} --resume {talk.session_id}")
        if has_draft:
            said.append("What you had typed is kept too, and stands there when you come back.")
        return "\n".join(said)

    def _fatal_error(self) -> None:
        """An error of ours ends the screen without showing itself there: `failure` has it."""
        self._close_messages_no_wait()

    def panic(self, *renderables: Any) -> None:
        """Nothing is ever printed over the person's terminal; that it ended like this is a failure all the same."""
        self._exception = self._exception or RuntimeError("the application ended in a panic")
        self._close_messages_no_wait()
