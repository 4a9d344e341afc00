"""Takes the pictures of docs/tui.md: `python -m docs.screenshots_tui`, of a real conversation over a model on loopback.

The application, the loop, the hub, the workspace's tools and the provider's wire are the real ones; what the model says
is a script. Pictures are SVG, drawn by Textual, without the fonts that it would have a browser fetch.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.pilot import Pilot

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.composer import Composer
from sayso.apps.tui.opening import open_wanted
from sayso.apps.tui.seat import Wanted
from sayso.apps.tui.view.questions import QuestionPanel
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers.serving import serve_model
from sayso.testing.vendor_servers.turns import Said

IMAGES = Path(__file__).parent / "images"
SIZES = ((80, 24), (140, 40))
THEMES = {"dark": "textual-dark", "light": "textual-light"}
_LOOKS = 2000
_CART = "def total(items):\n    return sum(item.price for item in items)\n"
_FOUND = """The test is right: `total` forgets how many of each there are.

| item | price | quantity | total |
|------|------:|---------:|------:|
| tyre |    90 |        4 |   360 |
| oil  |    35 |        1 |    35 |
"""
_DONE = """`total` multiplies by the quantity now. **What is left:**

1. say so in the changelog
2. run the tests
"""
_NEWS = "## Unreleased\n- The total counts every piece, not every kind.\n"


def script(request: InferenceCreateRequest) -> Said:
    """Mends a file, says so, and writes a changelog."""
    if all(message.role != "tool" for message in request.messages):
        return Said([Think("The quantity is missing."), Say(_FOUND), Call("Edit", _edit(), "call_1")])
    news = {"path": "CHANGELOG.md", "content": _NEWS}
    return Said([Think("Now the changelog."), Say(_DONE), Call("Write", news, "call_2")])


def _edit() -> dict[str, object]:
    old, new = "item.price for item", "item.price * item.quantity for item"
    return {"path": "cart.py", "old_text": old, "new_text": new}


async def main(folder: Path = IMAGES, sizes: Sequence[tuple[int, int]] = SIZES) -> list[Path]:
    """Every size, in the dark and in the light."""
    taken = []
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    async with serve_model("messages", script) as served:
        os.environ.update(served.environ)
        for width, height in sizes:
            for look, theme in THEMES.items():
                path = folder / f"tui-{width}x{height}-{look}.svg"
                path.write_text(await take((width, height), theme, served.model_ref), encoding="utf-8")
                taken.append(path)
    return taken


async def take(size: tuple[int, int], theme: str, model: str) -> str:
    """One picture, of a conversation in a home and a workspace of its own."""
    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place) / "shop"
        workspace.mkdir()
        (workspace / "cart.py").write_text(_CART, encoding="utf-8")
        wanted = Wanted(home=Path(place) / "home", workspace=workspace, model=model)
        app = SaysoApp(wanted, open_wanted, theme=theme, grace=0)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.talk is not None)
            await say(pilot, "The test of the cart fails. Mend it.")
            await until(pilot, lambda: panel(app).question is not None)
            await pilot.press("y")
            await until(pilot, lambda: "CHANGELOG.md" in title(app))
            await app.say("Then run the tests")
            await until(pilot, lambda: bool(app.talk and app.talk.queue))
            await pilot.pause(0.2)
            drawn = app.export_screenshot(title="sayso")
            await pilot.press("escape")
        return without_fonts(drawn)


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Waits until something holds; a conversation that goes another way takes no picture."""
    for _ in range(_LOOKS):
        if holds():
            return
        await pilot.pause(0.01)
    raise AssertionError(pilot.app.export_screenshot())


async def say(pilot: Pilot[None], text: str) -> None:
    """Types and sends."""
    pilot.app.query_one(Composer).put(text)
    await pilot.press("enter")


def panel(app: SaysoApp) -> QuestionPanel:
    """Where questions are put."""
    return app.query_one(QuestionPanel)


def title(app: SaysoApp) -> str:
    """What is asked now."""
    question = panel(app).question
    return "" if question is None else str(question.asked.payload.title)


def without_fonts(drawn: str) -> str:
    """The picture as any viewer shows it, which fetches nothing."""
    drawn = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    return drawn.replace("font-family: Fira Code, monospace", "font-family: monospace")


if __name__ == "__main__":
    for each in asyncio.run(main()):
        print(each.name)
