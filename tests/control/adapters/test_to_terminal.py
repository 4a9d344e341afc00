"""One submit to its end without a hub: every kind of question answered by a policy, and by nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import jsonschema_rs
import pytest

from sayso.control.adapters.contract import (
    AttachesProviders,
    Authenticates,
    Compacts,
    ListsModels,
    ListsTools,
    MeetsParticipant,
    Reopens,
    ResolvesCalls,
    Resumes,
    SwitchesModels,
    TellsSession,
)
from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.adapters.to_terminal import Answers, denying, run_to_terminal
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallRequested,
    ActionCallResolveRequest,
    PermissionRequested,
    PermissionResolveRequest,
)
from sayso.control.protocol.payloads.interaction import UserAnswer, UserInputResolveRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, PeerUnreachable, Refused
from sayso.testing.provider import ScriptedProvider
from tests.control.adapters.reference.stage import Stage, request, said, staged
from tests.control.conftest import Trace
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio

ECHO = {"name": "echo", "input_schema": {"type": "object"}, "execution_owner": "user", "source": "memory"}


def submission(text: str = "go", **more: Any) -> Envelope[Any]:
    payload = {"session_id": "s1", "messages": said(text), "delivery": "auto", **more}
    return request("session.message.submit.request", payload, "m1")


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """Its requests come from what is tested, so its transcript is half of one and nobody judges it."""
    async with staged(Trace(jsonschema_rs.validator_for(True)), opened={"tools": [ECHO]}) as standing:
        yield standing
        await standing.session.close()
        standing.session = None  # type: ignore[assignment]


async def agreeing(asked: Envelope[Wire]) -> Answers:
    payload: Any = asked.payload
    gate = {name: getattr(payload, name) for name in ("interaction_id", "requested_by", "responded_by")}
    scope = {"session_id": payload.session_id, "run_id": payload.run_id}
    if isinstance(payload, PermissionRequested):
        return PermissionResolveRequest(**gate, **scope, granted=True)
    if isinstance(payload, ActionCallRequested):
        return ActionCallResolveRequest(**gate, **scope, tool_call_id=payload.tool_call_id, result=1)
    answers = (UserAnswer(question_id="colour", selected_option_ids=("blue",)),)
    return UserInputResolveRequest(**gate, **scope, answers=answers)


@pytest.mark.req("OAP-043")
@pytest.mark.parametrize("policy", [agreeing, denying])
async def test_a_policy_answers_everything_and_the_result_is_whole(stage: Stage, policy: Any) -> None:
    """Two tools, three questions, one reply, whether everything is granted or nothing."""
    seen: list[str] = []
    result = await run_to_terminal(
        stage.session, submission(), policy, ids=CountingIds(), watch=lambda envelope: seen.append(envelope.type)
    )
    assert (result.tool_calls, result.stop_reason, result.error) == (2, "end_turn", None)
    assert result.response
    assert (result.response.content, result.run_id) == ("Done: go", "s1.r1")
    assert result.usage
    granted = policy is agreeing
    assert (seen.count("action.call.completed"), seen.count("action.call.failed")) == ((2, 0) if granted else (0, 2))


@pytest.mark.req("OAP-043")
async def test_failure_and_structured_output_are_told(stage: Stage) -> None:
    """What the run said is what the caller gets."""
    failed = await run_to_terminal(stage.session, submission("script: fail"), ids=CountingIds())
    assert failed.error
    assert (failed.error.code, failed.response) == ("endpoint_error", None)
    schema = {"type": "object"}
    done = await run_to_terminal(stage.session, submission("script: plain", output_schema=schema), ids=CountingIds())
    assert done.result == {"answer": "memory"}


class Leaky:
    """A session whose stream breaks off with an overflow after some events, and whose journal has the rest."""

    def __init__(self, inner: Any, *, keeps: bool) -> None:
        self._inner = inner
        if keeps:
            self.resume = inner.resume

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        async for envelope in self._inner.events(run_id):
            yield envelope
            if envelope.sequence == 2:
                raise Refused.because("overflow", "behind", details={"run_id": run_id, "last_sequence": 2})


@pytest.mark.req("OAP-042", "OAP-043")
async def test_an_overflow_is_resumed_behind_the_last_event(stage: Stage) -> None:
    """Each event once."""
    numbers: list[Any] = []
    leaky: Any = Leaky(stage.session, keeps=True)
    result = await run_to_terminal(
        leaky, submission("script: plain"), ids=CountingIds(), watch=lambda each: numbers.append(each.sequence)
    )
    assert (numbers, result.stop_reason) == ([1, 2, 3], "end_turn")


async def test_a_stream_that_ends_early_is_nobodys_success(stage: Stage) -> None:
    """Without a terminal nothing is known of the run."""

    class Mute(Leaky):
        async def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
            async for envelope in self._inner.events(run_id):
                yield envelope
                return

    mute: Any = Mute(stage.session, keeps=False)
    with pytest.raises(PeerUnreachable):
        await run_to_terminal(mute, submission("script: plain"), ids=CountingIds())


async def test_a_steer_has_no_end_of_its_own(stage: Stage) -> None:
    """It would wait for a run that it did not make."""
    await stage.submit("script: hold")
    with pytest.raises(Misuse):
        await run_to_terminal(stage.session, submission(delivery="steer"), ids=CountingIds())


@pytest.mark.req("OAP-041")
async def test_the_reference_has_every_optional_unit_and_our_loop_those_it_advertises() -> None:
    """A unit is found by its protocol, and a key without a method behind it is not advertised."""
    memory = MemoryAdapter(clock=ManualClock(NOON), ids=CountingIds())
    loop = OwnLoop(ScriptedProvider([]), clock=ManualClock(NOON), ids=CountingIds(), model_ref="m")
    opened = request("session.open.request", {}, "o")
    async with anyio.create_task_group() as tasks:
        sessions = [await adapter.open(opened, f"s{number}", tasks) for number, adapter in enumerate((memory, loop))]
    units = (AttachesProviders, Compacts, ListsModels, ListsTools, ResolvesCalls, Resumes, SwitchesModels, TellsSession)
    assert [[unit for unit in units if isinstance(session, unit)] for session in sessions] == [[*units], [*units[1:]]]
    of_adapter = (Authenticates, MeetsParticipant, Reopens)
    assert [[isinstance(each, unit) for unit in of_adapter] for each in (memory, loop)] == [[True] * 3] * 2
    keys = {
        "action.providers.attach",
        "session.compact",
        "models.list",
        "action.tools.provide",
        "run.replay",
        "session.model.switch",
        "auth.login",
        "session.open.reopen",
    }
    offered = [set((await each.probe()).capabilities.features or ()) & keys for each in (memory, loop)]
    # Without a place for conversations and without logins our loop has the methods, and does not advertise them.
    assert offered == [keys, keys - {"action.providers.attach", "auth.login", "session.open.reopen"}]
