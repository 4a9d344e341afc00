"""The made-up session fits the sizes and themes that the documents show."""

from __future__ import annotations

import pytest

from sayso.apps.tui.view.gallery import KINDS, SIZES, Gallery
from tests.apps.tui.view.stage import picture_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
async def test_every_picture_shows_what_it_is_for(kind: str, size: tuple[int, int]) -> None:
    """The end of the run, the question where there is one, the status below."""
    asks = {"rest": "make test", "permission": "make lint", "signature": "$100.00", "choice": "1. Mend the total"}
    app = Gallery(kind)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        shown = picture_of(app)
        assert asks[kind] in shown
        assert "make test  failed" in shown
        assert "not sandboxed" in shown.splitlines()[-1]
