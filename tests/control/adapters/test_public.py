"""The public module `sayso.adapters`: exactly what it names, and enough to drive a run with nothing else."""

from __future__ import annotations

from inspect import ismodule

import anyio
import pytest

from sayso import adapters
from sayso.adapters import MemoryAdapter, run_to_terminal
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from tests.control.adapters.reference.stage import request, said
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-207")
async def test_the_module_names_all_it_has() -> None:
    """A name that can be imported and is not in the list is free to change; there is none."""
    found = {name for name, value in vars(adapters).items() if not name.startswith("_") and not ismodule(value)}
    assert found - {"annotations"} == set(adapters.__all__)


@pytest.mark.req("OAP-041", "OAP-206", "OAP-207")
async def test_a_session_alone_is_enough_for_a_run() -> None:
    """Tier one of embedding: no hub and no socket."""
    adapter = MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds())
    submission = request(
        "session.message.submit.request", {"session_id": "s1", "messages": said("go"), "delivery": "auto"}, "m1"
    )
    async with anyio.create_task_group() as tasks:
        session = await adapter.open(request("session.open.request", {"session_id": "s1"}, "o1"), "s1", tasks)
        result = await run_to_terminal(session, submission, ids=CountingIds())
    assert (result.stop_reason, result.tool_calls) == ("end_turn", 1)
