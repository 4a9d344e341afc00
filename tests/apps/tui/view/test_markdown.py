"""Markdown as lines: nothing hidden, nothing wider than its screen, and the same whether it streams or comes whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.tui.view.clean import clean
from sayso.apps.tui.view.code import code_lines
from sayso.apps.tui.view.markdown import Growing, markdown_lines

BLOCKS = st.sampled_from([
    "# Head\n\n", "words **bold** `code`\n", "\n", "- item\n", "  - nested\n", "1. one\n", "> quote\n", "```py\n",
    "x = 1\n", "```\n", "| a | b |\n|---|---|\n", "| 1 | 漢字 |\n", "---\n", "<b>html</b>\n", "a\\\nb", "    code\n",
    "[x](https://y.example)\n",
])  # fmt: skip
LETTERS = st.text(st.sampled_from("ab \u0301漢👍é\u0e33") | st.characters(), max_size=200)


def plain(text: str, width: int = 60) -> list[str]:
    return [line.plain for line in markdown_lines(text, width)]


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("[your bank](https://evil.example)", ["your bank (https://evil.example)"]),
        ("https://same.example", ["https://same.example"]),
        ("![a cat](https://pixel.example)", ["[picture: a cat] (https://pixel.example)"]),
        ("<script>x</script>\n<!-- hidden -->", ["<script>x</script>", "<!-- hidden -->"]),
        ("[bold red]not markup[/]", ["[bold red]not markup[/]"]),
    ],
)
def test_nothing_is_hidden(text: str, lines: list[str]) -> None:
    """A link says where it leads, HTML and comments are text, and markup of ours is none."""
    assert plain(text) == lines


def test_blocks_read_as_they_should() -> None:
    """Lists tight and loose, quotes, rules, code with its indent."""
    text = "# T\n\n- a\n- b\n  1. c\n\n> q\n\n```\n  x\n```\n\n---"
    assert plain(text, 10) == ["T", "", "• a", "• b", "  1. c", "", "│ q", "", "    x", "", "─" * 10]


def test_a_column_of_numbers_is_even_at_its_right() -> None:
    """As its rule says."""
    drawn = [line.plain for line in markdown_lines("|a|price|\n|-|-:|\n|x|5|\n|longer|360|", 40)]
    assert drawn == ["a      │ price", "───────┼──────", "x      │     5", "longer │   360"]


def test_a_table_fits_or_becomes_a_list() -> None:
    """Columns give way, the widest first; where there is no room at all, a line a cell."""
    table = "| name | what |\n|---|---|\n| tea | a long description of it |"
    assert [line.rstrip() for line in plain(table, 20)] == [
        "name │ what",
        "─────┼──────────────",
        "tea  │ a long",
        "     │ description",
        "     │ of it",
    ]
    assert plain(table, 9) == ["name: tea", "what: a", "long", "descripti", "on of it", "─" * 9]


@given(st.lists(BLOCKS, max_size=12).map("".join), st.integers(1, 5), st.sampled_from([20, 61]))
def test_a_growing_text_ends_like_the_whole(text: str, step: int, width: int) -> None:
    """Lines once called certain never change, and none is wider than the screen."""
    growing, certain_lines = Growing(width), []
    for end in range(0, len(text) + step, step):
        lines, certain = growing.lines(text[:end])
        drawn = [line.plain for line in lines]
        assert drawn[: len(certain_lines)] == certain_lines
        assert all(line.cell_length <= width for line in lines)
        certain_lines = drawn[:certain]


@given(LETTERS, st.integers(8, 80))
def test_any_text_is_drawn_within_its_width(text: str, width: int) -> None:
    """Whatever a model writes: no failure, no line too long."""
    assert all(line.cell_length <= width for line in markdown_lines(text, width))


@pytest.mark.req("OAP-211")
@given(LETTERS.map(clean), st.integers(8, 40))
def test_code_loses_no_letter(code: str, width: int) -> None:
    """Marks, wide letters and those without width included; only tabs and line ends may look different."""
    lines = code_lines(code, "", width)
    assert "".join("".join(line.plain for line in lines).split()) == "".join(code.split())
    assert all(line.cell_length <= width for line in lines)
