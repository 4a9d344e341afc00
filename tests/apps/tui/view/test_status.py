"""The status line: what stands there, and what gives way when there is little room."""

from __future__ import annotations

import pytest
from textual.widget import Widget

from sayso.apps.tui.view.status import StatusLine, status_parts
from sayso.apps.tui.view.story import Story
from sayso.control.protocol.payloads.content import Usage
from sayso.testing.tales import Tale
from tests.apps.tui.view.stage import Stage

pytestmark = pytest.mark.anyio


def busy() -> Story:
    story = Story()
    tale = Tale(story.hear)
    tale.start("r0", model="openai/gpt-5")
    tale.complete("x", "r0", usage=Usage(input_tokens=9_000, output_tokens=1_000))
    story.said("go", "r1")
    tale.start("r1")
    story.said("next", "r2")
    return story


def line(story: Story, width: int = 120, **more: object) -> str:
    settled = {"now_ms": 75_300, "permission": "ask", "is_sandboxed": False, "context_window": 40_000, **more}
    return " · ".join(text for text, _ in status_parts(story, width=width, **settled))  # type: ignore[arg-type]


@pytest.mark.req("OAP-209")
def test_the_line_says_how_things_stand() -> None:
    """Model, sandbox, the run with its seconds, the queue, the mode, tokens and the share of the context."""
    assert line(busy()) == "openai/gpt-5 · not sandboxed · working 1m 15s · 1 queued · ask · 10.0k tokens · context 25%"


def test_a_session_at_rest_says_so() -> None:
    """And what is unknown is left out, never zero."""
    assert line(Story(), is_sandboxed=True) == "no model · idle · ask"
    assert line(Story(), is_sandboxed=True, notice="starting") == "no model · starting · ask"


@pytest.mark.req("OAP-209")
@pytest.mark.parametrize("width", [80, 60, 40, 20])
def test_what_is_dangerous_stays_however_narrow(width: int) -> None:
    """That nobody is asked and nothing is sandboxed gives way to nothing."""
    told = line(busy(), width, permission="bypass")
    assert "bypass: nobody is asked" in told
    assert "not sandboxed" in told


def test_a_question_is_named_before_anything_else_of_the_run() -> None:
    """Whatever the run says of itself, it waits for the person."""
    story = Story()
    tale = Tale(story.hear)
    tale.start()
    tale.ask("May it?", "x")
    assert "waiting for you" in line(story)


@pytest.mark.req("OAP-211")
def test_a_models_name_is_clean() -> None:
    """It came from somewhere else."""
    story = Story()
    Tale(story.hear).start(model="evil\x1b]0;x\x07/[bold]m")
    assert line(story).startswith("evil␛/[bold]m · ")


@pytest.mark.parametrize("width", [80, 140])
async def test_it_fits_its_line(width: int) -> None:
    """One line at both sizes, and the seconds go on with the clock."""
    now = [10_000]

    def build(story: Story) -> list[Widget]:
        return [StatusLine(story, now_ms=lambda: now[0], is_sandboxed=False, context_window=1000)]

    stage = Stage(build)
    async with stage.run_test(size=(width, 24)) as pilot:
        stage.tale.start(model="openrouter/some/very-long-model-name-indeed-2026-10-13-preview")
        status = stage.query_one(StatusLine)
        await status.refresh_story()
        await pilot.pause()
        assert "not sandboxed · working 9s" in stage.screen_lines[0]
        assert stage.screen_lines[1] == ""
        now[0] = 11_000
        await status.refresh_story()
        await pilot.pause()
        assert "working 10s" in stage.screen_lines[0]
