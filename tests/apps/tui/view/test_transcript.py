"""The transcript on a real screen: what is drawn, where it stands, and how little is drawn again."""

from __future__ import annotations

import re

import pytest
from textual.geometry import Offset

from sayso.apps.tui.view.blocks import CallBlock, TextBlock
from sayso.apps.tui.view.drawing import draw
from sayso.apps.tui.view.markdown import markdown_lines
from sayso.apps.tui.view.story import Story
from sayso.testing.tales import Tale
from tests.apps.tui.view.stage import transcript_stage

pytestmark = pytest.mark.anyio
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"


def long_story(blocks: int) -> Story:
    story = Story()
    tale = Tale(story.hear)
    for at in range(blocks // 2):
        story.said(f"question {at}", f"r{at}")
        tale.start(f"r{at}")
        tale.text(f"answer **{at}**\n\n- with\n- a list", f"r{at}")
        tale.complete("", f"r{at}")
    return story


@pytest.mark.req("OAP-209")
async def test_a_run_is_drawn_with_a_glyph_and_a_word_for_each_state() -> None:
    """Said, thought, Markdown, a call's one line; colour says nothing that is not there without it."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.story.said("Mend **it**", "r1")
        stage.tale.start()
        stage.tale.think("Where is it?")
        stage.tale.text("I *look* at `a.py`:\n\n1. here\n2. there")
        stage.tale.ask_call("Read", {"path": "a.py"}, "c1")
        stage.tale.start_call("Read", "c1")
        stage.tale.end_call("x = 1", "c1")
        stage.tale.ask_call("Shell", {"command": "make"}, "c2")
        stage.tale.fail_call("no", "c2")
        await stage.transcript.refresh_story()
        await pilot.pause()
        assert [line for line in stage.screen_lines if line] == [
            " > Mend **it**",
            " ▸ Thought for 0.1s",
            " I look at a.py:",
            " 1. here",
            " 2. there",
            " ▸ ✓ Read a.py  0.1s",
            " ▸ ✗ Shell make  failed",
        ]


@pytest.mark.req("OAP-209")
async def test_streamed_markdown_reads_like_the_whole() -> None:
    """Delta by delta the picture ends as if the text had come at once; settled blocks are not drawn again."""
    code, table = "```python\ndef f():\n    return 1\n```", "| a | b |\n|---|---|\n| 1 | 2 |"
    text = f"# Title\n\nSome words.\n\n{code}\n\n{table}\n\n- x\n- y\n\nEnd"
    stage = transcript_stage()
    async with stage.run_test(size=(80, 40)) as pilot:
        stage.tale.start()
        for delta in text:
            stage.tale.text(delta)
            stage.transcript._take()
        await pilot.pause()
        streamed = [line.strip() for line in stage.screen_lines if line.strip()]
        assert streamed == [line.plain.strip() for line in markdown_lines(text, 77) if line.plain.strip()]


@pytest.mark.req("OAP-209")
async def test_many_deltas_are_one_repaint() -> None:
    """However many deltas come within a frame, the first is drawn at once and the others together."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        stage.tale.start()
        before = stage.transcript.repaints
        for _ in range(500):
            stage.tale.text("word ")
            await stage.transcript.refresh_story()
        assert stage.transcript.repaints == before + 1
        stage.transcript._cooled()
        assert stage.transcript.repaints == before + 2
        block = stage.story.blocks[-1]
        assert isinstance(block, TextBlock)
        assert block.text == "word " * 500


async def test_only_lines_that_differ_are_sent_again() -> None:
    """A delta in the last line leaves the lines above alone."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.text("first\n\nsecond\n\nthi")
        await stage.transcript.refresh_story()
        await pilot.pause()
        sent: list[int] = []
        refresh = stage.transcript.refresh
        stage.transcript.refresh = lambda *regions, **more: (
            sent.extend(r.y for r in regions),
            refresh(*regions, **more),
        )[1]  # type: ignore[method-assign]
        stage.tale.text("rd")
        stage.transcript._take()
        assert sent == [4]


@pytest.mark.req("OAP-209")
async def test_the_end_is_followed_unless_the_person_scrolled_up() -> None:
    """What they read stays where it is while more is told; the end is followed again once they are there."""
    stage = transcript_stage(long_story(200))
    async with stage.run_test(size=(80, 24)) as pilot:
        await stage.transcript.refresh_story()
        await pilot.pause()
        assert "answer 99" in stage.picture
        stage.transcript.focus()
        await pilot.press("pageup")
        before = stage.screen_lines
        stage.tale.start("more")
        stage.tale.text("more and more", "more")
        stage.transcript._take()
        await pilot.pause()
        assert stage.screen_lines[:22] == before[:22]
        await pilot.press("end")
        assert "more and more" in stage.picture
        assert stage.transcript.is_following


@pytest.mark.req("OAP-209")
async def test_pages_join_without_a_gap() -> None:
    """Paging up through blocks never drawn before shows every line once, however wrong the guesses were."""
    stage = transcript_stage(long_story(400))
    async with stage.run_test(size=(80, 24)) as pilot:
        await stage.transcript.refresh_story()
        await pilot.pause()
        stage.transcript.focus()
        seen: list[str] = []
        for _ in range(14):
            await pilot.press("pageup")
            await pilot.pause()
            seen = [*stage.screen_lines[: len(stage.screen_lines) - (1 if seen else 0)], *seen]
        numbers = [int(found[1]) for line in seen if (found := re.search(r"question (\d+)", line))]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert len(numbers) > 30
        await pilot.press("home")
        assert "question 0" in stage.picture


@pytest.mark.req("OAP-209")
async def test_a_call_unfolds_to_its_diff_and_the_rest_of_a_long_result() -> None:
    """By key: first a part, then the whole, then folded again; by click too."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 60)) as pilot:
        stage.tale.start()
        stage.tale.ask_call("Edit", {"path": "a.py"})
        stage.tale.start_call("Edit")
        stage.tale.end_call({"text": "\n".join(f"line {n}" for n in range(30)), "diff": DIFF})
        await stage.transcript.refresh_story()
        await pilot.pause()
        assert "+1 -1" in stage.picture
        assert "+y" not in stage.picture
        stage.transcript.focus()
        await pilot.press("enter")
        assert "    +y" in stage.picture
        assert "… 10 more lines" in stage.picture
        await pilot.press("enter")
        assert "line 29" in stage.picture
        await pilot.press("enter")
        assert "line 0" not in stage.picture
        await pilot.click(stage.transcript, offset=Offset(4, 1))
        assert "    +y" in stage.picture


async def test_reasoning_is_one_line_until_it_is_unfolded() -> None:
    """The cursor keys choose what Enter unfolds."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.think("first thought")
        stage.tale.ask_call("Read", {"path": "b.py"})
        await stage.transcript.refresh_story()
        stage.transcript.focus()
        await pilot.press("up", "up", "enter")
        assert "first thought" in stage.picture
        assert "path: b.py" not in stage.picture


@pytest.mark.req("OAP-211")
async def test_markup_in_untrusted_text_is_text() -> None:
    """Neither Rich's nor Textual's markup is read, in a message, a call, a thought or a note."""
    markup = "[bold red]x[/] [@click=app.bell]y[/] [$error]z"
    stage = transcript_stage()
    async with stage.run_test(size=(140, 40)) as pilot:
        stage.story.said(markup, "r1")
        stage.story.note(markup)
        stage.tale.start()
        stage.tale.text(markup)
        stage.tale.ask_call(markup, {"path": markup})
        await stage.transcript.refresh_story()
        await pilot.pause()
        assert stage.picture.count(markup) == 5


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
@pytest.mark.parametrize("size", [(80, 24), (140, 40), (20, 6)])
async def test_every_theme_and_size_draws(theme: str, size: tuple[int, int]) -> None:
    """Wide letters, marks and long words stay in their columns, also on a screen too small for them."""
    stage = transcript_stage()
    async with stage.run_test(size=size) as pilot:
        stage.theme = theme
        stage.tale.start()
        stage.tale.text(
            "漢字 é 👍 " * 30
            + "\n\n```py\n"
            + "x" * 200
            + "\n```\n\n| 漢 | b | c | d | e |\n|-|-|-|-|-|\n| 1 | 2 | 3 | 4 | 5 |"
        )
        stage.tale.ask_call("Edit", {"path": "漢" * 100, "text": "y" * 300})
        await stage.transcript.refresh_story()
        stage.transcript.unfold(len(stage.story.blocks) - 1)
        await pilot.pause()
        assert all(strip.cell_length == size[0] for strip in stage.screen._compositor.render_strips())
        assert "漢" in stage.picture


async def test_a_new_width_keeps_what_is_read() -> None:
    """After a resize the same block stands at the top."""
    stage = transcript_stage(long_story(200))
    async with stage.run_test(size=(80, 24)) as pilot:
        await stage.transcript.refresh_story()
        stage.transcript.focus()
        await pilot.press("pageup", "pageup")
        top = next(line for line in stage.screen_lines if "question" in line)
        await pilot.resize_terminal(60, 24)
        await pilot.pause()
        assert top in stage.screen_lines


async def test_what_is_selected_is_what_is_copied() -> None:
    """Over several blocks, without the blanks that fill lines up."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.story.said("one two")
        stage.story.said("three")
        await stage.transcript.refresh_story()
        await pilot.pause()
        await pilot.mouse_down(stage.transcript, offset=Offset(7, 0))
        await pilot.hover(stage.transcript, offset=Offset(6, 2))
        await pilot.mouse_up(stage.transcript, offset=Offset(6, 2))
        assert stage.screen.get_selected_text() == "two\n\n> thre"


@pytest.mark.req("OAP-209")
async def test_a_key_in_a_long_session_draws_no_block_out_of_sight() -> None:
    """Ten thousand blocks cost no more than those on the screen and a page beside it."""
    stage = transcript_stage(long_story(10_000))
    async with stage.run_test(size=(80, 24)) as pilot:
        await stage.transcript.refresh_story()
        await pilot.pause()
        strips = stage.transcript._strips
        assert strips is not None
        assert len(strips._drawn) < 60
        before = len(strips._drawn)
        stage.transcript.focus()
        await pilot.press("pageup")
        assert len(strips._drawn) < before + 30


@pytest.mark.req("OAP-211")
@pytest.mark.parametrize("result", ["line of a log\n" * 80_000, "x" * 100_000, "\u202e\x1b[31m界" * 200_000])
async def test_a_huge_result_is_kept_and_drawn_up_to_a_bound(result: str) -> None:
    """It says how much it leaves out; unfolded to its most, every line of it fits."""
    stage = transcript_stage()
    async with stage.run_test(size=(80, 24)) as pilot:
        stage.tale.start()
        stage.tale.ask_call("Shell", {"command": "cat"})
        stage.tale.end_call({"output": result})
        await stage.transcript.refresh_story()
        block = stage.story.blocks[-1]
        assert isinstance(block, CallBlock)
        assert f"{len(result) - 64 * 1024} more characters" in block.result
        stage.transcript.unfold(block.index)
        stage.transcript.unfold(block.index)
        await pilot.pause()
        assert "more characters" in "\n".join(line.plain for line in draw(block, 77, 2))
        assert max(line.cell_length for line in draw(block, 77, 2)) <= 77
        assert "Shell cat" in stage.picture


def test_a_call_block_knows_how_far_it_unfolds() -> None:
    """Nothing to show, all of it at once, or a part first."""
    from sayso.apps.tui.view.drawing import levels  # noqa: PLC0415

    call = CallBlock(index=0, call_id="c", name="x")
    assert levels(call) == 0
    call.arguments = "a: 1"
    assert levels(call) == 1
    call.result = "x\n" * 30
    assert levels(call) == 2
