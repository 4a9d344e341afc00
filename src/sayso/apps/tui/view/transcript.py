"""The story, drawn line by line in one widget: what is on the screen costs something, what is above it does not.

No block is a widget of its own. A block is drawn when its lines are wanted, kept while they are near, and of the others
only the height is remembered, guessed at first (docs/decisions/0101). Of the screen only lines that differ are sent
again, so streaming text does not flicker and costs little over a slow line.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer

from sayso.apps.tui.view.drawing import levels
from sayso.apps.tui.view.heights import Heights
from sayso.apps.tui.view.selecting import highlighted, selected_text
from sayso.apps.tui.view.story import Story
from sayso.apps.tui.view.strips import Strips

__all__ = ("FRAME", "Transcript")

FRAME = 1 / 30
"""Seconds between two repaints, however many deltas come."""
_GUESS = 3
_WHEEL = 3
_REVERSED = RichStyle(reverse=True)


class Transcript(ScrollView, can_focus=True):
    """Draws a story, follows its end unless the person scrolled up, and unfolds what they click or choose by key."""

    DEFAULT_CSS = """
    Transcript {
        height: 1fr; width: 1fr; padding: 0 1; overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "line_up", "Up", show=False),
        Binding("down", "line_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("home", "to_start", "Start", show=False),
        Binding("end", "to_end", "End", show=False),
        Binding("enter,space", "unfold", "Unfold", show=False),
    ]

    def __init__(self, story: Story, *, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self.repaints = 0
        """How often changes of the story were drawn, for measurements."""
        self._story = story
        self._heights = Heights()
        self._strips: Strips | None = None
        self._levels: dict[int, int] = {}
        self._visible: list[Strip] = []
        self._cursor: int | None = None
        """The block that a key unfolds."""
        self._is_following = True
        self._is_settling = False
        self._is_dirty = False
        self._cooling: Timer | None = None

    # --- what the program calls ---

    async def refresh_story(self) -> None:
        """Draws what changed: at once where nothing was drawn a moment ago, else with the next frame."""
        self._is_dirty = True
        if self._cooling is None and self._strips is not None:
            self._cooled()

    def tell(self, story: Story) -> None:
        """Another story is told from now on."""
        self._story = story
        self._heights, self._levels, self._cursor, self._is_following = Heights(), {}, None, True
        self._begin_anew()

    @property
    def is_following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self._is_following

    def action_line_up(self) -> None:
        self._step(-1)

    def action_line_down(self) -> None:
        self._step(1)

    def action_page_up(self) -> None:
        self._move(1 - self.size.height)

    def action_page_down(self) -> None:
        self._move(self.size.height - 1)

    def action_to_start(self) -> None:
        self._move(-self._heights.total)

    def action_to_end(self) -> None:
        self._is_following = True
        self._settle()

    def action_unfold(self) -> None:
        """Unfolds what the cursor is on, else the last thing in view that has more to show; or folds it again."""
        foldable = self._foldable()
        if foldable:
            self.unfold(self._cursor if self._cursor in foldable else foldable[-1])

    def unfold(self, index: int) -> None:
        """Shows more of a block; after its most, it is folded. The line it begins at stays where it is."""
        most = levels(self._story.blocks[index])
        if most:
            self._levels[index] = (self._levels.get(index, 0) + 1) % (most + 1)
            self._is_following = False
            self._draw_again(index)
            self._settle()
            self._is_following = self._offset >= self._most
            self._show()

    # --- the person's hand ---

    def on_click(self, event: events.Click) -> None:
        if self.text_selection is None and (index := self._heights.at(self._offset + event.y)) >= 0:
            self._cursor = index if levels(self._story.blocks[index]) else self._cursor
            self.unfold(index)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.prevent_default().stop()
        self._move(-_WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.prevent_default().stop()
        self._move(_WHEEL)

    def on_focus(self) -> None:
        self._show()

    def on_blur(self) -> None:
        self._cursor = None
        self._show()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = range(self._heights.total)
        return selected_text(selection, len(lines), self._line), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # --- how it is drawn ---

    def on_resize(self) -> None:
        if self._strips is None or self._strips.width != self.scrollable_content_region.width:
            self._begin_anew()
        else:
            self._settle()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._strips is not None and self.is_attached:
            self._begin_anew()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self.vertical_scrollbar.position = new_value
        if not self._is_settling:
            self._is_following = round(new_value) >= self._most
            self._settle()

    def render_line(self, y: int) -> Strip:
        line = self._offset + y
        strip = self._visible[y] if y < len(self._visible) else self._empty()
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(line)) is not None:
            strip = highlighted(strip, span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_offsets(0, line)

    @property
    def _offset(self) -> int:
        return self.scroll_offset.y

    @property
    def _most(self) -> int:
        return max(0, self._heights.total - self.size.height)

    def _begin_anew(self) -> None:
        """Width, theme or story changed: everything is drawn anew, as far as it is in view."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._strips = Strips(self._story.blocks, width, self.visual_style, Style.parse)
        self._visible = []
        self._story.take_changes()
        self._heights.doubt()
        self._grow()
        self._settle()
        self.refresh()

    def _cooled(self) -> None:
        self._cooling = None
        if self._is_dirty:
            self._is_dirty = False
            began = asyncio.get_running_loop().time()
            self._take()
            # What is dear to draw is drawn less often, so that keys never wait behind it.
            took = asyncio.get_running_loop().time() - began
            self._cooling = self.set_timer(max(FRAME, 2 * took), self._cooled)

    def _take(self) -> None:
        """Everything that changed since the last time, in one repaint."""
        changed = self._story.take_changes()
        known = len(self._heights)
        self._grow()
        for index in changed:
            if index < known:
                self._draw_again(index)
        if changed:
            self.repaints += 1
            self._settle()

    def _grow(self) -> None:
        for _ in range(len(self._story.blocks) - len(self._heights)):
            self._heights.add(_GUESS)

    def _draw_again(self, index: int) -> None:
        if self._strips is not None:
            self._strips.forget(index)
            self._heights.doubt_one(index)

    def _settle(self) -> None:
        """Learns the heights in and around the view, keeping what the person reads where it is."""
        if self._strips is None:
            return
        height = max(1, self.size.height)
        index, within = self._anchor()
        while True:
            top = self._most if self._is_following else min(self._heights.top(index) + within, self._most)
            unknown = self._unknown(top - height, top + 2 * height)
            if unknown is None:
                break
            self._heights.put(unknown, len(self._drawn(unknown)))
        self._is_settling = True
        try:
            self.virtual_size = Size(self._strips.width, self._heights.total)
            self.scroll_target_y = self.scroll_y = top
        finally:
            self._is_settling = False
        self._show()

    def _show(self) -> None:
        """Sends the lines of the view that differ from what is on the screen."""
        if self._strips is None:
            return
        lines = [self._line(self._offset + y) for y in range(self.size.height)]
        before, self._visible = self._visible, lines
        for y, line in enumerate(lines):
            if y >= len(before) or before[y] != line:
                self.refresh(Region(0, y, self.size.width, 1))

    def _anchor(self) -> tuple[int, int]:
        """The block at the top of the view, and how many of its lines are above."""
        index = max(0, self._heights.at(self._offset))
        return index, self._offset - self._heights.top(index) if len(self._heights) else 0

    def _unknown(self, first: int, last: int) -> int | None:
        """The lowest block between two lines of which the height is only guessed."""
        index = self._heights.at(last)
        while index >= 0 and self._heights.top(index) + self._heights.height(index) >= first:
            if not self._heights.is_known(index):
                return index
            index -= 1
        return None

    def _move(self, lines: int) -> None:
        target = max(0, min(self._offset + lines, self._most))
        self._is_following = target >= self._most
        self.scroll_target_y = target
        self.scroll_y = target

    def _step(self, direction: int) -> None:
        """The cursor goes to the next thing in view that can be unfolded; where there is none, the view moves."""
        foldable = self._foldable()
        after = [each for each in foldable if self._cursor is not None and (each - self._cursor) * direction > 0]
        if self._cursor not in foldable:
            after = foldable
        if after:
            self._cursor = after[0] if direction > 0 else after[-1]
            self._show()
        else:
            self._move(direction)

    def _foldable(self) -> list[int]:
        """The blocks that begin in view and have more to show."""
        first, last = self._offset, self._offset + self.size.height - 1
        blocks = range(max(0, self._heights.at(first)), self._heights.at(last) + 1)
        return [each for each in blocks if self._heights.top(each) >= first and levels(self._story.blocks[each])]

    def _drawn(self, index: int) -> list[Strip]:
        return [] if self._strips is None else self._strips.of(index, self._levels.get(index, 0))

    def _line(self, line: int) -> Strip:
        index = self._heights.at(line)
        if index < 0 or line >= self._heights.total:
            return self._empty()
        strips, within = self._drawn(index), line - self._heights.top(index)
        strip = strips[within] if within < len(strips) else self._empty()
        is_head = within == (0 if strips[0].text.strip() else 1)
        return strip.apply_style(_REVERSED) if is_head and index == self._cursor and self.has_focus else strip

    def _empty(self) -> Strip:
        return Strip.blank(0 if self._strips is None else self._strips.width, self.visual_style.rich_style)
