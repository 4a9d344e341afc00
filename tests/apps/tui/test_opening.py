"""Which agent is opened for what was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.tui.opening import open_wanted
from sayso.apps.tui.past import list_past, take_up
from sayso.apps.tui.seat import Wanted
from sayso.apps.tui.talk import Talk
from sayso.control.hub.bindings.http import serving_hub
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerUnreachable, Refused
from tests.apps.tui.own_seat import opens
from tests.apps.tui.seating import memory_hub

pytestmark = pytest.mark.anyio


def _wanted(tmp_path: Path, **named: object) -> Wanted:
    return Wanted(home=tmp_path / "home", workspace=tmp_path, **named)  # type: ignore[arg-type]


def _talk(seat: object) -> Talk:
    return Talk(seat.client, seat.adapter, changed=lambda: None, tell=lambda _: None)  # type: ignore[attr-defined]


@pytest.mark.req("OAP-208")
async def test_without_any_configuration_our_own_loop_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No credential: the offline planner, said plainly; no keys: nothing can be signed."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    async with open_wanted(_wanted(tmp_path)) as seat:
        assert (seat.adapter, seat.house) == ("sayso", None)
        assert seat.notice is not None
        assert "no language model" in seat.notice
        assert seat.notice.endswith("From here: /login")
        talk = _talk(seat)
        await talk.open({"metadata": {"sayso": {"permission": "ask", "workspace": str(tmp_path)}}})
        assert talk.offers("session.message.delivery.queue")


@pytest.mark.req("OAP-210")
async def test_a_running_hub_is_attached_to(tmp_path: Path) -> None:
    """Its first adapter where it has no loop of ours; an adapter it has not is refused by name."""
    async with memory_hub() as hub, serving_hub(hub, SystemIds(), port=0) as address:
        async with open_wanted(_wanted(tmp_path, attach=address.url)) as seat:
            assert (seat.adapter, seat.providers, seat.conversations) == ("memory", None, None)
            talk = _talk(seat)
            await talk.open({})
            listed = await list_past(seat, SystemClock().now())
            assert [each.value for each in listed] == [talk.session_id]
            again = _talk(seat)
            await take_up(again, seat, talk.session_id, {})
            assert again.session_id == talk.session_id
        with pytest.raises(Refused, match="has no adapter named pi"):
            async with open_wanted(_wanted(tmp_path, attach=address.url, backend="pi")):
                pass


@pytest.mark.req("OAP-210")
async def test_a_hub_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    """Nothing is tried for ever before the screen knows."""
    with pytest.raises(PeerUnreachable):
        async with open_wanted(_wanted(tmp_path, attach="http://127.0.0.1:1")):
            pass


@pytest.mark.req("OAP-210")
async def test_another_backend_runs_in_this_process(tmp_path: Path) -> None:
    """And ends with the screen."""
    async with open_wanted(_wanted(tmp_path, backend="memory")) as seat:
        assert seat.adapter == "memory"
        with pytest.raises(Refused, match="keeps no conversations"):
            await list_past(seat, SystemClock().now())


async def test_a_kept_conversation_is_listed_and_told_before_it_goes_on(tmp_path: Path) -> None:
    """By its first words, newest first, and empty ones not at all; taken up, its story has what was said."""
    (tmp_path / "home").mkdir(mode=0o700)
    async with opens(_wanted(tmp_path)) as seat:
        for words in ("first words", None, "second words"):
            talk = _talk(seat)
            await talk.open({})
            if words is not None:
                admitted = await seat.client.submit(talk.session_id, words)
                async for _ in seat.client.events(talk.session_id, run_id=str(admitted.run_id), after=0):
                    pass
            await seat.client.close(talk.session_id)
        listed = await list_past(seat, SystemClock().now())
        assert [each.text for each in listed] == ["second words", "first words"]
        talk = _talk(seat)
        await take_up(talk, seat, listed[1].value, {})
        said = [getattr(block, "text", "") for block in talk.story.blocks]
        assert "first words" in said
        assert await seat.session_of("unheard-of") is None
