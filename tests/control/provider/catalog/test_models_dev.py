"""models.dev behind a loopback server: asked once a day, never to read, and never worth losing what is there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.control.provider.catalog.limits import DevFacts
from sayso.control.provider.catalog.models_dev import CACHE_FOLDER, ModelsDev, read_models_dev
from sayso.control.provider.catalog.rows import Catalog, Row
from sayso.core.clock import ManualClock
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
CATALOG = Catalog(providers=(Row(id="toy", models_dev="toy"),), models_dev_url="https://models.example/api.json")
MODEL = {"limit": {"context": 1000, "output": 100}, "status": "deprecated", "cost": {"input": 0.5}}


def document(context: int = 1000) -> bytes:
    toy = {"models": {"m": {**MODEL, "limit": {"context": context, "output": 100}}}}
    return json.dumps({"toy": toy, "other": {"models": {"m": MODEL}}}).encode()


class Site:
    """What models.dev answers, and how often it was asked."""

    def __init__(self) -> None:
        self.answer: Callable[[], Response] = lambda: Response(document(), media_type="application/json")
        self.asked = 0

    async def get(self, _: Request) -> Response:
        self.asked += 1
        return self.answer()


@asynccontextmanager
async def published() -> AsyncIterator[tuple[Site, Fetcher]]:
    site = Site()
    async with (
        serving(Starlette(routes=[Route("/api.json", site.get)])) as address,
        Fetcher({"models.example": f"127.0.0.1:{address.port}"}) as fetcher,
    ):
        yield site, fetcher


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_copy_is_kept_for_a_day_and_read_by_the_next_process(tmp_path: Path) -> None:
    """Only what the catalog points at is kept; after 24 hours it is asked for again."""
    clock = ManualClock(START)
    async with published() as (site, fetcher):
        first = ModelsDev(tmp_path, CATALOG, clock=clock)
        assert first.known("toy", "m") is None
        assert await first.refresh(fetcher)
        wanted = DevFacts(context_window=1000, max_tokens=100, is_deprecated=True)
        second = ModelsDev(tmp_path, CATALOG, clock=clock)
        assert (second.known("toy", "m"), second.known("other", "m"), second.known(None, "m")) == (wanted, None, None)
        clock.advance(timedelta(hours=24) - timedelta(seconds=1))
        assert not await second.refresh(fetcher)
        assert site.asked == 1
        clock.advance(timedelta(seconds=1))
        assert await second.refresh(fetcher)
        assert site.asked == 2


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
@pytest.mark.parametrize(
    "answer",
    [
        lambda: Response(b"gone", status_code=500),
        lambda: Response(b"{", media_type="application/json"),
        lambda: Response(b"[]", media_type="application/json"),
        lambda: Response(b"{}", media_type="application/json"),
        lambda: Response(document(), media_type="text/html"),
        lambda: Response(b"", status_code=302, headers={"location": "https://elsewhere.example/"}),
    ],
)
async def test_whatever_goes_wrong_a_stale_copy_stays(tmp_path: Path, answer: Callable[[], Response]) -> None:
    """Two days old is better than nothing, for this process and the next."""
    clock = ManualClock(START)
    async with published() as (site, fetcher):
        dev = ModelsDev(tmp_path, CATALOG, clock=clock)
        await dev.refresh(fetcher)
        clock.advance(timedelta(days=2))
        site.answer = answer
        assert not await dev.refresh(fetcher)
    assert site.asked == 2
    async with Fetcher({"models.example": "127.0.0.1:9"}) as nobody:
        assert not await dev.refresh(nobody)
    for each in (dev, ModelsDev(tmp_path, CATALOG, clock=clock)):
        assert each.known("toy", "m") is not None


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_reading_never_asks_anybody(tmp_path: Path) -> None:
    """With nothing kept it is nothing, at once: whoever starts a run waits for no network."""
    async with published() as (site, fetcher):
        dev = ModelsDev(tmp_path, CATALOG, clock=ManualClock(START))
        assert dev.known("toy", "m") is None
        assert not dev.is_fresh()
        assert site.asked == 0
        await dev.refresh(fetcher)
    assert dev.known("toy", "m") is not None


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
@pytest.mark.parametrize("bytes_", [b"", b"\xff", b'{"v": 2, "fetched_at": 0, "models": {}}', b'{"v": 1}'])
async def test_a_damaged_copy_is_none_and_is_replaced(tmp_path: Path, bytes_: bytes) -> None:
    """It is a cache, and nobody is told of it."""
    place = tmp_path / CACHE_FOLDER / "models_dev.json"
    place.parent.mkdir()
    place.write_bytes(bytes_)
    dev = ModelsDev(tmp_path, CATALOG, clock=ManualClock(START))
    assert dev.known("toy", "m") is None
    async with published() as (_, fetcher):
        assert await dev.refresh(fetcher)
    assert dev.known("toy", "m") is not None


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_copy_from_the_future_is_not_fresh(tmp_path: Path) -> None:
    """A clock that was turned back would otherwise keep it for years."""
    async with published() as (site, fetcher):
        await ModelsDev(tmp_path, CATALOG, clock=ManualClock(START + timedelta(days=400))).refresh(fetcher)
        assert await ModelsDev(tmp_path, CATALOG, clock=ManualClock(START)).refresh(fetcher)
    assert site.asked == 2


@pytest.mark.req("OAP-147")
def test_one_odd_model_costs_only_itself() -> None:
    """A count that is none is unknown; 0 is how models.dev writes that there is none."""
    models = {
        "good": MODEL,
        "none": {"limit": {"context": 0, "output": 1.5}},
        "odd": {"limit": [], "status": 3},
        "text": "x",
        "true": {"limit": {"context": True, "output": -1}},
        "far": {"provider": {"npm": "@ai-sdk/anthropic", "api": "https://elsewhere.example"}},
        "farther": {"provider": {"npm": ["@ai-sdk/nobody"]}},
    }
    found = read_models_dev(json.dumps({"toy": {"models": models}, "bad": []}).encode(), ["toy", "bad", "absent"])
    unknown = DevFacts()
    assert found == {
        "toy": {
            "good": DevFacts(context_window=1000, max_tokens=100, is_deprecated=True),
            "none": unknown,
            "odd": unknown,
            "true": unknown,
            "far": DevFacts(wire="anthropic-messages"),
            "farther": unknown,
        }
    }
