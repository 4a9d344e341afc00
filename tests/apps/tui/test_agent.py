"""The screen over our own loop, its workspace's tools and a model on loopback, and over hubs that run elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sayso.apps.tui.app import SaysoApp
from sayso.apps.tui.composer import Composer
from sayso.apps.tui.opening import open_wanted
from sayso.apps.tui.view.blocks import QuestionBlock
from sayso.testing.vendor_servers.scripts import SCRIPTS
from sayso.testing.vendor_servers.serving import Served, serve_model
from tests.apps.cli.test_serve import hub
from tests.apps.tui.seating import enter, running, screen, told, until
from tests.apps.tui.view.stage import picture_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    async with serve_model("chat", SCRIPTS["write_turn"]) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        yield served


def _screen(tmp_path: Path, model: Served, **named: object) -> SaysoApp:
    (tmp_path / "work").mkdir(exist_ok=True)
    return screen(tmp_path, open_wanted, workspace=tmp_path / "work", model=model.model_ref, **named)  # type: ignore[arg-type]


@pytest.mark.req("OAP-209", "OAP-211")
async def test_permissions_bypass_asks_for_nothing_and_says_so(tmp_path: Path, model: Served) -> None:
    """`/permissions` begins a conversation anew, in which the tools of the workspace act; and back."""
    app = _screen(tmp_path, model)
    async with running(app) as pilot:
        first = app.talk
        await enter(pilot, "/permissions bypass")
        await until(pilot, lambda: app.talk not in (None, first))
        await until(pilot, lambda: "bypass: nobody is asked" in picture_of(app))
        await enter(pilot, "Write a note")
        await until(pilot, lambda: app.talk and app.talk.has_spoken and app.talk.running is None)
        assert app._story is not None
        assert not [each for each in app._story.blocks if isinstance(each, QuestionBlock)]
        assert (tmp_path / "work" / "notes.txt").exists()
        await enter(pilot, "/permissions ask")
        await until(pilot, lambda: app.talk and not app.talk.has_spoken)
        await until(pilot, lambda: "bypass" not in picture_of(app))
        await enter(pilot, "/permissions never")
        await until(pilot, lambda: "never is no permission mode" in told(app))


@pytest.mark.req("OAP-209")
async def test_a_no_is_told_as_a_no(tmp_path: Path, model: Served) -> None:
    """Nothing is written, and what was typed on goes into the composer."""
    app = _screen(tmp_path, model)
    async with running(app) as pilot:
        await enter(pilot, "Write a note")
        await until(pilot, lambda: app._story and app._story.question)
        await pilot.pause()
        await pilot.press(*"nothing")
        await until(pilot, lambda: app.talk and app.talk.running is None)
        await until(pilot, lambda: "Create notes.txt: you said no" in picture_of(app))
        assert app.query_one(Composer).text == "othing"
    assert not (tmp_path / "work" / "notes.txt").exists()


@pytest.mark.req("OAP-210")
async def test_a_hub_in_another_process_is_attached_to(tmp_path: Path) -> None:
    """A turn with a permission over HTTP; leaving the screen leaves the session, and it is taken up again by its id."""
    home = tmp_path / "hub"
    home.mkdir(mode=0o700)
    with hub("serve", home=home) as (_, url):
        app = screen(tmp_path, open_wanted, attach=url)
        async with running(app) as pilot:
            await enter(pilot, "script: tools over the wire")
            await until(pilot, lambda: app._story and app._story.question)
            await pilot.pause()
            await pilot.press("y")
            await until(pilot, lambda: "Done: script: tools over the wire" in told(app))
            await enter(pilot, "/permissions bypass")
            await until(pilot, lambda: "the hub you are attached to decides this" in told(app))
            assert app.talk is not None
            session = app.talk.session_id
            app.action_leave()
            await until(pilot, lambda: app.farewell)
        assert f"--attach {url} --resume {session}" in app.farewell
        again = screen(tmp_path, open_wanted, attach=url, resume=session)
        async with running(again) as pilot:
            await until(pilot, lambda: "Done: script: tools over the wire" in told(again))
