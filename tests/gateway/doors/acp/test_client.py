"""The protocol's own client, over a real socket, with a hook that signs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from acp_sdk.models import ACPError, Message, MessageAwaitResume, MessagePart, RunStatus, Session

from sayso.core import strictjson
from sayso.core.clock import SystemClock
from tests.gateway.doors.acp.houses import BASE, open_house

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "examples" / "acp_client.py"
ASK_AGAIN = MessageAwaitResume(message=Message(role="user", parts=[MessagePart(content="how far is it?")]))
WITHDRAW = MessageAwaitResume(message=Message(role="user", parts=[MessagePart(content="withdraw")]))
NOTE = MessagePart(content_type="application/json", content='{"text": "milk"}')


def proposal_of(run: object) -> str:
    content = run.await_request.message.parts[-1].content  # type: ignore[attr-defined]
    return strictjson.parse(content.encode())["proposal"]  # type: ignore[index, call-overload, return-value]


@pytest.mark.req("GTW-004")
async def test_it_finds_the_agents(tmp_path: Path) -> None:
    """Ping, the list, one by name, and the error for one that is none."""
    async with open_house(tmp_path) as house, house.client() as client:
        await client.ping()
        names = [agent.name async for agent in client.agents()]
        assert names[:4] == ["sayso", "echo", "mirror", "take-note"]
        agent = await client.agent(name="take-note")
        assert agent.metadata.annotations.model_dump()["class"] == "execution"
        with pytest.raises(ACPError) as none:
            await client.agent(name="nobody")
        assert none.value.error.code == "not_found"


@pytest.mark.req("GTW-004")
async def test_it_runs_sync_async_and_as_a_stream(tmp_path: Path) -> None:
    """The same disclosure in the three modes, and its events afterwards."""
    async with open_house(tmp_path) as house, house.client() as client:
        run = await client.run_sync("hello", agent="echo")
        assert (run.status, str(run.output[0].parts[0].content)) == (RunStatus.COMPLETED, '{"text":"hello"}')
        later = await client.run_async("hello again", agent="echo")
        assert (await client.run_status(run_id=later.run_id)).status == RunStatus.COMPLETED
        events = [event async for event in client.run_stream("and again", agent="echo")]
        assert [event.type for event in events] == [
            "run.created", "run.in-progress", "message.created", "message.part", "message.completed", "run.completed",
        ]  # fmt: skip
        again = [event.type async for event in client.run_events(run_id=events[-1].run.run_id)]
        assert again == [event.type for event in events]


@pytest.mark.req("GTW-004", "GTW-034")
async def test_it_awaits_a_person_and_resumes(tmp_path: Path) -> None:
    """While it awaits it asks again; then it has the result."""
    async with open_house(tmp_path) as house, house.client() as client:
        run = await client.run_sync(NOTE, agent="take-note")
        assert run.status == RunStatus.AWAITING
        assert (await client.run_resume_sync(ASK_AGAIN, run_id=run.run_id)).status == RunStatus.AWAITING
        await house.decide(proposal_of(run), yes=True)
        while run.status == RunStatus.AWAITING:
            run = await client.run_resume_sync(ASK_AGAIN, run_id=run.run_id)
        assert str(run.raise_for_status().output[0].parts[0].content) == '{"noted":true}'
        assert (await client.run_resume_async(ASK_AGAIN, run_id=run.run_id)).status == RunStatus.COMPLETED
        events = [event.type async for event in client.run_resume_stream(ASK_AGAIN, run_id=run.run_id)]
        assert events[-1] == "run.completed"


@pytest.mark.req("GTW-004", "GTW-034")
async def test_a_no_is_raised(tmp_path: Path) -> None:
    """By the client's own check."""
    async with open_house(tmp_path) as house, house.client() as client:
        run = await client.run_async(NOTE, agent="take-note")
        await house.decide(proposal_of(run), yes=False)
        events = [event async for event in client.run_resume_stream(ASK_AGAIN, run_id=run.run_id)]
        assert [event.type for event in events] == ["run.in-progress", "run.failed"]
        with pytest.raises(ACPError) as no:
            events[-1].run.raise_for_status()
        assert str(no.value) == "A person said no"


@pytest.mark.req("GTW-004")
async def test_it_cancels(tmp_path: Path) -> None:
    """Cancelling, then cancelled; by a resume that says so as well."""
    async with open_house(tmp_path) as house, house.client() as client:
        run = await client.run_sync(NOTE, agent="take-note")
        assert (await client.run_cancel(run_id=run.run_id)).status == RunStatus.CANCELLING
        with pytest.raises(asyncio.CancelledError):
            (await client.run_status(run_id=run.run_id)).raise_for_status()
        bread = MessagePart(content_type="application/json", content='{"text": "bread"}')
        other = await client.run_sync(bread, agent="take-note")
        assert (await client.run_resume_sync(WITHDRAW, run_id=other.run_id)).status == RunStatus.CANCELLED


@pytest.mark.req("GTW-004")
async def test_it_keeps_a_session(tmp_path: Path) -> None:
    """A session it made itself is taken up, and found again."""
    async with open_house(tmp_path) as house, house.client() as client, client.session(Session()) as session:
        first = await session.run_sync("one", agent="echo")
        second = await session.run_sync("two", agent="echo")
        assert first.session_id == second.session_id
        assert (await session.refresh_session()).id == first.session_id


@pytest.mark.req("GTW-004")
async def test_the_example_in_the_documents_runs(tmp_path: Path) -> None:
    """As its reader would run it: a process with a key, an address and a text."""
    async with open_house(tmp_path, clock=SystemClock()) as house:
        command = [sys.executable, str(EXAMPLE), house.url + BASE, "take-note", "Buy milk", "0.01"]
        environment = {"SAYSO_AGENT_KEY": house.ada.key, "PATH": os.environ["PATH"]}
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        (waiting,) = await house.bench.gate.list()
        assert first == f"awaiting: proposal {waiting.id} is pending\n"
        await house.decide(waiting.id, yes=True)
        out, error = await process.communicate()
        assert (process.returncode, out.decode().splitlines()[-1], error.decode()) == (
            0,
            'completed: {"noted":true}',
            "",
        )
