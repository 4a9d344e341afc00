"""What a conversation is shown with and held by: all that is slow to import, read once the composer takes keys."""

from __future__ import annotations

from sayso.apps.tui.talk import Talk
from sayso.apps.tui.view.questions import QuestionPanel
from sayso.apps.tui.view.status import StatusLine
from sayso.apps.tui.view.story import Story
from sayso.apps.tui.view.transcript import Transcript

__all__ = ("QuestionPanel", "StatusLine", "Story", "Talk", "Transcript")
