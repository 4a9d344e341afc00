"""Which adapters a home offers, and what opening them costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.apps.keys import make_keys
from sayso.apps.offering import Wanted, open_offer
from sayso.client import Client, ServerError
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused
from sayso.sdk import Agent, endpoint_program
from sayso.store.vault import Vault

pytestmark = pytest.mark.anyio


def document(folder: Path, text: str) -> Path:
    path = folder / "registry.json"
    path.write_text(text)
    return path


async def tools_of(wanted: Wanted) -> set[str]:
    """The sources of the loop's tools."""
    async with open_offer(wanted) as served:
        found = await served.registry.find("sayso").probe()
        return {source.id for source in found.capabilities.sources or ()}


@pytest.mark.parametrize("has_keys", [False, True])
@pytest.mark.req("OAP-085", "OAP-155")
async def test_a_loop_needs_no_keys_and_uses_those_that_are_there(has_keys: bool, tmp_path: Path) -> None:
    """With keys it has the tools of the house; it is the same loop where no document names it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    if has_keys:
        make_keys(Vault(home, SystemClock()), None)
    named = await tools_of(Wanted(home=home, config=document(tmp_path, '{"adapters": {"sayso": {}}}')))
    assert named == await tools_of(Wanted(home=home, backend="sayso"))
    assert ("scheduling" in named) is has_keys
    assert "workspace" in named


@pytest.mark.req("OAP-088")
async def test_what_a_document_says_of_a_source_reaches_the_loop(tmp_path: Path) -> None:
    """A header whose variable is not set is told before anything is served."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    source = '{"kind": "remote", "protocol": "mcp", "endpoint": "https://a.example/mcp", "headers": ["X-Key=SAYSO_NO"]}'
    config = document(tmp_path, f'{{"adapters": {{"sayso": {{}}}}, "tool_sources": {{"issues": {source}}}}}')
    with pytest.raises(Refused) as refused:
        await tools_of(Wanted(home=home, config=config))
    assert (refused.value.refusal.code, refused.value.refusal.place) == (
        "config_invalid",
        "tool_sources.issues.headers",
    )


def test_a_home_without_keys_pays_for_no_house() -> None:
    """Neither the house nor a database is loaded with the agent."""
    code = (
        "import sys, sayso.apps.agent_home, sayso.apps.offering\n"
        "print([name for name in ('sayso.apps.house', 'sqlalchemy', 'starlette') if name in sys.modules])"
    )
    environ = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert found.stdout.strip() == "[]"


@pytest.mark.req("OAP-157", "OAP-163")
async def test_a_hub_that_listens_gives_no_more_than_it_was_started_with(tmp_path: Path) -> None:
    """Whoever reaches it over HTTP elects neither another folder nor a standing yes; the program that started an
    endpoint over its pipes may.
    """
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    config = document(tmp_path, '{"adapters": {"sayso": {}}}')
    command = [sys.executable, "-m", "sayso", "serve", "--home", str(home), "--config", str(config)]
    hub = subprocess.Popen(
        [*command, "--addr", "127.0.0.1:0", "--workspace", str(project)], stdout=subprocess.PIPE, text=True
    )
    assert hub.stdout is not None
    try:
        url = hub.stdout.readline().split()[1]
        async with Client(url) as client:
            for elected in ({"workspace": str(tmp_path)}, {"permission": "bypass"}):
                with pytest.raises(ServerError) as refused:
                    await client.start("sayso", metadata={"sayso": elected})
                assert refused.value.refusal.code == "unsupported_feature"
            session = await client.start("sayso", metadata={"sayso": {"workspace": str(project)}})
            assert "Read" in {tool.name for tool in (await session.tools()).tools}
            await session.close()
    finally:
        hub.terminate()
        hub.wait()
        hub.stdout.close()
    async with Agent(endpoint_program("sayso", home=home, binary=Path(sys.executable).with_name("sayso"))) as agent:
        session = await agent.start(metadata={"sayso": {"workspace": str(project), "permission": "bypass"}})
        assert "Write" in {tool.name for tool in (await session.tools()).tools}
