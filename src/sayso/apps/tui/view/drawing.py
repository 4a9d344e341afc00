"""Each block of a story as lines of a given width. A glyph and a word say what a colour says, for screens without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.content import Content

from sayso.apps.tui.view.blocks import (
    Block,
    CallBlock,
    CallState,
    CompactionBlock,
    EndBlock,
    ModelBlock,
    NoteBlock,
    QuestionBlock,
    SaidBlock,
    TextBlock,
    ThoughtBlock,
)
from sayso.apps.tui.view.calls import diff_counts
from sayso.apps.tui.view.code import code_lines, diff_lines
from sayso.apps.tui.view.markdown import markdown_lines

__all__ = ("draw", "is_close", "is_empty", "levels")

T = TypeVar("T")

_MUTED = "$text 60%"
_FEW = 20
_GLYPHS: dict[CallState, tuple[str, str]] = {
    "asked": ("?", "bold $text-warning"),
    "started": ("~", "bold $text-accent"),
    "completed": ("✓", "$text-success"),
    "failed": ("✗", "bold $text-error"),
    "cancelled": ("-", _MUTED),
}
_WORDS: dict[CallState, str] = {"started": "running", "failed": "failed", "cancelled": "cancelled"}
_OUTCOMES = {"yes": "you said yes", "no": "you said no", "answered": "you answered", "declined": "you declined"}


def draw(block: Block, width: int, level: int = 0) -> list[Content]:
    """The block's lines; `level` says how far it is unfolded, from 0 to what `levels` says."""
    match block:
        case SaidBlock():
            return _said(block, width, level)
        case TextBlock(text=text):
            return markdown_lines(text, width)
        case ThoughtBlock():
            return _thought(block, width, level)
        case CallBlock():
            return _call(block, width, level)
        case QuestionBlock():
            return _question(block, width)
        case CompactionBlock():
            return _compaction(block, width, level)
        case _:
            return _told(block, width)


def levels(block: Block) -> int:
    """How often the block can be unfolded further: 0 for what has nothing more to show."""
    match block:
        case SaidBlock(text=text):
            return int(text.count("\n") >= _FEW)
        case ThoughtBlock(text=text):
            return int(bool(text.strip()))
        case CallBlock():
            return _call_levels(block)
        case CompactionBlock(summary=summary):
            return int(bool(summary))
        case _:
            return 0


def is_close(before: Block, block: Block) -> bool:
    """Whether no empty line stands between the two."""
    return isinstance(before, CallBlock) and isinstance(block, CallBlock)


def is_empty(block: Block) -> bool:
    """Whether nothing of it is drawn: words that nobody told us yet."""
    return isinstance(block, SaidBlock) and not block.text


def _said(block: SaidBlock, width: int, level: int) -> list[Content]:
    if not block.text:
        return []
    lines, over = _bounded(block.text.split("\n"), level, 1)
    drawn = _hanging(Content.styled("\n".join(lines), "bold"), width, "> ", "bold $text-primary")
    notes = [_more(over)] if over else []
    if block.state == "steering":
        notes.append(Content.styled("  waits for the run to take it", _MUTED))
    elif block.state == "dropped":
        notes += _hanging(Content.styled(f"not taken: {block.why}", "$text-warning"), width, "  ", "")
    return [*drawn, *notes]


def _thought(block: ThoughtBlock, width: int, level: int) -> list[Content]:
    if not block.done:
        said = "Thinking"
    elif block.started_ms is not None and block.ended_ms is not None:
        said = f"Thought for {_spoken(max(0, block.ended_ms - block.started_ms))}"
    else:
        said = "Thought"
    head = _one_line(_marker(level) + Content.styled(said, f"italic {_MUTED}"), width)
    if level == 0:
        return [head]
    return [head, *_hanging(Content.styled(block.text.strip("\n"), f"italic {_MUTED}"), width, "  ", "")]


def _call(block: CallBlock, width: int, level: int) -> list[Content]:
    glyph, style = _GLYPHS[block.state]
    ends = [text for text in (_WORDS.get(block.state, ""), _counts(block.diff), _took(block)) if text]
    head = Content.assemble(
        _marker(level), (f"{glyph} ", style), (block.name, "bold"), (f" {block.summary}" if block.summary else "", "")
    )
    tail = Content.styled("".join(f"  {end}" for end in ends), style if block.state == "failed" else _MUTED)
    lines = [_one_line(head, max(8, width - tail.cell_length)) + tail]
    if block.progress and level == 0:
        lines.append(_one_line(Content.styled(f"    {block.progress}", _MUTED), width))
    if level:
        for part in _sections(block, width - 4):
            kept, over = _bounded(part, level, 2)
            lines += [Content("    ") + line for line in kept]
            lines += [Content("  ") + _more(over)] if over else []
    return lines


def _sections(block: CallBlock, width: int) -> list[list[Content]]:
    """Arguments, diff and result. Where there is a diff, arguments would say it twice, once the call is over."""
    parts = [code_lines(block.arguments, "", width)] if block.arguments and not block.diff else []
    if block.diff:
        parts.append(diff_lines(block.diff.rstrip("\n"), width))
    if block.result and block.result.rstrip("\n") != block.diff.rstrip("\n"):
        style = "$text-error" if block.state == "failed" else _MUTED
        parts.append([line.stylize_before(style) for line in code_lines(block.result.rstrip("\n"), "", width)])
    return parts


def _call_levels(block: CallBlock) -> int:
    texts = [text for text in (block.arguments, block.diff, block.result) if text]
    if not texts:
        return 0
    return 2 if any(text.count("\n") >= _FEW or len(text) > _FEW * 60 for text in texts) else 1


def _question(block: QuestionBlock, width: int) -> list[Content]:
    outcome = block.question.outcome
    if outcome is None:
        return _hanging(Content.styled(block.title, "bold"), width, "? ", "bold $text-warning")
    glyph, style = ("✓", "$text-success") if outcome in ("yes", "answered") else ("-", _MUTED)
    told = Content.assemble(block.title, (f": {_OUTCOMES.get(outcome, outcome)}", _MUTED))
    return _hanging(told, width, f"{glyph} ", style)


def _compaction(block: CompactionBlock, width: int, level: int) -> list[Content]:
    said = {None: "Making the history shorter", "completed": "History made shorter"}.get(
        block.outcome, f"Making the history shorter: {block.outcome}"
    )
    if block.before is not None and block.after is not None:
        said += f", {block.before} to {block.after} tokens"
    if block.reason:
        said += f" ({block.reason})"
    head = _marker(level) if block.summary else Content("= ")
    lines = [_one_line(head + Content.styled(said, _MUTED), width)]
    return [*lines, *_hanging(Content.styled(block.summary, _MUTED), width, "  ", "")] if level else lines


def _told(block: Block, width: int) -> list[Content]:
    match block:
        case EndBlock(kind="failed", code=code, message=message):
            told = Content.assemble((f"Failed ({code}): " if code else "Failed: ", "bold"), message)
            return _hanging(told, width, "✗ ", "bold $text-error")
        case EndBlock(message=message):
            return _hanging(Content(f"Stopped{': ' if message else '.'}{message}"), width, "- ", _MUTED)
        case ModelBlock(model_id=model_id):
            return _hanging(Content.styled(f"The model is {model_id} from here on.", _MUTED), width, "= ", _MUTED)
        case NoteBlock(text=text):
            return _hanging(Content.styled(text, _MUTED), width, "  ", _MUTED)
        case _:
            return []


def _counts(diff: str) -> str:
    if not diff:
        return ""
    added, removed = diff_counts(diff)
    return f"+{added} -{removed}"


def _took(block: CallBlock) -> str:
    return "" if block.duration_ms is None else _spoken(block.duration_ms)


def _spoken(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    return f"{seconds:.1f}s" if seconds < 60 else f"{int(seconds) // 60}m {int(seconds) % 60:02}s"


def _marker(level: int) -> Content:
    return Content.styled("▾ " if level else "▸ ", _MUTED)


def _more(over: int) -> Content:
    return Content.styled(f"  … {over} more line{'s' if over > 1 else ''}", f"italic {_MUTED}")


def _bounded(lines: Sequence[T], level: int, whole_at: int) -> tuple[Sequence[T], int]:
    over = len(lines) - _FEW
    return (lines, 0) if level >= whole_at or over <= 0 else (lines[:_FEW], over)


def _one_line(content: Content, width: int) -> Content:
    return content.truncate(width, ellipsis=True)


def _hanging(content: Content, width: int, first: str, style: str) -> list[Content]:
    """Wrapped text behind a marker, its further lines under the first."""
    lines = content.wrap(max(8, width - len(first)))
    heads = [Content.styled(first, style), *[Content(" " * len(first))] * (len(lines) - 1)]
    return [head + line for head, line in zip(heads, lines, strict=True)]
