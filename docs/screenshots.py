"""Takes the pictures of docs/console.md: `python -m docs.screenshots`, on a house made for the occasion.

It needs chromium, and Pillow, which comes with the extra `bench`; the house is what the tests of the console are made
of: a garage on loopback, agents, questions.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from PIL import Image

from tests.apps.console.chromium import PHONE, Window, window
from tests.apps.console.desks import BOOK, add, open_desk, propose

IMAGES = Path(__file__).parent / "images"
WIDE = {"width": 960, "height": 700}


async def main() -> None:
    """Every picture, in light; one of them in the dark and on a phone too."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir(mode=0o700)
        async with open_desk(home) as desk:
            await add(desk)
            helper = await desk.agents.issue("research helper", by="console:ada")
            shop = await desk.agents.issue("shop assistant", by="console:ada", scopes=frozenset({"mcp", "propose"}))
            await desk.agents.suspend(shop.agent.id, by="console:ada", reason="it asked for the same thing all night")
            await propose(desk, text="Winter tyres are in the shed", agent=helper.agent.id)
            asked = await propose(desk, BOOK, "Synthetic oil change on Thursday, around one", agent=helper.agent.id)
            await desk.knowledge.open()
            await desk.knowledge.ingest(
                title="The blue car",
                text="The brake pads of the blue car were changed in May. I am worried that the oil will not last.",
                by="console:ada",
                domain_keys=("travel.driving",) if desk.knowledge.domains.get("travel.driving") else (),
            )
            pages = {
                "overview": "/",
                "gate": f"/gate/{asked.id}",
                "agents": "/agents",
                "receipts": "/receipts",
                "memory": "/memory?q=brake+pads",
            }
            async with window(desk, viewport=WIDE) as seen:
                for name, path in pages.items():
                    await take(seen, path, name)
            async with window(desk, viewport=WIDE, color_scheme="dark") as seen:
                await take(seen, f"/gate/{asked.id}", "gate-dark")
            async with window(desk, viewport=PHONE, is_mobile=True) as seen:
                await take(seen, f"/gate/{asked.id}", "gate-phone")


async def take(seen: Window, address: str, name: str) -> None:
    """One picture of a page."""
    await seen.go(address)
    path = IMAGES / f"console-{name}.png"
    await seen.page.screenshot(path=path, full_page=name.startswith("gate") and name != "gate-phone")
    # Pages have few colours: a palette makes a picture a quarter of its size.
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    asyncio.run(main())
