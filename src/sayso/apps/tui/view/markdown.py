"""Markdown as lines of a given width: CommonMark with tables, struck text and bare links; HTML is text like any other.

Lines are `Content` with theme variables for styles, so that one drawing serves a dark, a light and a sixteen-colour
theme. Nothing is hidden: a link says where it leads, a line of code too long for the screen goes on in the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from textual.content import Content, Span

from sayso.apps.tui.view.code import MOST_COLOURED, code_lines
from sayso.apps.tui.view.tables import table_lines

__all__ = ("Growing", "inline", "markdown_lines")

_MUTED = "$text 60%"
_NARROWEST = 8
_LONGEST_PARSED = 64 * 1024
_MARKS = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}
# Code that is still written is coloured up to here: it is drawn anew with each frame.
_MOST_COLOURED = 4_000
_parser = MarkdownIt("gfm-like", {"html": False})


def markdown_lines(text: str, width: int) -> list[Content]:
    """The whole of a text."""
    if len(text) > _LONGEST_PARSED:
        return _plain(text, width)
    return _drawn(_parser.parse(text), width)


class Growing:
    """A text that is still written: blocks that cannot change any more are drawn once, only the last is drawn again."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._settled = 0
        """How many characters are drawn for good."""
        self._lines: list[Content] = []

    def lines(self, text: str) -> tuple[list[Content], int]:
        """All lines, and how many of them are the same as in every later answer."""
        tail = text[self._settled :]
        rest = _plain(tail, self.width) if len(tail) > _LONGEST_PARSED else self._draw(tail)
        between = [Content("")] if self._lines and rest else []
        return [*self._lines, *between, *rest], len(self._lines)

    def _draw(self, tail: str) -> list[Content]:
        """Draws every block but the last for good; the lines of the last are returned."""
        tokens = _parser.parse(tail)
        starts = [token.map[0] for token in tokens if token.level == 0 and token.map is not None and token.nesting >= 0]
        if len(starts) < 2 or starts[-1] == 0:
            return _drawn(tokens, self.width, _MOST_COLOURED)
        kept = "".join(tail.splitlines(keepends=True)[: starts[-1]])
        settled = markdown_lines(kept, self.width)
        self._lines += [*([Content("")] if self._lines and settled else []), *settled]
        self._settled += len(kept)
        return _drawn(_parser.parse(tail[len(kept) :]), self.width, _MOST_COLOURED)


def inline(node: SyntaxTreeNode) -> Content:
    """The words of a paragraph, heading or cell."""
    words = _Words()
    words.write(node)
    return Content("".join(words.texts), words.spans)


class _Words:
    """Text with its styles, as it is put together."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: list[Span] = []
        self._length = 0

    def write(self, node: SyntaxTreeNode) -> None:
        """What stands in an inline node."""
        for child in node.children:
            match child.type:
                case "text":
                    self._add(child.content)
                case "softbreak" | "hardbreak":
                    self._add("\n")
                case "code_inline":
                    self._add(child.content, "$text-accent")
                case "image":
                    self._add(f"[picture: {child.content or 'untitled'}]")
                    self._say_where(child, "src", "")
                case _:
                    self._marked(child)

    def _marked(self, node: SyntaxTreeNode) -> None:
        start, first = self._length, len(self.texts)
        self.write(node)
        if (style := _MARKS.get(node.type)) is not None:
            self.spans.append(Span(start, self._length, style))
        if node.type == "link":
            self._say_where(node, "href", "".join(self.texts[first:]))

    def _say_where(self, node: SyntaxTreeNode, name: str, said: str) -> None:
        """Where a link leads, unless its words say so already."""
        where = str(node.attrs.get(name, ""))
        if where and where not in (said, f"mailto:{said}", f"http://{said}"):
            self._add(f" ({where})", _MUTED)

    def _add(self, text: str, style: str = "") -> None:
        if style:
            self.spans.append(Span(self._length, self._length + len(text), style))
        self.texts.append(text)
        self._length += len(text)


def _drawn(tokens: Sequence[Token], width: int, most_coloured: int = MOST_COLOURED) -> list[Content]:
    nodes = SyntaxTreeNode(tokens).children
    for node in nodes:
        if node.type == "fence" and len(node.content) > most_coloured and node.token is not None:
            node.token.info = ""
    return _blocks(nodes, max(width, _NARROWEST))


def _blocks(nodes: Sequence[SyntaxTreeNode], width: int, *, is_tight: bool = False) -> list[Content]:
    lines: list[Content] = []
    for node in nodes:
        drawn = _block(node, width)
        if drawn and lines and not is_tight:
            lines.append(Content(""))
        lines += drawn
    return lines


def _block(node: SyntaxTreeNode, width: int) -> list[Content]:
    match node.type:
        case "paragraph":
            return _wrapped(_only(node), width)
        case "heading":
            return _heading(node, width)
        case "fence" | "code_block":
            return _indented(code_lines(node.content.rstrip("\n"), node.info.strip().split(" ")[0], width - 2), "  ")
        case "blockquote":
            return _indented(_blocks(node.children, max(width - 2, _NARROWEST)), "│ ")
        case "bullet_list" | "ordered_list":
            return _list(node, width)
        case "hr":
            return [Content.styled("─" * width, _MUTED)]
        case "table":
            return _table(node, width)
        case _:
            return _plain(node.content, width) if node.content else _blocks(node.children, width)


def _heading(node: SyntaxTreeNode, width: int) -> list[Content]:
    style = "bold underline $text-primary" if node.tag in ("h1", "h2") else "bold $text-primary"
    text = _only(node)
    return _wrapped(text.stylize_before(style), width)


def _list(node: SyntaxTreeNode, width: int) -> list[Content]:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    last = first + len(node.children) - 1
    is_tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
    lines: list[Content] = []
    for number, item in enumerate(node.children, first):
        marker = f"{number:>{len(str(last))}}. " if node.type == "ordered_list" else "• "
        drawn = _blocks(item.children, max(width - len(marker), _NARROWEST), is_tight=is_tight) or [Content("")]
        if lines and not is_tight:
            lines.append(Content(""))
        lines.append(Content.styled(marker, "$text-primary") + drawn[0])
        lines += _indented(drawn[1:], " " * len(marker))
    return lines


def _table(node: SyntaxTreeNode, width: int) -> list[Content]:
    rows = [row for part in node.children for row in part.children]
    cells = [[_only(cell) for cell in row.children] for row in rows]
    ends = [at for at, cell in enumerate(rows[0].children) if "right" in str(cell.attrs.get("style", ""))]
    return table_lines(cells, width, ends)


def _only(node: SyntaxTreeNode) -> Content:
    return inline(node.children[0]) if node.children else Content("")


def _indented(lines: Sequence[Content], prefix: str) -> list[Content]:
    return [Content.styled(prefix, _MUTED) + line for line in lines]


def _plain(text: str, width: int) -> list[Content]:
    return _wrapped(Content(text.rstrip("\n")), width)


def _wrapped(content: Content, width: int) -> list[Content]:
    return content.wrap(max(width, _NARROWEST)) if content.plain else []
