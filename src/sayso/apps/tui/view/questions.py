"""The panel that puts one question to the person, in the composer's place, and is answered by one key.

An answer to a question that was not on the screen yet is no answer: a key typed before the question was painted, or
within the grace that follows, answers nothing, and neither does any that comes without a pause after such a one, or
after a letter that means nothing here. These letters are kept for the composer. Enter never says yes. What is asked is
shown whole, and `y` counts only once its end was on the screen; what is to be signed is told in the words the key app
makes from the document itself (docs/decisions/0102).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.errors import NoWidget
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from sayso.apps.tui.view.answers import Declined, Given, PanelAnswer, Permitted
from sayso.apps.tui.view.attention import Attention
from sayso.apps.tui.view.blocks import Question
from sayso.apps.tui.view.clean import clean_strict
from sayso.apps.tui.view.form import Form
from sayso.apps.tui.view.story import Story
from sayso.apps.tui.view.wording import form_hint, form_text, permission_hint, permission_text, title_of
from sayso.control.protocol.payloads.interaction import UserInputRequested
from sayso.core.refusal import Refused

__all__ = ("QuestionPanel", "Regenerate")

Regenerate = Callable[[Question], Awaitable[str]]
"""The words of a document to sign, made from its bytes by the key app. Raises `Refused` where it must not be signed."""

_Stage = Literal["reading", "asking", "secret", "form", "sent"]
_READING = "Reading what would be signed …"
_SENT = "Answered. Esc stops the run"
_SECRET = "The passphrase of your keys signs it; Enter goes on, Esc goes back"  # noqa: S105 - the words that ask for it
_REST = "There is more below: PgDn or End shows it, then y counts"


class _Line(Input):
    """A line to type in, which hears no key that the panel does not hear."""

    def __init__(self, is_heard: Callable[[events.Event], bool]) -> None:
        super().__init__(id="question-line")
        self._is_heard = is_heard

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or self._is_heard(event):
            await super().on_event(event)


class QuestionPanel(Widget, can_focus=True):
    """The oldest open question of a story; hidden while there is none."""

    DEFAULT_CSS = """
    QuestionPanel {
        display: none; height: auto; padding: 0 1; border-top: solid $warning;
        &.-asking { display: block; }
        #question-title, #question-hint { height: auto; }
        #question-hint { color: $text-muted; }
        #question-text { height: auto; max-height: 50vh; padding: 0 2; scrollbar-size-vertical: 1; }
        #question-words { height: auto; width: 1fr; }
        #question-line { display: none; border: none; height: 1; padding: 0 2; background: $surface; }
        &.-typing #question-line { display: block; }
    }
    """

    class Changed(Message):
        """Another question is shown, or none any more: the composer shows while `question` is None."""

        def __init__(self, question: Question | None) -> None:
            super().__init__()
            self.question = question

    class Answered(Message):
        """The person answered. The panel waits until the story says what became of it, or `again` is called."""

        def __init__(self, question: Question, answer: PanelAnswer) -> None:
            super().__init__()
            self.question = question
            self.answer = answer

    def __init__(
        self,
        story: Story,
        *,
        regenerate: Regenerate,
        is_locked: Callable[[], bool] = lambda: False,
        grace: float = 0.4,
        id: str | None = None,  # noqa: A002 - as every widget calls it
    ) -> None:
        super().__init__(id=id)
        self._story = story
        self._regenerate = regenerate
        self._is_locked = is_locked
        self._attention = Attention(grace)
        self._stage: _Stage = "reading"
        self._question: Question | None = None
        self._form: Form | None = None
        self._may_say_yes = False
        self._was_read = False
        """Whether the end of the words was on the screen."""
        self._words = ""
        """What would be signed, as it stands on the screen."""
        self._ahead = ""
        """What was typed past the question."""

    def compose(self) -> ComposeResult:
        yield Static(id="question-title", markup=False)
        with VerticalScroll(id="question-text", can_focus=False):
            yield Static(id="question-words", markup=False)
        yield _Line(self._hears)
        yield Static(id="question-hint", markup=False)

    @property
    def question(self) -> Question | None:
        """What is asked now."""
        return self._question

    async def refresh_story(self) -> None:
        """Shows what the story asks now. A question that was settled elsewhere goes away at once."""
        question = self._story.question
        if question is not self._question:
            self._put(question)

    def again(self, question: Question, why: str) -> None:
        """The answer did not count, as with a wrong passphrase: the question is put again, with the reason."""
        if question is not self._question or not question.is_open:
            return
        self._attention.lapse(is_pause_due=False)
        if self._form is not None:
            self._form = Form(self._asked_input())
            self._ask_form(clean_strict(why))
        elif question.kind == "signed":
            # The words may be others by now, and those are what is signed.
            self._stage = "reading"
            self.run_worker(self._read(question, clean_strict(why)), exclusive=True, group="question")
        else:
            self._ask(clean_strict(why))

    def uncovered(self) -> None:
        """The panel is in sight again after something stood before it: only keys from now on answer."""
        if self._question is not None:
            (self.query_one(_Line) if self.has_class("-typing") else self).focus()
            self._attention.lapse()
            self._wait_for_paint()

    def take_ahead(self) -> str:
        """What was typed while a question came, and was meant for the composer; it is forgotten here. A `y` or an `n`
        by itself was meant for the question, too soon.
        """
        ahead, self._ahead = self._ahead, ""
        return ahead if ahead.strip().strip("yYnN") else ""

    # --- showing ---

    def _put(self, question: Question | None) -> None:
        self._question, self._form = question, None
        self._may_say_yes, self._was_read, self._words = False, False, ""
        self._attention.lapse()
        self.set_class(question is not None, "-asking")
        self._type(None)
        if question is not None:
            self.query_one("#question-title", Static).update(title_of(question))
            self._body.scroll_home(animate=False)
            self._fill(question)
        self.post_message(self.Changed(question))

    def _fill(self, question: Question) -> None:
        if question.kind == "input":
            self._form = Form(self._asked_input())
            self._ask_form()
        elif question.kind == "signed":
            self._stage = "reading"
            self._say(Content.styled(_READING, "$text 60%"))
            self._hint("")
            self.run_worker(self._read(question), exclusive=True, group="question")
        else:
            self._may_say_yes = question.kind == "permission"
            self._say(permission_text(question))
            self._ask()

    async def _read(self, question: Question, why: str = "") -> None:
        """Has the document put into words; what cannot be is not signed, and other words have to be read anew."""
        try:
            words, may = Content(clean_strict(await self._regenerate(question))), True
        except Refused as refused:
            words, may = Content.styled(f"This will not be signed: {clean_strict(str(refused))}", "$text-error"), False
        if question is self._question:
            if words.plain != self._words:
                self._words, self._was_read = words.plain, False
                self._body.scroll_home(animate=False)
            self._may_say_yes = may
            self._say(words)
            self._ask(why)

    def _ask(self, why: str = "") -> None:
        self._stage = "asking"
        self._type(None)
        if self._question is not None:
            self._hint(permission_hint(self._question, may_say_yes=self._may_say_yes), why)
        self._wait_for_paint()

    def _ask_form(self, why: str = "") -> None:
        form = self._form
        if form is None:
            return
        self._stage = "form"
        self._say(form_text(self._asked_input(), form))
        self._hint(form_hint(self._asked_input(), form), why)
        self._type(form.draft if form.question.kind == "text" else None)
        self._wait_for_paint()

    def _asked_input(self) -> UserInputRequested:
        return cast(UserInputRequested, None if self._question is None else self._question.asked.payload)

    @property
    def _body(self) -> VerticalScroll:
        return self.query_one("#question-text", VerticalScroll)

    def _say(self, words: Content) -> None:
        self.query_one("#question-words", Static).update(words)

    def _hint(self, keys: str, why: str = "") -> None:
        told = Content.styled(f"{why}\n", "bold $text-warning") if why else Content("")
        self.query_one("#question-hint", Static).update(told + Content(keys))

    def _type(self, start: str | None, *, is_secret: bool = False) -> None:
        """Opens the line to type in with a text, or closes it."""
        line = self.query_one(_Line)
        self.set_class(start is not None, "-typing")
        line.value, line.password = start or "", is_secret
        if self._question is not None:
            (self if start is None else line).focus()

    # --- hearing ---

    def _wait_for_paint(self) -> None:
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if not self.screen.is_current:
            return  # something stands before it: `uncovered` is called when that is gone
        # A message's own time is on the clock that keys are timed by.
        self._attention.begin(Message().time)
        self._look()

    def _look(self) -> None:
        self._was_read = self._was_read or (self._stage != "reading" and self._is_end_in_sight())

    def _is_end_in_sight(self) -> bool:
        """Whether the last line of the words is on the screen: scrolled to, laid out, and cut off by nothing."""
        words = self.query_one("#question-words", Static)
        try:
            place = self.screen.find_widget(words)
        except NoWidget:
            return False
        height = words.get_content_height(self._body.size, self.app.size, place.region.width)
        last = place.region.bottom - 1
        is_laid_out = place.region.height == height
        return is_laid_out and place.clip.y <= last < min(place.clip.bottom, self.app.size.height)

    def on_resize(self) -> None:
        if self._question is not None:
            self.call_after_refresh(self._look)

    async def on_key(self, event: events.Key) -> None:
        if self._question is None or event.key.startswith("ctrl+"):
            return
        if self._stage in ("reading", "asking", "sent") and event.key == "escape":
            # It answers nothing here: the run can be stopped at any time.
            return
        if self._stage == "sent":
            self._keep(event)
        if self._stage == "sent" or not self._hears(event) or self._hear(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """No question is answered by a paste."""
        event.stop()
        self._keep(event)

    def _hears(self, event: events.Event) -> bool:
        """Whether the event is for the question; a letter that is not is kept for the composer."""
        is_heard = self._attention.hears(event)
        if not is_heard:
            self._keep(event)
        return is_heard

    def _keep(self, event: events.Event) -> None:
        if self._question is None or (self._question.kind == "signed" and self._is_locked()):
            # It may be a passphrase, typed by somebody quicker than the question: that is kept nowhere.
            return
        if isinstance(event, events.Paste):
            self._ahead += event.text
        elif isinstance(event, events.Key) and event.key == "backspace":
            self._ahead = self._ahead[:-1]
        elif isinstance(event, events.Key) and event.is_printable:
            self._ahead += event.character or ""

    def _hear(self, event: events.Key) -> bool:
        """Whether the key meant anything to the question."""
        match self._stage:
            case "asking":
                return self._hear_yes_or_no(event) or self._scroll(event.key)
            case "secret":
                if event.key == "escape":
                    self._attention.lapse(is_pause_due=False)
                    self._ask()
                return event.key == "escape"
            case "form":
                return self._hear_form(event.key)
            case _:
                return False

    def _hear_yes_or_no(self, event: events.Key) -> bool:
        if event.character in ("n", "N"):
            self._answer(Permitted(granted=False))
        elif event.character in ("y", "Y") and self._may_say_yes:
            self._say_yes()
        elif event.is_printable:
            # Somebody types something else, in which a y or an n may stand: for these a pause is due again.
            self._attention.put_off(event)
            self._keep(event)
        else:
            # Enter stays here: a hand on its way to the composer must not decide anything.
            return event.key == "enter"
        return True

    def _say_yes(self) -> None:
        if not self._is_read():
            # Whoever asks could have put what matters below the edge.
            self._hint(_REST)
        elif self._question is not None and self._question.kind == "signed" and self._is_locked():
            self._stage = "secret"
            self._type("", is_secret=True)
            self._hint(_SECRET)
        else:
            self._answer(Permitted(granted=True))

    def _is_read(self) -> bool:
        self._look()
        return self._was_read

    def _hear_form(self, key: str) -> bool:
        form = self._form
        if form is None:
            return False
        if key == "escape":
            if self._asked_input().allow_cancel is False:
                return False
            self._answer(Declined())
            return True
        if form.question.kind == "text":
            if key == "tab":
                form.skip()
                self._go_on(form)
            return key == "tab"
        was_heard = form.press(key)
        if was_heard:
            self._go_on(form)
        return was_heard or self._scroll(key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._stage == "secret" and event.value:
            self._answer(Permitted(granted=True, passphrase=event.value))
        elif self._stage == "form" and self._form is not None:
            self._form.write(event.value)
            self._go_on(self._form)

    def _go_on(self, form: Form) -> None:
        if form.is_complete:
            self._answer(Given(form.answers) if form.answers else Declined())
        else:
            self._attention.lapse(is_pause_due=False)
            self._ask_form()

    def _answer(self, answer: PanelAnswer) -> None:
        question, self._stage = self._question, "sent"
        self._type(None)
        self._hint(_SENT)
        if question is not None:
            self.post_message(self.Answered(question, answer))

    def _scroll(self, key: str) -> bool:
        """Moves the words; whether the key does that."""
        page = max(1, self._body.size.height - 1)
        lines = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -_FAR, "end": _FAR}.get(key)
        if lines is None or not self._body.max_scroll_y:
            # With all of it in view the key is the program's, which scrolls what was said so far.
            return False
        target = max(0, min(self._body.scroll_offset.y + lines, self._body.max_scroll_y))
        self._body.scroll_to(y=target, animate=False, immediate=True)
        self.call_after_refresh(self._look)
        return True


_FAR = 10_000_000
