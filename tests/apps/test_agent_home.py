"""What an agent is opened with: its model, its tools, and what is written down of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.home import Home, open_home
from sayso.apps.keys import log_name, make_keys
from sayso.apps.models import MODEL_VARIABLE, OFFLINE_NOTICE
from sayso.control.provider.planner.provider import MODEL
from sayso.core.refusal import PeerRefused, Refused
from sayso.ledger.ledger import Ledger
from sayso.store.open import open_store
from sayso.store.vault import Vault

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", MODEL_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return open_home(tmp_path / "home", is_world=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


async def kinds(home: Home) -> list[str]:
    vault = Vault(home.path, home.clock)
    with open_store(home.database, home.clock) as store:
        return [record.kind for record in await Ledger(store, log_name(vault), home.clock).records()]


@pytest.mark.req("OAP-157")
async def test_a_standing_yes_is_in_the_log_of_its_person(home: Home, folder: Path) -> None:
    """One receipt for each session that opens with bypass, none for one that asks."""
    make_keys(Vault(home.path, home.clock), None)
    async with open_agent(home, AgentWishes(permission="bypass", workspace=folder)) as agent:
        await agent.start(metadata={"sayso": {"permission": "ask"}})
        assert "agent.bypassed" not in await kinds(home)
        await agent.start()
    assert (await kinds(home)).count("agent.bypassed") == 1


async def test_an_agent_needs_no_keys(home: Home, folder: Path) -> None:
    """Without keys there is no log to write to; the agent works, with its file tools and no booking."""
    async with open_agent(home, AgentWishes(permission="bypass", workspace=folder)) as agent:
        session = await agent.start()
        tools = {tool.name for tool in (await session.tools()).tools}
    assert {"Read", "Write", "Edit", "Shell", "Glob", "Grep"} <= tools
    assert "hold_slot" not in tools
    assert not (home.path / "sayso.db").exists()


@pytest.mark.req("OAP-156")
async def test_no_tool_works_in_a_home_of_ours(home: Home) -> None:
    """Keys, receipts and credentials lie there."""
    async with open_agent(home, AgentWishes(workspace=home.path)) as agent:
        with pytest.raises(PeerRefused) as refused:
            await agent.start()
    assert refused.value.refusal.code == "open_failed"


@pytest.mark.req("OAP-212")
async def test_which_model_is_meant(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is named, else the environment's, else the settings', else the first with a credential; with none
    the offline planner, which is said.
    """

    async def chosen(model: str | None = None, *, is_offline: bool = False) -> tuple[str, str | None]:
        place = open_home(home.path, is_world=False)
        async with open_agent(place, AgentWishes(model=model, is_offline=is_offline)) as agent:
            return agent.model_ref, agent.notice

    assert await chosen() == (MODEL, OFFLINE_NOTICE)
    (home.path / "providers.json").write_text(
        '{"providers": {"mine": {"base_url": "http://127.0.0.1:9", "models": [{"id": "m"}]}}}'
    )
    monkeypatch.setenv("DEEPSEEK_API_KEY", "fixture-key-0123456789")
    (home.path / "settings.toml").write_text('model = "mine/m"\n')
    assert await chosen() == ("mine/m", None)
    monkeypatch.setenv(MODEL_VARIABLE, "mine/other")
    assert await chosen() == ("mine/other", None)
    assert await chosen("mine/third") == ("mine/third", None)
    assert (await chosen(is_offline=True))[0] == MODEL
    assert (await chosen("mine/third", is_offline=True))[0] == "mine/third"


@pytest.mark.req("OAP-164")
async def test_a_conversation_is_gone_on_with_by_either_name(home: Home, folder: Path) -> None:
    """By its session's, and by its own where its hub left no record; another is refused by name."""
    wishes = AgentWishes(workspace=folder, keeps=True)
    async with open_agent(home, wishes) as agent:
        session = await agent.start()
        run = await session.submit("read nothing.txt")
        async for _ in session.events(run_id=run.run_id, after=0):
            pass
        native = await agent.native_of(session.id)
    assert native is not None
    (home.path / "sessions.jsonl").unlink()
    async with open_agent(home, wishes) as agent:
        again = await agent.start(native)
        assert again.opened.recovery is not None
        with pytest.raises(Refused) as refused:
            await agent.start("never-was")
    assert refused.value.refusal.code == "unknown_session"
