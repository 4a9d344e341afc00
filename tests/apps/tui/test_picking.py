"""A list of a thousand: found by a few letters, drawn as far as it is seen, and clean."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Paste

from sayso.apps.tui.pickers import Entry, Picker, PickerRows
from tests.apps.tui.seating import running, screen, until
from tests.apps.tui.view.stage import picture_of

pytestmark = pytest.mark.anyio
ENTRIES = [
    Entry(f"p{n % 24}/m-{n:04}", f"p{n % 24}/m-{n:04}", f"Model {n} [b]x[/b]\x1b[31m\u202e") for n in range(1000)
]


@pytest.mark.req("OAP-209", "OAP-222")
async def test_of_a_thousand_entries_only_what_is_seen_is_drawn(tmp_path: Path) -> None:
    """A screenful and no more; what is picked is what the letters found."""
    app = screen(tmp_path)
    picked: list[str | None] = []
    async with running(app) as pilot:
        app.push_screen(Picker("Model", ENTRIES), picked.append)
        await until(pilot, lambda: "p0/m-0000" in picture_of(app))
        await pilot.press("pagedown")
        await until(pilot, lambda: "m-0015" in picture_of(app))
        assert len(app.screen.query_one(PickerRows).render().plain.split("\n")) < 24
        await pilot.press(*"m-0777")
        await until(pilot, lambda: "› p9/m-0777" in picture_of(app))
        assert "[b]x[/b]␛[U+202E]" in picture_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: picked)
    assert picked == ["p9/m-0777"]


@pytest.mark.req("OAP-209")
async def test_what_filters_is_typed_pasted_and_taken_back(tmp_path: Path) -> None:
    """Backspace takes a letter, Ctrl-U all of them; a paste is letters too; its end is seen when it is long."""
    app = screen(tmp_path)
    async with running(app) as pilot:
        app.push_screen(Picker("Model", ENTRIES))
        await until(pilot, lambda: "type to filter" in picture_of(app))
        app.post_message(Paste("m-07\n77"))
        await until(pilot, lambda: "│ m-07 77" in picture_of(app))
        await pilot.press("backspace")
        await until(pilot, lambda: "│ m-07 7  " in picture_of(app))
        await pilot.press("ctrl+u", *"Nobody", *"x" * 90, "E")
        await until(pilot, lambda: "xE" in picture_of(app))
        assert "Nothing matches." in picture_of(app)
        await pilot.press("ctrl+u")
        await until(pilot, lambda: "› p0/m-0000" in picture_of(app))
