"""One submit to its end, with another surface answering beside it."""

from __future__ import annotations

import pytest

from sayso.control.client.run import Answered, run_to_terminal
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.core.refusal import PeerRefused, PeerUnreachable
from sayso.testing.provider import Call, Fails, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import open_house

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-017", "OAP-043")
async def test_an_answer_given_elsewhere_first_is_no_failure(trace: Trace) -> None:
    """Two windows, one question: the run tells which answer counted."""
    async with open_house([[Call("book")], [Say("ok")]], {"book": asking("limits")}, record=trace.record) as house:

        async def answer(asked: Envelope[PermissionRequested]) -> Answered:
            await house.client.resolve(asked, granted=False, reason="the other window")
            return Answered(True)

        outcome = await run_to_terminal(house.client, house.session_id, "go", answer)
    (given,) = house.tools.calls[-1][1]
    assert (outcome.stop_reason, given.granted, given.reason) == ("end_turn", False, "the other window")


@pytest.mark.req("OAP-043")
async def test_a_run_cancelled_while_its_person_was_asked_has_neither_response_nor_error(trace: Trace) -> None:
    """The late answer is refused, and the outcome says what happened."""
    async with open_house([[Call("book")]], {"book": asking("limits")}, record=trace.record) as house:

        async def answer(asked: Envelope[PermissionRequested]) -> Answered:
            await house.client.cancel(house.session_id, asked.payload.run_id)
            return Answered(True)

        outcome = await run_to_terminal(house.client, house.session_id, "go", answer)
    assert (outcome.response, outcome.error, outcome.stop_reason, outcome.tool_calls) == (None, None, None, 1)


@pytest.mark.req("OAP-043")
async def test_a_failed_run_gives_its_error(trace: Trace) -> None:
    """As the terminal told it."""
    async with open_house([[Fails("rate_limited")]], record=trace.record) as house:
        outcome, _ = await house.run("go")
    assert outcome.error is not None
    assert (outcome.error.code, outcome.response) == ("rate_limited", None)


async def test_a_refused_submit_is_the_callers_to_see(trace: Trace) -> None:
    """Nothing ran."""
    async with open_house([], record=trace.record) as house:

        async def answer(asked: Envelope[PermissionRequested]) -> Answered:
            raise AssertionError("nobody is asked")

        with pytest.raises(PeerRefused):
            await run_to_terminal(house.client, "other", "go", answer)


async def test_a_session_that_vanishes_under_a_run_is_unreachable(trace: Trace) -> None:
    """No outcome is invented."""
    async with open_house([[Call("book")]], {"book": asking("limits")}, record=trace.record) as house:

        async def answer(asked: Envelope[PermissionRequested]) -> Answered:
            house.hub.hang_up()
            return Answered(False)

        with pytest.raises(PeerUnreachable):
            await run_to_terminal(house.client, house.session_id, "go", answer)
