"""The pictures of docs/tui.md: of the real program, small, and complete by themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.screenshots_tui import SIZES, THEMES, main

pytestmark = pytest.mark.anyio
DOCS = Path(__file__).resolve().parents[3] / "docs"
NAMES = [f"tui-{width}x{height}-{look}.svg" for width, height in SIZES for look in THEMES]
MOST = 200 * 1024


def words(drawn: str) -> str:
    """The texts of a picture."""
    return " ".join(re.sub(r"<[^>]+>", " ", drawn).replace("&#160;", " ").split())


@pytest.mark.req("OAP-209", "OAP-211")
async def test_the_pictures_are_of_this_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken anew, each tells what the one in the documentation tells: the change, the question, what waits."""
    for name in ("PYTHON_KEYRING_BACKEND", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "")
    taken = await main(tmp_path, SIZES[:1])
    assert [path.name for path in taken] == NAMES[: len(THEMES)]
    for path in taken:
        said = words(path.read_text())
        for part in ("Change cart.py", "Thought for", "Create CHANGELOG.md", "y allows it", "1 waiting", "1 queued"):
            assert part in said
            assert part in words((DOCS / "images" / path.name).read_text())


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_fetches_nothing_and_names_no_machine(name: str) -> None:
    """A viewer needs no network for it; it is in the documentation, and no larger than it has to be."""
    drawn = (DOCS / "images" / name).read_text()
    assert len(drawn) < MOST
    assert "@font-face" not in drawn
    assert set(re.findall(r"https?://[^\s\"<)]+", drawn)) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}
    assert not re.search(r"/(tmp|root|home|work|Users)/", drawn)
    assert f"images/{name}" in (DOCS / "tui.md").read_text()
