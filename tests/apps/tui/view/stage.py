"""A small program around one widget of the view: a story, a tale that fills it, and what is on the screen."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.widget import Widget
from textual.widgets import Input

from sayso.apps.tui.view.questions import QuestionPanel
from sayso.apps.tui.view.story import Story
from sayso.apps.tui.view.transcript import Transcript
from sayso.testing.tales import Tale


class Stage(App[None]):
    """Shows the widgets that `build` makes for a story."""

    def __init__(self, build: Callable[[Story], list[Widget]], story: Story | None = None) -> None:
        super().__init__()
        self.story = story or Story()
        self.tale = Tale(self.story.hear)
        self.answers: list[QuestionPanel.Answered] = []
        self.changes: list[QuestionPanel.Changed] = []
        self.pressed: list[str] = []
        self._build = build

    def compose(self) -> ComposeResult:
        yield from self._build(self.story)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def panel(self) -> QuestionPanel:
        return self.query_one(QuestionPanel)

    @property
    def screen_lines(self) -> list[str]:
        """What is painted, line by line, without trailing blanks."""
        return picture_of(self).split("\n")

    @property
    def picture(self) -> str:
        return picture_of(self)

    def on_question_panel_answered(self, message: QuestionPanel.Answered) -> None:
        self.answers.append(message)

    def on_question_panel_changed(self, message: QuestionPanel.Changed) -> None:
        self.changes.append(message)
        for line in self.query("#composer"):
            line.display = message.question is None

    def on_key(self, event: object) -> None:
        self.pressed.append(getattr(event, "key", ""))


def picture_of(app: App[None]) -> str:
    """What is painted, line by line, without trailing blanks."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in strips)


def transcript_stage(story: Story | None = None) -> Stage:
    return Stage(lambda story: [Transcript(story)], story)


def composer() -> Input:
    return Input(id="composer")
