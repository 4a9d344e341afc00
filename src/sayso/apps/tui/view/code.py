"""Code and diffs as lines: coloured by theme variables, cut nowhere, told apart without colour too."""

from __future__ import annotations

from pygments.token import Token  # type: ignore[import-untyped]
from rich.cells import split_graphemes
from textual.content import Content
from textual.highlight import HighlightTheme, highlight

__all__ = ("MOST_COLOURED", "code_lines", "diff_lines", "diff_styled")

MOST_COLOURED = 20_000
_NARROWEST = 8


class _Colours(HighlightTheme):
    """Few colours, each a theme variable that every theme has."""

    STYLES: dict[tuple[str, ...], str] = {  # noqa: RUF012 - declared so by the class it fills in
        Token.Comment: "italic $text 60%",
        Token.Keyword: "bold $text-accent",
        Token.Literal.Number: "$text-warning",
        Token.Literal.String: "$text-success",
        Token.Name.Class: "bold",
        Token.Name.Decorator: "$text-primary",
        Token.Name.Function: "bold",
        Token.Name.Tag: "bold $text-primary",
        Token.Operator.Word: "bold $text-accent",
    }


def code_lines(code: str, language: str, width: int) -> list[Content]:
    """Code with its colours, where the language is known and the code no book."""
    if not language or len(code) > MOST_COLOURED:
        return _folded(Content(code), width)
    return _folded(highlight(code, language=language, theme=_Colours, tab_size=4), width)


def diff_lines(diff: str, width: int) -> list[Content]:
    """A unified diff; its first characters say what its colours say."""
    return [part for line in diff.split("\n") for part in _folded(Content.styled(line, _diff_style(line)), width)]


def diff_styled(diff: str) -> Content:
    """A unified diff in one piece, for who wraps it themselves."""
    return Content("\n").join(Content.styled(line, _diff_style(line)) for line in diff.split("\n"))


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}.get(line[:1], "")


def _folded(content: Content, width: int) -> list[Content]:
    """Lines as they are; one that is too long goes on below, cut at the last cell and not at a word."""
    lines = content.split("\n", allow_blank=True) if content.plain else [Content("")]
    return [part for line in lines for part in _cut(line.expand_tabs(4), max(width, _NARROWEST))]


def _cut(line: Content, width: int) -> list[Content]:
    # Content.fold counts letters where it should count cells, and loses what comes behind combining marks.
    if line.cell_length <= width:
        return [line]
    cuts, filled = [], 0
    for start, _, cells in split_graphemes(line.plain)[0]:
        if filled + cells > width:
            cuts.append(start)
            filled = 0
        filled += cells
    return line.divide(cuts)
