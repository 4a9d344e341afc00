"""The loop as an adapter: what it advertises, and under which revision."""

from __future__ import annotations

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.requests import open_request
from sayso.control.protocol.envelope import Envelope
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, Refused
from sayso.testing.provider import ScriptedProvider
from sayso.testing.tools import ScriptedTools, asking, read_only
from tests.control.houses import NOON
from tests.control.loop.test_opening import Opener
from tests.control.wire import request

pytestmark = pytest.mark.anyio


def loop(*names: str, sources: int = 1) -> OwnLoop:
    ids = CountingIds()
    acts = {name: asking("limits") for name in names}
    tools = [ScriptedTools(acts, specs=[read_only("look")], id=f"tools{number}") for number in range(sources)]
    return OwnLoop(ScriptedProvider([]), tools, clock=ManualClock(NOON), ids=ids, model_ref="m")


@pytest.mark.req("OAP-018", "OAP-041")
async def test_the_revision_moves_with_what_is_advertised() -> None:
    """And stays while nothing changes."""
    one, same, other = [await each.probe() for each in (loop("look"), loop("look"), loop("look", "book"))]
    assert (one.revision == same.revision, one.revision == other.revision) == (True, False)
    assert [tool.name for tool in other.capabilities.tools or ()] == ["book", "look", "request_user_input"]


@pytest.mark.req("OAP-018")
async def test_a_pin_to_another_revision_is_stale_and_names_both() -> None:
    """So that the caller knows what to fetch again."""
    plain = open_request(CountingIds())
    pinned = Envelope(type=plain.type, id="o1", payload=plain.payload, capability_revision="old")
    async with anyio.create_task_group() as tasks:
        with pytest.raises(Refused) as refused:
            await loop("look").open(pinned, "s1", tasks)
    current = (await loop("look").probe()).revision
    assert refused.value.refusal.code == "stale_capabilities"
    assert refused.value.refusal.details == {"expected_revision": current, "current_revision": "old"}


@pytest.mark.req("OAP-018")
async def test_a_stale_pin_is_refused_of_an_answer_and_of_a_cancel_too() -> None:
    """Before the run is looked for."""
    scope = {"session_id": "s1", "run_id": "never"}
    answer = {**scope, "interaction_id": "i", "requested_by": "agent", "responded_by": "user", "granted": True}
    async with anyio.create_task_group() as tasks:
        session = await loop("look").open(open_request(CountingIds()), "s1", tasks)
        resolve = request("action.permission.resolve.request", answer, capability_revision="old")
        cancel = request("run.cancel.request", scope, capability_revision="old")
        for asked in (session.resolve(resolve), session.cancel(cancel)):
            with pytest.raises(Refused) as refused:
                await asked
            assert refused.value.refusal.code == "stale_capabilities"


async def test_two_tools_of_one_name_are_a_bug_of_the_house() -> None:
    """A call must have one owner."""
    with pytest.raises(Misuse):
        await loop("look", sources=2).probe()


def test_two_sources_of_one_id_are_a_bug_of_the_house() -> None:
    """A published source is one source."""
    tools = ScriptedTools({})
    with pytest.raises(Misuse):
        OwnLoop(ScriptedProvider([]), [tools, tools], clock=ManualClock(NOON), ids=CountingIds(), model_ref="m")


@pytest.mark.req("OAP-018", "OAP-060")
async def test_both_kinds_of_source_that_can_be_attached_are_disclosed() -> None:
    """A remote one under a mode of its own."""
    attaching = OwnLoop(
        ScriptedProvider([]),
        clock=ManualClock(NOON),
        ids=CountingIds(),
        model_ref="m",
        attach=lambda source: Opener(source.id),
    )
    features = (await attaching.probe()).capabilities.features or {}
    support = features["action.tool_sources.attach"]
    assert (support.modes, (support.limits or {})["transports"]) == (("remote", "session_open"), ["process", "remote"])
