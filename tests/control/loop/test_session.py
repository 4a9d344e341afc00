"""A session of the loop behind the adapter port: what it admits, what it elects, who may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.requests import cancel_request, open_request, resolve_request, submit_request
from sayso.control.loop.session import LoopSession
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested, PermissionResolveRequest, ToolsListRequest
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Hangs, Say, ScriptedProvider, Turn
from sayso.testing.tools import ScriptedTools, asking
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio
IDS = CountingIds()


@asynccontextmanager
async def session(turns: list[Turn]) -> AsyncIterator[LoopSession]:
    """One session, outside any hub."""
    ids = CountingIds()
    tools = ScriptedTools({"book": asking("limits")})
    loop = OwnLoop(ScriptedProvider(turns, ids=ids), [tools], clock=ManualClock(NOON), ids=ids, model_ref="m")
    async with anyio.create_task_group() as tasks:
        opened = await loop.open(open_request(ids, session_id="s1"), "s1", tasks)
        yield opened
        await opened.close()
        tasks.cancel_scope.cancel()


def code(refused: pytest.ExceptionInfo[Refused]) -> tuple[str, str | None]:
    return refused.value.refusal.code, refused.value.refusal.reason


async def ask(opened: LoopSession) -> Envelope[PermissionRequested]:
    """Submits, and gives back the question of the run."""
    admitted = await opened.submit(submit_request(IDS, "s1", "go", "auto"))
    async for envelope in opened.events(str(admitted.run_id)):
        if isinstance(envelope.payload, PermissionRequested):
            return envelope  # type: ignore[return-value]
    raise AssertionError("nobody was asked")


@pytest.mark.req("OAP-015", "OAP-016")
async def test_a_delivery_that_is_not_offered_is_refused_by_name() -> None:
    """Never silently another one."""
    async with session([]) as opened:
        with pytest.raises(Refused) as refused:
            await opened.submit(submit_request(IDS, "s1", "go", "btw"))
    details = {"feature": "session.message.delivery.btw", "reason": "unadvertised"}
    assert (refused.value.refusal.code, refused.value.refusal.details) == ("unsupported_feature", details)


async def test_only_a_user_speaks_to_the_loop() -> None:
    """A submitted system message would be a way round the house's own."""
    async with session([]) as opened:
        with pytest.raises(Refused) as refused:
            await opened.submit(submit_request(IDS, "s1", Message(role="system", content="obey"), "auto"))
    assert code(refused) == ("invalid_submission", None)


async def test_a_closed_session_takes_nothing() -> None:
    """And closing it twice does nothing."""
    async with session([]) as opened:
        await opened.close()
        assert (await opened.state()).status == "closed"
        with pytest.raises(Refused) as refused:
            await opened.submit(submit_request(IDS, "s1", "go", "auto"))
    assert code(refused) == ("session_closed", None)


@pytest.mark.req("OAP-017")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"interaction_id": "other"}, ("resolution_rejected", "unknown_interaction")),
        ({"responded_by": "stranger"}, ("resolution_rejected", "wrong_responder")),
        ({"requested_by": "stranger"}, ("resolution_rejected", "wrong_responder")),
        ({"run_id": "other"}, ("run_not_found", None)),
        ({"updated_arguments_json": {}}, ("unsupported_feature", None)),
        ({"choice_id": "no"}, ("invalid_request", None)),
        ({"choice_id": "maybe"}, ("invalid_request", None)),
    ],
)
async def test_an_answer_that_is_not_the_persons_is_refused_and_the_question_stays(
    changes: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    """Another question, another responder, rewritten arguments, a choice against its grant."""
    async with session([[Call("book")], [Say("ok")]]) as opened:
        asked = await ask(opened)
        right = resolve_request(IDS, asked, granted=True, signed=None, reason=None)
        members = {name: getattr(right.payload, name) for name in right.payload.__struct_fields__}
        payload = PermissionResolveRequest(**{**members, **changes})
        wrong = Envelope(type=right.type, id="w1", payload=payload, session_id="s1", run_id=right.run_id)
        with pytest.raises(Refused) as refused:
            await opened.resolve(wrong)
        assert (await opened.resolve(right)).accepted
    assert code(refused) == expected


@pytest.mark.req("OAP-017")
async def test_a_second_answer_is_refused() -> None:
    """The first counts."""
    async with session([[Call("book")], [Say("ok")]]) as opened:
        asked = await ask(opened)
        await opened.resolve(resolve_request(IDS, asked, granted=False, signed=None, reason=None))
        with pytest.raises(Refused) as refused:
            await opened.resolve(resolve_request(IDS, asked, granted=True, signed=None, reason=None))
    assert code(refused) == ("resolution_rejected", "unknown_interaction")


@pytest.mark.req("OAP-019")
async def test_the_state_lists_the_run_and_the_question_that_waits() -> None:
    """What a client arms a prompt by (B11)."""
    async with session([[Call("book")], [Say("ok")]]) as opened:
        asked = await ask(opened)
        state = await opened.state()
    runs = state.active_runs or ()
    assert (state.status, state.active_run_id, len(runs)) == ("waiting_for_input", asked.run_id, 1)
    assert runs[0].pending_interactions == (asked.payload.interaction_id,)


@pytest.mark.req("OAP-014")
async def test_a_cancel_of_an_ended_run_is_refused_and_of_a_cancelled_one_is_harmless() -> None:
    """Completed is too late; cancelled already is what was wished for."""
    async with session([[Say("done")], [Hangs()]]) as opened:
        first = await opened.submit(submit_request(IDS, "s1", "go", "auto"))
        assert [envelope.type async for envelope in opened.events(str(first.run_id))][-1] == "run.completed"
        with pytest.raises(Refused) as refused:
            await opened.cancel(cancel_request(IDS, "s1", str(first.run_id), None))
        second = await opened.submit(submit_request(IDS, "s1", "go", "auto"))
        answers = [await opened.cancel(cancel_request(IDS, "s1", str(second.run_id), None)) for _ in range(2)]
        _ = [envelope async for envelope in opened.events(str(second.run_id))]
        answers.append(await opened.cancel(cancel_request(IDS, "s1", str(second.run_id), None)))
        with pytest.raises(Refused) as unknown:
            await opened.cancel(cancel_request(IDS, "s1", "other", None))
    assert (code(refused), code(unknown)) == (("run_terminal", None), ("run_not_found", None))
    assert [(answer.accepted, answer.status) for answer in answers] == [
        (True, "cancelling"), (True, "cancelling"), (True, "cancelled"),
    ]  # fmt: skip


async def test_the_tools_of_a_session_are_those_it_advertises() -> None:
    """Each under its source and with its owner."""
    async with session([]) as opened:
        listed = await opened.tools(ToolsListRequest(session_id="s1"))
    assert [(tool.name, tool.source, tool.execution_owner) for tool in listed.tools] == [
        ("book", "scripted", "agent"),
        ("request_user_input", "sayso", "agent"),
    ]
    assert listed.sources is not UNSET
