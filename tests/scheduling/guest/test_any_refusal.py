"""Whichever of several faults a host names, an agent ends up in the same place (SCH-084)."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from sayso.core import strictjson
from sayso.scheduling.terms.codes import BY_REASON
from tests.scheduling.tools.household import HOLD

pytestmark = pytest.mark.anyio

REASONS = ("outside_window", "above_price", "scope_missing", "service_not_covered", "mandate_expired", "limit_reached")


def refusing(reason):
    """The host's no, with this of several possible reasons."""
    row = BY_REASON[reason]
    said = {"code": row.code, "reason": reason, "message": row.message, "contact": {"phone": "+1 416 555 0134"}}
    body = strictjson.encode({"refusal": said})
    return lambda response: msgspec.structs.replace(response, status=row.status, body=body)


@pytest.mark.req("SCH-084")
@pytest.mark.parametrize("reason", REASONS)
async def test_no_agent_depends_on_which_of_several_faults_is_named(home, wire, reason):
    """Nothing is kept, nobody is asked twice, and the same call goes through once the host has changed its mind."""
    wire.rules["/holds"] = refusing(reason)
    done = await home.call("hold_slot", HOLD)
    assert (done.is_error, done.result["by"], done.result["refused"]["reason"]) == (True, "Maple Street Auto", reason)
    assert (await home.guest.book.open_holds(), [question.kind for question, _ in home.questions]) == ([], ["limits"])
    sent = [strictjson.parse(body)["idempotency_key"] for _, url, _, body in wire.sent if url.endswith("/holds")]
    wire.rules.clear()
    # What was altered on its way had been a hold: it has run out before the same is asked for again.
    home.clock.advance(timedelta(minutes=5))
    again = await home.call("hold_slot", HOLD)
    assert (again.is_error, again.result["outcome"]) == (False, "held")
    assert [question.kind for question, _ in home.questions] == ["limits"]
    assert len(sent) == 1
