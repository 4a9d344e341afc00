"""Another process of this machine drives a hub over its socket, honestly and not."""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import pytest

from sayso.control.hub.bindings.http import serving_hub
from sayso.core.ids import SystemIds
from sayso.testing.provider import Call, Say
from sayso.testing.tools import asking
from tests.control.conftest import Trace
from tests.control.houses import open_house

pytestmark = pytest.mark.anyio

GRANT = """
import sys
import anyio
from sayso.control.client.http import HubClient
from sayso.control.client.run import Answered, run_to_terminal
from sayso.core.ids import SystemIds

async def main(url, session_id):
    async def grant(asked):
        return Answered(True)

    async with HubClient(url, ids=SystemIds()) as client:
        outcome = await run_to_terminal(client, session_id, "book it", grant)
        print(outcome.stop_reason)

anyio.run(main, *sys.argv[1:])
"""

STRANGER = """
import json, sys, urllib.error, urllib.request

url, session_id, run_id, interaction_id, responder = sys.argv[1:]
scope = {"session_id": session_id, "run_id": run_id}
payload = {
    **scope, "interaction_id": interaction_id, "requested_by": "agent", "responded_by": responder, "granted": True,
}
envelope = {
    "protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.agent-control-core",
    "type": "action.permission.resolve.request", "id": f"m-{responder}", "payload": payload, **scope,
}
request = urllib.request.Request(
    f"{url}/sessions/{session_id}/resolve", json.dumps(envelope).encode(), {"content-type": "application/json"}
)
try:
    print(200, urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


async def run(script: str, *arguments: str) -> str:
    done = await anyio.run_process([sys.executable, "-c", script, *arguments])
    return done.stdout.decode()


@pytest.mark.req("OAP-003", "OAP-017")
async def test_a_bare_grant_of_another_process_reaches_the_source_as_a_grant_without_document(trace: Trace) -> None:
    """Consent is not decided here: the source sees that nothing was signed, and refuses."""
    async with (
        open_house([[Call("book")], [Say("done")]], {"book": asking("limits")}, record=trace.record) as house,
        serving_hub(house.hub, SystemIds(), port=0) as address,
    ):
        printed = await run(GRANT, address.url, house.session_id)
    assert printed == "end_turn\n"
    (given,) = house.tools.calls[-1][1]
    assert (given.granted, given.document, given.reason) == (True, None, None)


@pytest.mark.req("OAP-017", "OAP-106")
async def test_another_process_cannot_answer_for_somebody_else_or_twice(trace: Trace) -> None:
    """A stranger's name and a second answer are refused with the code the specification gives them."""
    async with (
        open_house([[Call("book")], [Say("done")]], {"book": asking("limits")}, record=trace.record) as house,
        serving_hub(house.hub, SystemIds(), port=0) as address,
    ):
        admitted = await house.client.submit(house.session_id, "go")
        await anyio.wait_all_tasks_blocked()
        state = await house.client.state(house.session_id)
        question = str((state.active_runs or ())[0].pending_interactions[0])  # type: ignore[index]
        scope = (address.url, house.session_id, str(admitted.run_id), question)
        stranger = await run(STRANGER, *scope, "stranger")
        person = await run(STRANGER, *scope, "user")
        again = await run(STRANGER.replace("m-{responder}", "again"), *scope, "user")
    answers = [(line.split(" ", 1)[0], _code(line)) for line in (stranger, person, again)]
    assert answers == [("409", "resolution_rejected"), ("200", None), ("409", "resolution_rejected")]


def _code(line: str) -> str | None:
    payload: dict[str, Any] = json.loads(line.split(" ", 1)[1])["payload"]
    return payload["error"]["code"] if "error" in payload else None
