"""A made-up session on the real widgets, to look at and to take pictures of: `python -m sayso.apps.tui.view.gallery`.

With a folder as argument it writes one SVG for each size and theme, and one for each kind of question.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from textual.app import App, ComposeResult

from sayso.apps.tui.view.blocks import CallBlock, Question
from sayso.apps.tui.view.questions import QuestionPanel
from sayso.apps.tui.view.status import StatusLine
from sayso.apps.tui.view.story import Story
from sayso.apps.tui.view.transcript import Transcript
from sayso.control.protocol.payloads.interaction import UserOption, UserQuestion
from sayso.testing.tales import Tale

__all__ = ("Gallery", "ask", "tell")

SIZES = ((80, 24), (140, 40))
THEMES = ("textual-dark", "textual-light", "ansi-dark")
KINDS = ("rest", "permission", "signature", "choice")
_DIFF = """--- a/src/cart.py
+++ b/src/cart.py
@@ -10,2 +10,2 @@
 def total(items):
-    return sum(item.price for item in items)
+    return sum(item.price * item.count for item in items)
"""
_ANSWER = """`total` adds the prices and forgets the *count*:

```python
def total(items):
    return sum(item.price for item in items)  # no count
```

| item | price | count |
|------|-------|-------|
| tea  | 4     | 2     |
| rice | 3     | 1     |
"""
_LIMITS = (
    "At Maple Street Auto (maple.example): an oil change on Thursday 15 October 2026, between 12:00 and 15:00, for at "
    "most $100.00 CAD. It may be held and booked once."
)


class Gallery(App[None]):
    """The transcript, a question and the status line, as the program puts them together."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, kind: str = "rest", theme: str = THEMES[0]) -> None:
        super().__init__()
        self.story = Story()
        tale = Tale(self.story.hear)
        tell(self.story, tale)
        ask(kind, tale)
        self.theme = theme

    def compose(self) -> ComposeResult:
        yield Transcript(self.story)
        yield QuestionPanel(self.story, regenerate=self._regenerate)
        yield StatusLine(self.story, now_ms=lambda: 14_000, is_sandboxed=False, context_window=400_000)

    async def on_mount(self) -> None:
        for call in self.story.blocks:
            if isinstance(call, CallBlock) and call.diff:
                self.query_one(Transcript).unfold(call.index)
        self.query_one(Transcript).action_to_end()
        await self.query_one(QuestionPanel).refresh_story()

    async def _regenerate(self, question: Question) -> str:
        return _LIMITS


def tell(story: Story, tale: Tale) -> None:
    """A run with a bit of everything."""
    story.said("The total in the cart is wrong when I buy two of something. Please mend it.", "r1")
    tale.start(model="openai/gpt-5")
    tale.think("The cart first.")
    tale.text("I'll look at the **cart** first.")
    tale.ask_call("Read", {"path": "src/cart.py"})
    tale.start_call("Read")
    tale.end_call("def total(items): ...")
    tale.text(_ANSWER)
    tale.ask_call("Edit", {"path": "src/cart.py"}, "c2")
    tale.start_call("Edit", "c2")
    tale.end_call({"text": "1 place changed", "diff": _DIFF}, "c2")
    tale.ask_call("Shell", {"command": "make test"}, "c3")
    tale.start_call("Shell", "c3")
    tale.fail_call("exit status 2", "c3")
    story.said("and run the linter", "r2")


def ask(kind: str, tale: Tale) -> None:
    """One question of this kind."""
    if kind == "permission":
        tale.ask("May Shell run this?", "make lint\n\nin /home/ada/shop, not sandboxed", call="c4")
    elif kind == "signature":
        tale.ask("Sign these limits?", _LIMITS, call="c4", document=b"{}")
    elif kind == "choice":
        options = (UserOption(id="a", label="Mend the total"), UserOption(id="b", label="Mend the test"))
        tale.ask_input(
            "Which one?", [UserQuestion(id="q", prompt="What is wrong?", kind="single_choice", options=options)]
        )


async def _picture(folder: Path, kind: str, theme: str, size: tuple[int, int]) -> None:
    app = Gallery(kind, theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        name = f"tui-{kind}-{theme}-{size[0]}x{size[1]}.svg"
        (folder / name).write_text(app.export_screenshot(title="sayso"), encoding="utf-8")


async def _pictures(folder: Path) -> None:
    for theme in THEMES:
        for size in SIZES:
            for kind in KINDS:
                await _picture(folder, kind, theme, size)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(_pictures(Path(sys.argv[1])))
    else:
        Gallery("permission").run()
