"""What stands on the wire: versions, shapes, states, errors, pages and streams (wire facts, section 5)."""

from __future__ import annotations

import json
import re
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest

from sayso.core.frames import SseDecoder
from sayso.governance.proposal import Ask
from tests.gateway.doors.a2a.house import BASE, OWNER, House, data, text

pytestmark = pytest.mark.anyio
OLD = {"message": {"kind": "message", "messageId": "m1", "role": "user", "parts": [
    {"kind": "data", "data": {"act": "take_note", "arguments": {"text": "milk"}}}]}}  # fmt: skip


def error_of(response: dict[str, Any]) -> tuple[int, str]:
    """Number and reason of a JSON-RPC error."""
    assert "result" not in response
    (info,) = response["error"]["data"]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert all(isinstance(value, str) for value in info["metadata"].values())
    return response["error"]["code"], info["reason"]


@pytest.mark.req("GTW-003")
async def test_a_method_of_1_0_without_the_version_is_refused(house: House) -> None:
    """No A2A-Version means 0.3."""
    got = await house.rpc("SendMessage", data("echo", text="hi"), version=None)
    assert error_of(got) == (-32009, "VERSION_NOT_SUPPORTED")
    assert got["error"]["data"][0]["domain"] == "a2a-protocol.org"


@pytest.mark.parametrize("version", ["0.2", "1.1", "2.0", "one", "1", "1.0.0.0", "1.0, 1.0"])
@pytest.mark.req("GTW-003")
async def test_a_version_nobody_speaks_is_refused(house: House, version: str) -> None:
    """Neither rounded nor guessed."""
    got = await house.rpc("SendMessage", data("echo", text="hi"), version=version)
    assert error_of(got) == (-32009, "VERSION_NOT_SUPPORTED")


@pytest.mark.parametrize("version", ["1.0", "1.0.1"])
@pytest.mark.req("GTW-003")
async def test_only_major_and_minor_count(house: House, version: str) -> None:
    """A patch version is the same version."""
    got = await house.rpc("SendMessage", data("echo", text="hi"), version=version)
    assert got["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.req("GTW-003")
async def test_the_version_may_stand_in_the_query(house: House) -> None:
    """And where both are given, they agree."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": data("echo", text="hi")}
    got = await house.send("POST", f"{BASE}?A2A-Version=1.0", body)
    assert got.json()["result"]["task"]["artifacts"][0]["parts"][0]["data"] == {"text": "hi"}
    got = await house.send("POST", f"{BASE}?A2A-Version=1.0", body, version="0.3")
    assert (got.status_code, got.json()["error"]["code"]) == (400, -32600)


@pytest.mark.req("GTW-003", "GTW-034")
async def test_0_3_has_kinds_and_lower_case_states(house: House) -> None:
    """Without a header the whole conversation is 0.3's."""
    task = (await house.rpc("message/send", OLD, version=None))["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "submitted")
    assert task["history"][0]["kind"] == "message"
    assert task["history"][0]["parts"][0] == OLD["message"]["parts"][0]
    gone = (await house.rpc("tasks/cancel", {"id": task["id"]}, version=None))["result"]
    assert gone["status"]["state"] == "canceled"


@pytest.mark.req("GTW-003")
async def test_1_0_has_no_kinds_and_upper_case_states(house: House) -> None:
    """Members tell variants apart."""
    sent = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]
    assert list(sent) == ["task"]
    assert sent["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert sent["task"]["history"][0]["role"] == "ROLE_USER"
    assert sent["task"]["status"]["message"]["role"] == "ROLE_AGENT"
    assert '"kind"' not in json.dumps(sent)


@pytest.mark.req("GTW-003")
async def test_instants_are_utc_with_milliseconds(house: House) -> None:
    """With Z, never an offset."""
    sent = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]
    assert re.fullmatch(r"2026-10-13T13:00:00\.\d{3}Z", sent["task"]["status"]["timestamp"])


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("GetTask", {"id": "nobodys"}, (-32001, "TASK_NOT_FOUND")),
        ("CancelTask", {"id": "nobodys"}, (-32001, "TASK_NOT_FOUND")),
        ("SubscribeToTask", {"id": "nobodys"}, (-32001, "TASK_NOT_FOUND")),
        ("GetTask", {}, (-32602, "INVALID_PARAMS")),
        ("GetTask", {"id": 7}, (-32602, "INVALID_PARAMS")),
        ("GetTask", {"id": "a\u0000b"}, (-32602, "INVALID_PARAMS")),
        ("GetTask", {"id": "x", "historyLength": -1}, (-32602, "INVALID_PARAMS")),
        ("GetTask", [], (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"pageSize": 0}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"pageSize": 101}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"pageToken": "garbage!"}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"status": "TASK_STATE_DREAMING"}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"statusTimestampAfter": "yesterday"}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", {"historyLength": -1}, (-32602, "INVALID_PARAMS")),
        ("ListTasks", [], (-32602, "INVALID_PARAMS")),
        ("ListTasks", "", (-32602, "INVALID_PARAMS")),
        ("ListTasks", False, (-32602, "INVALID_PARAMS")),
        ("DoMagic", {}, (-32601, "METHOD_NOT_FOUND")),
        ("message/send", {}, (-32601, "METHOD_NOT_FOUND")),
        ("SendMessage", data("no_such_act"), (-32602, "INVALID_PARAMS")),
        ("SendMessage", data("echo", words="hi"), (-32602, "INVALID_PARAMS")),
        ("SendMessage", data("take_note", text=1), (-32602, "INVALID_PARAMS")),
        ("SendMessage", text("  "), (-32602, "INVALID_PARAMS")),
        ("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}, (-32602, "INVALID_PARAMS")),
        (
            "SendMessage",
            {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}},
            (-32602, "INVALID_PARAMS"),
        ),
        (
            "SendMessage",
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": {"act": "echo", "more": 1}}]}},
            (-32602, "INVALID_PARAMS"),
        ),
        (
            "SendMessage",
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"raw": "aGk="}]}},
            (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
        ),
        (
            "SendMessage",
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x", "mediaType": "image/png"}]}},
            (-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
        ),
    ],
)
@pytest.mark.req("GTW-003", "GTW-021a")
async def test_an_error_of_the_protocol_rides_on_200(
    house: House, method: str, params: Any, expected: tuple[int, str]
) -> None:
    """With its number, and its reason in google.rpc details."""
    assert error_of(await house.rpc(method, params)) == expected


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "grpc", "reason"),
    [
        ("GET", "/tasks/nobodys", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("POST", "/tasks/nobodys:cancel", None, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        ("GET", "/tasks?pageSize=x", None, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/tasks?pageSize=1&pageSize=2", None, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        ("POST", "/message:send", {"message": 1}, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        ("GET", "/nowhere", None, 404, "NOT_FOUND", "NO_SUCH_PATH"),
        ("GET", "/message:send", None, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED"),
        ("PUT", "/tasks", None, 405, "UNIMPLEMENTED", "METHOD_NOT_ALLOWED"),
    ],
)
@pytest.mark.req("GTW-003", "GTW-022")
async def test_an_error_by_rest_has_its_status_and_googles_shape(
    house: House, method: str, path: str, body: Any, status: int, grpc: str, reason: str
) -> None:
    """`{"error": {code, status, message, details}}`, the first detail an ErrorInfo."""
    got = await house.send(method, BASE + path, body, version="1.0")
    error = got.json()["error"]
    assert (got.status_code, error["code"], error["status"]) == (status, status, grpc)
    assert error["details"][0]["reason"] == reason
    assert got.headers["content-type"] == "application/a2a+json"
    assert (status == 405) == ("allow" in got.headers)


@pytest.mark.req("GTW-003")
async def test_rest_paths_belong_to_their_version(house: House) -> None:
    """1.0 lost the /v1; neither is served to who speaks the other."""
    got = await house.send("GET", f"{BASE}/tasks")
    assert (got.status_code, got.json()["error"]["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")
    got = await house.send("GET", f"{BASE}/v1/tasks/x", version="1.0")
    assert (got.status_code, got.json()["type"]) == (400, "VersionNotSupportedError")
    got = await house.send("GET", f"{BASE}/v1/tasks/x")
    assert (got.status_code, got.json()["type"]) == (404, "TaskNotFoundError")


@pytest.mark.req("GTW-003")
async def test_rest_of_1_0_answers_bare_values_in_its_own_media_type(house: House) -> None:
    """No JSON-RPC around them."""
    got = await house.send("POST", f"{BASE}/message:send", data("echo", text="hi"), version="1.0")
    assert got.headers["content-type"] == "application/a2a+json"
    assert got.json()["task"]["artifacts"][0]["parts"][0] == {"data": {"text": "hi"}, "mediaType": "application/json"}


@pytest.mark.req("GTW-003")
async def test_a_stream_by_json_rpc_is_whole_responses_under_one_id(house: House) -> None:
    """0.3 says with `final` which update is the last."""
    events = await _stream(house, BASE, {"jsonrpc": "2.0", "id": "s", "method": "message/stream", "params": OLD}, None)
    assert {(each["jsonrpc"], each["id"]) for each in events} == {("2.0", "s")}
    results = [each["result"] for each in events]
    assert [each["kind"] for each in results] == ["task", "status-update"]
    assert (results[1]["final"], results[1]["status"]["state"]) == (True, "rejected")


@pytest.mark.req("GTW-003")
async def test_a_stream_by_rest_is_bare_stream_responses(house: House) -> None:
    """One member each, no `final` in 1.0."""
    events = await _stream(house, f"{BASE}/message:stream", data("take_note", text="milk"), "1.0")
    assert [list(each) for each in events] == [["task"], ["statusUpdate"]]
    assert "final" not in events[1]["statusUpdate"]


@pytest.mark.req("GTW-003")
async def test_a_page_token_is_always_there(house: House) -> None:
    """Empty at the end, also of an empty list."""
    got = (await house.rpc("ListTasks", {}))["result"]
    assert got == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


@pytest.mark.req("GTW-003")
async def test_a_history_of_length_nought_is_left_out_in_1_0_and_whole_in_0_3(house: House) -> None:
    """The versions read 0 differently."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    new = (await house.rpc("GetTask", {"id": task["id"], "historyLength": 0}))["result"]
    old = (await house.rpc("tasks/get", {"id": task["id"], "historyLength": 0}, version="0.3"))["result"]
    assert "history" not in new
    assert len(old["history"]) == 1


@pytest.mark.req("GTW-003")
async def test_what_a_reader_does_not_know_it_skips(house: House) -> None:
    """Members of a later version are no error in the envelope."""
    params = data("echo", text="hi") | {"novelty": {"x": [1]}}
    params["message"]["mood"] = "good"
    assert "result" in await house.rpc("SendMessage", params)


@pytest.mark.req("GTW-003")
async def test_a_context_is_kept_and_a_foreign_one_refused(house: House) -> None:
    """A message may name a context; a reply to a task names the task's own."""
    params = data("take_note", text="milk")
    params["message"]["contextId"] = "ctx-1"
    task = (await house.rpc("SendMessage", params))["result"]["task"]
    assert task["contextId"] == "ctx-1"
    listed = (await house.rpc("ListTasks", {"contextId": "ctx-1"}))["result"]
    assert [each["id"] for each in listed["tasks"]] == [task["id"]]
    assert (await house.rpc("ListTasks", {"contextId": "ctx-2"}))["result"]["totalSize"] == 0
    params["message"] |= {"taskId": task["id"], "contextId": "ctx-2"}
    assert error_of(await house.rpc("SendMessage", params)) == (-32602, "INVALID_PARAMS")
    params["message"]["contextId"] = "ctx-1"
    assert error_of(await house.rpc("SendMessage", params)) == (-32004, "UNSUPPORTED_OPERATION")


@pytest.mark.req("GTW-030", "GTW-034")
async def test_a_disclosure_that_fails_is_a_failed_task(house: House) -> None:
    """What the operation itself refuses is told in the status."""
    got = await house.rpc("SendMessage", data("proposal_status", proposal_id="nobodys"))
    status = got["result"]["task"]["status"]
    assert status["state"] == "TASK_STATE_FAILED"
    again = await house.rpc("GetTask", {"id": got["result"]["task"]["id"]})
    assert again["result"]["status"] == status


@pytest.mark.req("GTW-034")
async def test_a_proposal_of_another_door_can_be_read_here(house: House) -> None:
    """Polling by proposal id works at each door, whichever took it."""
    bench = house.bench
    await house.key()
    ask = Ask(
        agent=house.keys["ada"].agent.id, owner="ada", door="mcp", act="take_note", arguments={"text": "x"},
        scopes=house.keys["ada"].agent.scopes,
    )  # fmt: skip
    proposal = await bench.gate.file(bench.gate.prepare(ask))
    task = (await house.rpc("GetTask", {"id": proposal.id}))["result"]
    assert (task["id"], task["contextId"]) == (proposal.id, proposal.id)
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"


@pytest.mark.req("GTW-003")
async def test_a_deadline_that_passes_is_a_no(house: House) -> None:
    """Silence is a no: an expired proposal is a rejected task, and cannot be cancelled any more."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    house.bench.clock.advance(house.bench.gate.deadlines.decide)
    again = (await house.rpc("GetTask", {"id": task["id"]}))["result"]
    assert again["status"]["state"] == "TASK_STATE_REJECTED"
    assert error_of(await house.rpc("CancelTask", {"id": task["id"]})) == (-32002, "TASK_NOT_CANCELABLE")


@pytest.mark.req("GTW-003")
async def test_a_stream_that_waits_is_not_taken_for_dead(house: House) -> None:
    """httpx, which the official client reads with, gives up after five silent seconds; a comment comes before that."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    client = await house.http(**{"a2a-version": "1.0"})
    assert client.timeout.read == 5.0
    async with client.stream("GET", f"{BASE}/tasks/{task['id']}:subscribe") as response:
        chunks = response.aiter_raw()
        assert b"TASK_STATE_SUBMITTED" in await anext(chunks)
        assert await anext(chunks) == b":\n\n"


@pytest.mark.req("GTW-014", "GTW-030")
async def test_the_extended_card_lists_what_a_key_allows(house: House) -> None:
    """As every door does: a key that may only look finds nothing that changes anything."""
    await house.key()
    whole = {each["id"] for each in (await house.rpc("GetExtendedAgentCard", {}))["result"]["skills"]}
    assert {"echo", "take_note"} <= whole
    house.keys["reader"] = await house.bench.issue("reader", frozenset({"a2a", "disclose"}))
    card = (await house.rpc("GetExtendedAgentCard", {}, agent="reader"))["result"]
    acts = card["capabilities"]["extensions"][0]["params"]["acts"]
    assert {each["class"] for each in acts} == {"disclosure"}
    assert {each["id"] for each in card["skills"]} == {each["act"] for each in acts}


@pytest.mark.req("GTW-003")
async def test_a_ninth_stream_closes_the_oldest(house: House) -> None:
    """So that an agent cannot hold connections without end; what was closed can be taken up again."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    client = await house.http(**{"a2a-version": "1.0"})
    path = f"{BASE}/tasks/{task['id']}:subscribe"
    async with AsyncExitStack() as stack:
        streams = []
        for _ in range(9):
            response = await stack.enter_async_context(client.stream("GET", path))
            chunks = response.aiter_raw()
            assert b"TASK_STATE_SUBMITTED" in await anext(chunks)
            streams.append(chunks)
        with anyio.fail_after(30):
            assert [chunk async for chunk in streams[0]] == []
        await house.bench.gate.reject(task["id"], OWNER, reason="no")
        with anyio.fail_after(30):
            for chunks in streams[1:]:
                assert b"TASK_STATE_REJECTED" in b"".join([chunk async for chunk in chunks])


async def _stream(house: House, path: str, body: Any, version: str | None) -> list[Any]:
    client = await house.http()
    headers = {"content-type": "application/json"} | ({"a2a-version": version} if version else {})
    decoder, events = SseDecoder(), []
    async with client.stream("POST", path, content=json.dumps(body), headers=headers) as response:
        assert response.headers["content-type"] == "text/event-stream"
        async for chunk in response.aiter_raw():
            for event in decoder.feed(chunk):
                events.append(json.loads(event.data))
                if len(events) == 1:
                    (waiting,) = await house.bench.gate.list()
                    await house.bench.gate.reject(waiting.id, OWNER, reason="no")
    return events
