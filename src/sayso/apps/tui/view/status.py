"""One line on how things stand: model, permission mode, sandbox, the run and its seconds, the queue, tokens."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from sayso.apps.tui.view.clean import clean_name
from sayso.apps.tui.view.story import Story
from sayso.control.loop.contract import PermissionMode

__all__ = ("StatusLine", "status_parts")

_STATES = {
    "queued": "starting",
    "running": "working",
    "waiting_for_input": "waiting for you",
    "cancelling": "stopping",
}
_SEPARATOR = " · "
_SHORTEST_MODEL = 12


class StatusLine(Widget):
    """Redrawn by `refresh_story`, and each second while a run is under way."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; padding: 0 1; color: $text-muted; }
    """

    def __init__(
        self,
        story: Story,
        *,
        now_ms: Callable[[], int],
        permission: PermissionMode = "ask",
        is_sandboxed: bool = True,
        context_window: int | None = None,
        id: str | None = None,  # noqa: A002 - as every widget calls it
    ) -> None:
        super().__init__(id=id)
        self._story = story
        self._now_ms = now_ms
        self.permission = permission
        self.is_sandboxed = is_sandboxed
        self.context_window = context_window
        self.notice = ""
        """A word of the program's own, shown last: that it reconnects, say."""

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)

    async def refresh_story(self) -> None:
        """Draws the line anew."""
        self.refresh()

    def tell(self, story: Story) -> None:
        """Another session is shown from now on."""
        self._story = story
        self.refresh()

    def _tick(self) -> None:
        if self._story.active_run_id is not None:
            self.refresh()

    def render(self) -> Content:
        parts = status_parts(
            self._story,
            now_ms=self._now_ms(),
            permission=self.permission,
            is_sandboxed=self.is_sandboxed,
            context_window=self.context_window,
            width=self.size.width,
            notice=self.notice,
        )
        separator = Content.styled(_SEPARATOR, "$text 60%")
        return separator.join([Content.styled(text, style) for text, style in parts])


def status_parts(
    story: Story,
    *,
    now_ms: int,
    permission: PermissionMode,
    is_sandboxed: bool,
    context_window: int | None,
    width: int,
    notice: str = "",
) -> list[tuple[str, str]]:
    """The line's parts with their styles, fitted to `width` cells: the model's name is shortened, then the least
    wanted parts go; that nothing is sandboxed, and that nobody is asked, always stay.
    """
    model = (clean_name(story.model_id) if story.model_id else "no model", "bold $text-primary")
    always = [(text, "bold $text-warning") for text in _warnings(permission, is_sandboxed)]
    # At rest the program's own word says more than that nothing runs.
    run = [] if notice and story.run_status is None else _run(story, now_ms)
    wanted = [*run, *_queue(story), *([(clean_name(notice), "$text-warning")] if notice else [])]
    optional = [*([("ask", "")] if permission == "ask" else []), *_tokens(story, context_window)]
    while optional and _length([model, *always, *wanted, *optional]) > width:
        optional.pop()
    parts = [model, *always, *wanted, *optional]
    if (over := _length(parts) - width) > 0:
        parts[0] = (_shortened(model[0], max(_SHORTEST_MODEL, cell_len(model[0]) - over)), model[1])
    while wanted and _length(parts) > width:
        parts.remove(wanted.pop())
    return parts


def _warnings(permission: PermissionMode, is_sandboxed: bool) -> list[str]:  # noqa: FBT001 - one of two, always named
    return [
        *(["bypass: nobody is asked"] if permission == "bypass" else []),
        *([] if is_sandboxed else ["not sandboxed"]),
    ]


def _run(story: Story, now_ms: int) -> list[tuple[str, str]]:
    status = story.run_status
    if status is None:
        return [("idle", "")]
    said = _STATES.get(status, status)
    if story.questions:
        said = _STATES["waiting_for_input"]
    if story.run_started_ms is not None:
        said += f" {_spoken_seconds(max(0, now_ms - story.run_started_ms) // 1000)}"
    return [(said, "$text-accent")]


def _queue(story: Story) -> list[tuple[str, str]]:
    waiting = len(story.reservations)
    return [(f"{waiting} queued", "$text-accent")] if waiting else []


def _tokens(story: Story, context_window: int | None) -> list[tuple[str, str]]:
    parts = []
    if story.tokens is not None:
        parts.append((f"{_spoken_count(story.tokens)} tokens", ""))
    if context_window and story.context_tokens is not None:
        parts.append((f"context {min(999, 100 * story.context_tokens // context_window)}%", ""))
    return parts


def _spoken_seconds(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds}s"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def _spoken_count(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def _length(parts: list[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in parts) + cell_len(_SEPARATOR) * max(0, len(parts) - 1)


def _shortened(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(1, width - 1)).rstrip()}…"
