"""What the door keeps, on both engines: pages, states, retention, push configurations (GTW-003)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from a2a.helpers import new_data_message
from a2a.types import Role, SendMessageRequest, TaskState

from sayso.testing.gateway import open_gateway
from tests.gateway.doors.a2a.house import OWNER, House, data, open_house

pytestmark = pytest.mark.anyio
STEP = timedelta(seconds=1)


@pytest.fixture
async def house(location: str, tmp_path: Path) -> AsyncIterator[House]:
    """A house on either engine."""
    async with open_house(tmp_path, location=location) as opened:
        yield opened


async def _task(house: House, act: str = "take_note", **arguments: object) -> str:
    house.bench.clock.advance(STEP)
    got = await house.rpc("SendMessage", data(act, **(arguments or {"text": "milk"})))
    return str(got["result"]["task"]["id"])


async def _listed(house: House, **wanted: object) -> list[str]:
    return [each["id"] for each in (await house.rpc("ListTasks", wanted))["result"]["tasks"]]


@pytest.mark.req("GTW-003")
async def test_pages_hold_every_task_once_in_order_of_their_last_move(house: House) -> None:
    """Disclosures and proposals together; a proposal that moved comes to the front."""
    ids = [await _task(house, act) for act in ("take_note", "echo", "take_note", "echo", "take_note")]
    house.bench.clock.advance(STEP)
    await house.bench.gate.reject(ids[0], OWNER, reason="no")
    wanted = [ids[0], *reversed(ids[1:])]
    assert await _listed(house) == wanted
    seen: list[str] = []
    token = ""
    while True:
        page = (await house.rpc("ListTasks", {"pageSize": 2, "pageToken": token}))["result"]
        seen += [each["id"] for each in page["tasks"]]
        assert page["totalSize"] == 5
        if not (token := page["nextPageToken"]):
            break
    assert seen == wanted


@pytest.mark.req("GTW-003", "GTW-034")
async def test_a_filter_knows_the_state_a_proposal_has_now(house: House) -> None:
    """Each state finds what is in it, and nothing else."""
    ids = {name: await _task(house) for name in ("waiting", "no", "yes", "done")}
    told = await _task(house, "echo")
    failed = await _task(house, "proposal_status", proposal_id="nobodys")
    await house.bench.gate.reject(ids["no"], OWNER, reason="no")
    await house.approve(ids["done"])
    await house.carry_out()
    await house.approve(ids["yes"])
    found = {
        state: await _listed(house, status=f"TASK_STATE_{state}")
        for state in ("SUBMITTED", "WORKING", "COMPLETED", "REJECTED", "FAILED", "CANCELED")
    }
    assert found["SUBMITTED"] == [ids["waiting"]]
    assert found["WORKING"] == [ids["yes"]]
    assert set(found["COMPLETED"]) == {ids["done"], told}
    assert found["REJECTED"] == [ids["no"]]
    assert found["FAILED"] == [failed]
    assert found["CANCELED"] == []


@pytest.mark.req("GTW-003")
async def test_only_what_moved_since_is_listed(house: House) -> None:
    """Later than the instant given, not at it."""
    await _task(house)
    since = house.bench.clock.now().isoformat().replace("+00:00", "Z")
    later = await _task(house)
    assert await _listed(house, statusTimestampAfter=since) == [later]


@pytest.mark.req("GTW-003")
async def test_a_disclosure_can_be_read_for_a_day(house: House) -> None:
    """Then the next task of its agent takes its place; proposals stay."""
    told, asked = await _task(house, "echo"), await _task(house)
    await house.bench.gate.reject(asked, OWNER, reason="no")
    house.bench.clock.advance(timedelta(hours=23))
    kept = await _task(house, "echo")
    assert set(await _listed(house)) == {told, asked, kept}
    house.bench.clock.advance(timedelta(hours=2))
    last = await _task(house, "echo")
    assert set(await _listed(house)) == {asked, kept, last}
    assert (await house.rpc("GetTask", {"id": told}))["error"]["code"] == -32001
    assert (await house.rpc("GetTask", {"id": asked}))["result"]["status"]["state"] == "TASK_STATE_REJECTED"


@pytest.mark.req("GTW-003")
async def test_push_configurations_are_kept_replaced_and_forgotten(house: House) -> None:
    """By id."""
    task = await _task(house)
    for name, url in (("a", "https://one.example/"), ("b", "https://two.example/"), ("a", "https://three.example/")):
        await house.rpc("CreateTaskPushNotificationConfig", {"taskId": task, "id": name, "url": url})
    listed = (await house.rpc("ListTaskPushNotificationConfigs", {"taskId": task}))["result"]["configs"]
    assert [(each["id"], each["url"]) for each in listed] == [
        ("a", "https://three.example/"),
        ("b", "https://two.example/"),
    ]
    await house.rpc("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "a"})
    got = await house.rpc("GetTaskPushNotificationConfig", {"taskId": task, "id": "a"})
    assert got["error"]["code"] == -32001


@pytest.mark.req("GTW-053")
async def test_a_cancel_that_comes_too_late_changes_nothing(house: House) -> None:
    """The unit that would answer is undone as a whole, and the refusal is receipted."""
    task = await _task(house)
    await house.approve(task)
    await house.carry_out()
    got = await house.rpc("CancelTask", {"id": task})
    assert got["error"]["code"] == -32002
    assert (await house.bench.gate.find(task)).state.value == "executed"
    assert (await house.receipts())[-1].kind == "crossing.refused"


@pytest.mark.req("GTW-034", "GTW-053")
async def test_a_stream_follows_what_another_process_decides(house: House, location: str, tmp_path: Path) -> None:
    """A second house on the same database says no, and the first one's stream tells of it and ends."""
    client = await house.client("1.0", "JSONRPC", streaming=True)
    message = new_data_message(data={"act": "take_note", "arguments": {"text": "milk"}}, role=Role.ROLE_USER)
    told = []
    async with open_gateway(tmp_path, location=location) as other:
        async for event in client.send_message(SendMessageRequest(message=message)):
            told.append(event.WhichOneof("payload"))
            if event.HasField("task"):
                await other.gate.reject(event.task.id, OWNER, reason="no")
            else:
                state = event.status_update.status.state
    assert (told, state) == (["task", "status_update"], TaskState.TASK_STATE_REJECTED)
