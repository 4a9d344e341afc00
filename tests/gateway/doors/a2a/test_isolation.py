"""Another agent's task is exactly like a missing one, on every operation of both versions and bindings (GTW-003)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.doors.a2a.house import BASE, House, data

pytestmark = pytest.mark.anyio
CONFIG = {"url": "https://agent.example/told"}
MISSING = "prop_aaaaaaaaaaaaaaaaaaaaaaaaaa"


def rpc_calls(id_: str) -> list[tuple[str, str, Any]]:
    """Every operation that names a task."""
    reply = {"messageId": "m", "taskId": id_}
    return [
        ("1.0", "GetTask", {"id": id_}),
        ("1.0", "CancelTask", {"id": id_}),
        ("1.0", "SubscribeToTask", {"id": id_}),
        ("1.0", "SendMessage", {"message": {**reply, "role": "ROLE_USER", "parts": [{"text": "x"}]}}),
        ("1.0", "SendStreamingMessage", {"message": {**reply, "role": "ROLE_USER", "parts": [{"text": "x"}]}}),
        ("1.0", "CreateTaskPushNotificationConfig", {"taskId": id_, **CONFIG}),
        ("1.0", "GetTaskPushNotificationConfig", {"taskId": id_, "id": "a"}),
        ("1.0", "ListTaskPushNotificationConfigs", {"taskId": id_}),
        ("1.0", "DeleteTaskPushNotificationConfig", {"taskId": id_, "id": "a"}),
        ("0.3", "tasks/get", {"id": id_}),
        ("0.3", "tasks/cancel", {"id": id_}),
        ("0.3", "tasks/resubscribe", {"id": id_}),
        (
            "0.3",
            "message/send",
            {"message": {**reply, "kind": "message", "role": "user", "parts": [{"kind": "text", "text": "x"}]}},
        ),
        ("0.3", "tasks/pushNotificationConfig/set", {"taskId": id_, "pushNotificationConfig": CONFIG}),
        ("0.3", "tasks/pushNotificationConfig/get", {"id": id_, "pushNotificationConfigId": "a"}),
        ("0.3", "tasks/pushNotificationConfig/list", {"id": id_}),
        ("0.3", "tasks/pushNotificationConfig/delete", {"id": id_, "pushNotificationConfigId": "a"}),
    ]


def rest_calls(id_: str) -> list[tuple[str, str, str, Any]]:
    """The same by REST."""
    task, old = f"/tasks/{id_}", f"/v1/tasks/{id_}"
    return [
        ("1.0", "GET", task, None),
        ("1.0", "POST", f"{task}:cancel", None),
        ("1.0", "POST", f"{task}:subscribe", None),
        ("1.0", "GET", f"{task}:subscribe", None),
        ("1.0", "POST", f"{task}/pushNotificationConfigs", CONFIG),
        ("1.0", "GET", f"{task}/pushNotificationConfigs", None),
        ("1.0", "GET", f"{task}/pushNotificationConfigs/a", None),
        ("1.0", "DELETE", f"{task}/pushNotificationConfigs/a", None),
        ("0.3", "GET", old, None),
        ("0.3", "POST", f"{old}:cancel", None),
        ("0.3", "POST", f"{old}:subscribe", None),
        ("0.3", "GET", f"{old}:subscribe", None),
        ("0.3", "POST", f"{old}/pushNotificationConfigs", {"config": {"pushNotificationConfig": CONFIG}}),
        ("0.3", "GET", f"{old}/pushNotificationConfigs", None),
        ("0.3", "GET", f"{old}/pushNotificationConfigs/a", None),
        ("0.3", "DELETE", f"{old}/pushNotificationConfigs/a", None),
    ]


async def _tasks(house: House) -> list[str]:
    """A pending proposal and a disclosure of one agent, each with a push configuration."""
    ids = []
    for params in (data("take_note", text="milk"), data("echo", text="hi")):
        task = (await house.rpc("SendMessage", params))["result"]["task"]
        await house.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "id": "a", **CONFIG})
        ids.append(task["id"])
    return ids


@pytest.mark.req("GTW-003")
async def test_by_json_rpc_another_agents_task_is_a_missing_one(house: House) -> None:
    """The same bytes but for nothing, since an answer does not repeat the id."""
    for id_ in await _tasks(house):
        for theirs, missing in zip(rpc_calls(id_), rpc_calls(MISSING), strict=True):
            answers = [
                await house.send(
                    "POST", BASE, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, agent="bob",
                    version=version,
                )
                for version, method, params in (theirs, missing)
            ]  # fmt: skip
            assert answers[0].content == answers[1].content, theirs
            assert answers[0].json()["error"]["code"] == -32001, theirs


@pytest.mark.req("GTW-003")
async def test_by_rest_another_agents_task_is_a_missing_one(house: House) -> None:
    """404 and the same bytes."""
    for id_ in await _tasks(house):
        for theirs, missing in zip(rest_calls(id_), rest_calls(MISSING), strict=True):
            answers = [
                await house.send(method, BASE + path, body, agent="bob", version=version)
                for version, method, path, body in (theirs, missing)
            ]
            assert answers[0].content == answers[1].content, theirs
            assert answers[0].status_code == 404, theirs


@pytest.mark.req("GTW-003")
async def test_what_another_agent_tried_has_changed_nothing(house: House) -> None:
    """Its owner finds task and configuration as they were, and the other lists nothing."""
    pending, _ = await _tasks(house)
    for version, method, params in rpc_calls(pending):
        await house.rpc(method, params, agent="bob", version=version)
    assert (await house.bench.gate.find(pending)).state.value == "pending"
    configs = (await house.rpc("ListTaskPushNotificationConfigs", {"taskId": pending}))["result"]["configs"]
    assert [each["id"] for each in configs] == ["a"]
    assert (await house.rpc("ListTasks", {}, agent="bob"))["result"]["totalSize"] == 0


@pytest.mark.req("GTW-003")
async def test_contexts_of_two_agents_do_not_mix(house: House) -> None:
    """The same context id means nothing across agents."""
    params = data("echo", text="hi")
    params["message"]["contextId"] = "shared"
    await house.rpc("SendMessage", params)
    await house.rpc("SendMessage", params, agent="bob")
    assert (await house.rpc("ListTasks", {"contextId": "shared"}))["result"]["totalSize"] == 1
