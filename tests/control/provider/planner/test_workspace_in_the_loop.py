"""With no credential: our own loop, the offline planner and a real workspace complete a turn together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.requests import open_request, resolve_request, submit_request
from sayso.control.loop.session import LoopSession
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.content import text_of
from sayso.control.provider.planner.provider import MODEL, OfflinePlanner
from sayso.control.workspace.opener import WorkspaceOpener
from sayso.core.clock import SystemClock
from sayso.core.ids import CountingIds

pytestmark = pytest.mark.anyio
IDS = CountingIds()


async def say(session: LoopSession, words: str, *, granted: bool = True) -> tuple[str, list[str]]:
    """What is answered, and which questions a person was asked on the way."""
    admitted = await session.submit(submit_request(IDS, "s1", words, "auto"))
    asked: list[str] = []
    last: Any = None
    async for envelope in session.events(str(admitted.run_id)):
        last = envelope
        if isinstance(envelope.payload, PermissionRequested):
            asked.append(str(envelope.payload.title))
            answer = resolve_request(IDS, envelope, granted=granted, signed=None, reason=None)
            await session.resolve(answer)
    assert last.type == "run.completed"
    return text_of(last.payload.final_response.content), asked


@pytest.mark.req("OAP-155", "OAP-156", "OAP-157")
async def test_a_person_without_a_credential_gets_something_done(tmp_path: Path) -> None:
    """Reading is not asked about, writing is; a no is told; what is not understood is said with the way on."""
    (tmp_path / "README.md").write_text("# Sample\n")
    clock, ids = SystemClock(), CountingIds()
    workspace = WorkspaceOpener(hidden=(), environ={"PATH": "/usr/bin:/bin"}, clock=clock)
    loop = OwnLoop(OfflinePlanner(ids), clock=clock, ids=ids, model_ref=MODEL, openers=(workspace,), workspace=tmp_path)
    async with anyio.create_task_group() as tasks:
        session = await loop.open(open_request(IDS, session_id="s1"), "s1", tasks)
        read, asked = await say(session, "read README.md")
        assert ("# Sample" in read, asked) == (True, [])
        wrote, asked = await say(session, "write 'hello' to notes.txt")
        assert (wrote.startswith("I created notes.txt"), asked) == (True, ["Create notes.txt"])
        assert (tmp_path / "notes.txt").read_text() == "hello"
        refused, asked = await say(session, "run `rm notes.txt`", granted=False)
        assert (refused, len(asked)) == ("This was not allowed, so I did not run `rm notes.txt`.", 1)
        assert (tmp_path / "notes.txt").exists()
        other, asked = await say(session, "make it better")
        assert ("`sayso auth login`" in other, asked) == (True, [])
        await session.close()
        tasks.cancel_scope.cancel()
