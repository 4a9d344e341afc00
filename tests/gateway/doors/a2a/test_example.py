"""The example in the documents is a program that runs as it stands there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from sayso.core.clock import SystemClock
from sayso.governance.moving import GATE
from tests.gateway.doors.a2a.house import House, open_house

pytestmark = pytest.mark.anyio
SCRIPT = Path(__file__).parents[4] / "docs" / "examples" / "a2a_client.py"


@pytest.mark.req("GTW-003", "GTW-034")
async def test_the_example_proposes_and_follows_to_the_end(tmp_path: Path) -> None:
    """In a process of its own, by the real clock, while a person says yes and a worker carries it out."""
    async with open_house(tmp_path, clock=SystemClock()) as house:
        key = await house.key()
        async with anyio.create_task_group() as group:
            group.start_soon(_decide, house)
            arguments = [sys.executable, str(SCRIPT), house.url, "take_note", '{"text": "milk"}']
            environ = {**os.environ, "SAYSO_AGENT_KEY": key, "PYTHONWARNINGS": "default"}
            ran = await anyio.run_process(arguments, env=environ, stderr=subprocess.PIPE, check=False)
        lines = ran.stdout.decode().splitlines()
        (proposal,) = await house.bench.gate.list()
    assert ran.returncode == 0, ran.stderr.decode()
    # Approved and done may be told as one move, so the state between them is not always seen.
    assert [line for line in lines if not line.endswith("TASK_STATE_WORKING")] == [
        f"task {proposal.id} TASK_STATE_SUBMITTED",
        'result {"noted": true}',
        f"task {proposal.id} TASK_STATE_COMPLETED",
    ]


async def _decide(house: House) -> None:
    """Says yes once there is something to decide, and carries it out."""
    wake = house.bench.store.wake
    mark = wake.mark(GATE)
    while not (waiting := await house.bench.gate.list()):
        mark = await wake.wait(GATE, mark)
    await house.approve(waiting[0].id)
    await house.carry_out()
