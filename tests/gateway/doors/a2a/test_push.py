"""Push notifications: told once per move, to a public address only, tried again, receipted (GTW-003)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpcore2
import pytest
from a2a.types import StreamResponse, TaskPushNotificationConfig
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.core import strictjson
from sayso.gateway.doors.a2a.notices import Notices
from sayso.gateway.doors.a2a.tasks import Tasks
from sayso.gateway.pushing import Pusher
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from tests.gateway.doors.a2a.house import OWNER, House, ask, data, open_house

pytestmark = pytest.mark.anyio
HOOK = "https://agent.example/told"


@dataclass
class Hook:
    """An agent's own server; `statuses` are what it answers, in order, and then 200, each with `content`."""

    statuses: list[int] = field(default_factory=list)
    content: bytes = b""
    got: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    arrived: anyio.Event = field(default_factory=anyio.Event)

    async def take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), strictjson.parse(await request.body())))
        self.arrived.set()
        return Response(self.content, self.statuses.pop(0) if self.statuses else 200)


@asynccontextmanager
async def open_with_hook(folder: Path, hook: Hook) -> AsyncIterator[tuple[House, Pusher]]:
    """A house whose local settings lead the agent's name to a server on loopback."""
    app = Starlette(routes=[Route("/told", hook.take, methods=["POST"])])
    async with serving(app) as address:
        fetcher = Fetcher({"agent.example": f"127.0.0.1:{address.port}"})
        async with open_house(folder, fetcher=fetcher) as house:
            bench = house.bench
            yield house, Pusher(bench.store, bench.ledger, fetcher, bench.clock, "w1")


async def _push_all(house: House, pusher: Pusher) -> None:
    while await house.a2a.notices.tell_due():
        pass
    while await pusher.send_due():
        pass


async def _propose(house: House, *, version: str = "1.0") -> str:
    """A proposal that is pushed, under a token and a credential."""
    push = {"url": HOOK, "token": "t0ken", "authentication": {"scheme": "Bearer", "credentials": "s3cret"}}
    if version == "1.0":
        params = data("take_note", text="milk") | {"configuration": {"taskPushNotificationConfig": push}}
        return str((await house.rpc("SendMessage", params))["result"]["task"]["id"])
    part = {"kind": "data", "data": {"act": "take_note", "arguments": {"text": "milk"}}}
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": [part]}
    old = {**push, "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"}}
    params = {"message": message, "configuration": {"pushNotificationConfig": old}}
    return str((await house.rpc("message/send", params, version="0.3"))["result"]["id"])


@pytest.mark.req("GTW-003", "GTW-034")
async def test_each_move_is_pushed_to_the_agents_own_server(tmp_path: Path) -> None:
    """1.0 is sent a StreamResponse the official client reads; nothing is sent for what the answer told already."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await _push_all(house, pusher)
        assert hook.got == []
        await house.approve(id_)
        await _push_all(house, pusher)
        await house.carry_out()
        await _push_all(house, pusher)
    told = [ParseDict(body, StreamResponse()).task for _, body in hook.got]
    assert [each.id for each in told] == [id_, id_]
    states = [body["task"]["status"]["state"] for _, body in hook.got]
    assert states == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
    headers = hook.got[0][0]
    assert headers["x-a2a-notification-token"] == "t0ken"
    assert headers["authorization"] == "Bearer s3cret"
    assert headers["content-type"] == "application/a2a+json"
    assert headers["host"] == "agent.example"


@pytest.mark.req("GTW-003")
async def test_0_3_is_pushed_the_task_itself(tmp_path: Path) -> None:
    """In the version the configuration was asked for in."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house, version="0.3")
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
    ((headers, body),) = hook.got
    assert (body["kind"], body["id"], body["status"]["state"]) == ("task", id_, "rejected")
    assert headers["authorization"] == "Bearer s3cret"


@pytest.mark.req("GTW-003")
async def test_the_running_house_pushes_by_itself(tmp_path: Path) -> None:
    """Watcher and sender wake by the Gate's moves and the outbox; the official client set the configuration."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher), anyio.create_task_group() as group:
        group.start_soon(house.a2a.notices.run)
        group.start_soon(pusher.run)
        client = await house.client("1.0", "JSONRPC")
        (event,) = await ask(client, "take_note", {"text": "milk"})
        config = TaskPushNotificationConfig(task_id=event.task.id, url=HOOK)
        await client.create_task_push_notification_config(config)
        await house.bench.gate.reject(event.task.id, OWNER, reason="no")
        with anyio.fail_after(30):
            await hook.arrived.wait()
        group.cancel_scope.cancel()
    assert hook.got[0][1]["task"]["status"]["state"] == "TASK_STATE_REJECTED"


@pytest.mark.req("GTW-003")
async def test_two_watchers_push_a_move_once(tmp_path: Path) -> None:
    """Whoever notes it first puts it into the outbox."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        bench = house.bench
        other = Notices(bench.store, Tasks(bench.store, bench.gate, "ada"), "ada", lambda _view, _agent: True)
        id_ = await _propose(house)
        await bench.gate.reject(id_, OWNER, reason="no")
        async with anyio.create_task_group() as group:
            group.start_soon(other.tell_due)
            group.start_soon(house.a2a.notices.tell_due)
        await _push_all(house, pusher)
    assert len(hook.got) == 1


@pytest.mark.req("GTW-010")
async def test_an_agent_without_a_key_is_pushed_nothing(tmp_path: Path) -> None:
    """Its last key was taken back; one of two is not the last."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        agents, first = house.bench.agents, await _propose(house)
        second = await _propose(house)
        newer = await agents.rotate(house.keys["ada"].agent.id, by="ada", keep_old=True)
        await agents.revoke(house.keys["ada"].key_id, by="ada")
        await house.bench.gate.reject(first, OWNER, reason="no")
        await _push_all(house, pusher)
        assert len(hook.got) == 1
        await agents.revoke(newer.key_id, by="ada")
        await house.bench.gate.reject(second, OWNER, reason="a secret of ours")
        await _push_all(house, pusher)
    assert len(hook.got) == 1


@pytest.mark.req("GTW-003")
async def test_configurations_go_with_the_last_push(tmp_path: Path) -> None:
    """They stay while the task goes on; at its end there is nothing left to tell, and nobody looks at them again."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.approve(id_)
        await _push_all(house, pusher)
        listed = await house.rpc("ListTaskPushNotificationConfigs", {"taskId": id_})
        assert len(listed["result"]["configs"]) == 1
        await house.carry_out()
        await _push_all(house, pusher)
        listed = await house.rpc("ListTaskPushNotificationConfigs", {"taskId": id_})
        assert listed["result"]["configs"] == []
    assert [body["task"]["status"]["state"] for _, body in hook.got] == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


@pytest.mark.req("GTW-010")
async def test_a_suspended_agent_is_pushed_nothing(tmp_path: Path) -> None:
    """Neither while it is suspended nor afterwards what it missed."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        agent = house.keys["ada"].agent.id
        await house.bench.agents.suspend(agent, by="ada", reason="holiday")
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        await house.bench.agents.reissue(agent, by="ada")
        await _push_all(house, pusher)
    assert hook.got == []


@pytest.mark.req("GTW-003")
async def test_what_does_not_arrive_is_tried_again_later(tmp_path: Path) -> None:
    """After a pause that grows; then it arrives, and its receipt says at which attempt."""
    hook = Hook(statuses=[500, 503])
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        assert len(hook.got) == 1
        house.bench.clock.advance(timedelta(seconds=5))
        await _push_all(house, pusher)
        house.bench.clock.advance(timedelta(seconds=5))
        await _push_all(house, pusher)
        assert len(hook.got) == 2
        house.bench.clock.advance(timedelta(seconds=5))
        await _push_all(house, pusher)
        last = (await house.receipts())[-1]
    assert len(hook.got) == 3
    assert (last.kind, last.body["attempt"], last.body["about"]) == ("push.delivered", 3, id_)


@pytest.mark.req("GTW-003")
async def test_a_wordy_answer_is_an_arrival(tmp_path: Path) -> None:
    """A receiver that says yes in a whole page is not told the same again."""
    hook = Hook(content=b"<p>Thank you.</p>" * 1000)
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        last = (await house.receipts())[-1]
    assert (len(hook.got), last.kind) == (1, "push.delivered")


@pytest.mark.req("GTW-003")
async def test_what_never_arrives_is_given_up_and_receipted(tmp_path: Path) -> None:
    """After eight attempts."""
    hook = Hook(statuses=[500] * 20)
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await house.a2a.notices.tell_due()
        for _ in range(10):
            await pusher.send_due()
            house.bench.clock.advance(timedelta(hours=1))
        last = (await house.receipts())[-1]
    assert len(hook.got) == 8
    assert (last.kind, last.body["code"], last.body["attempt"]) == ("push.given_up", "status_500", 8)


@pytest.mark.parametrize(
    "url",
    [
        "http://agent.example/told",
        "https://127.0.0.1/told",
        "https://localhost/told",
        "https://[::1]/told",
        "https://169.254.169.254/latest/meta-data",
        "https://agent.example:8443/told",
        "https://user:pw@agent.example/told",
        "file:///etc/passwd",
        "told",
        "",
    ],
)
@pytest.mark.req("GTW-003")
async def test_an_address_nobody_may_name_is_refused_when_it_is_set(house: House, url: str) -> None:
    """As bad parameters, and nothing is kept or proposed."""
    params = data("take_note", text="milk") | {"configuration": {"taskPushNotificationConfig": {"url": url}}}
    assert (await house.rpc("SendMessage", params))["error"]["code"] == -32602
    assert await house.bench.gate.list() == []
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    got = await house.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": url})
    assert got["error"]["code"] == -32602
    listed = await house.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
    assert listed["result"]["configs"] == []


class Turning:
    """A resolver that leads a name inside; nothing is ever dialled."""

    def __init__(self) -> None:
        self.dialled: list[str] = []

    async def addresses(self, host: str) -> Sequence[str]:
        return ["10.0.0.5"] if host == "agent.example" else ["93.184.216.34"]

    async def connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        self.dialled.append(address)
        raise OSError("nobody dials in this test")


@pytest.mark.req("GTW-003")
async def test_a_name_that_leads_inside_is_judged_when_it_is_dialled(tmp_path: Path) -> None:
    """The address was fine as text; where it leads is looked at for each sending, and it is given up at once."""
    network = Turning()
    fetcher = Fetcher(network=network)
    async with open_house(tmp_path, fetcher=fetcher) as house:
        pusher = Pusher(house.bench.store, house.bench.ledger, fetcher, house.bench.clock, "w1")
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        last = (await house.receipts())[-1]
    assert network.dialled == []
    assert (last.kind, last.body["code"], last.body["attempt"]) == ("push.given_up", "url_not_allowed", 1)


@pytest.mark.req("GTW-003")
async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    """It would lead where nobody judged; it is given up at once."""
    hook = Hook(statuses=[307])
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        last = (await house.receipts())[-1]
    assert (len(hook.got), last.body["code"]) == (1, "redirect_refused")


@pytest.mark.parametrize("secret", ["a\r\nX-Evil: 1", "t\u00f6ken", "tab\tbed", "x" * 1025, " led", "trailed "])
@pytest.mark.req("GTW-003")
async def test_a_secret_that_no_header_carries_is_refused_untold(house: House, secret: str) -> None:
    """And the refusal does not repeat it."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    for more in ({"token": secret}, {"authentication": {"scheme": "Bearer", "credentials": secret}}):
        got = await house.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": HOOK, **more})
        assert got["error"]["code"] == -32602
        assert secret not in str(got)


@pytest.mark.req("GTW-003")
async def test_a_task_has_eight_configurations_at_most(house: House) -> None:
    """A ninth is refused; one with a known id replaces it."""
    task = (await house.rpc("SendMessage", data("take_note", text="milk")))["result"]["task"]
    for number in range(8):
        config = {"taskId": task["id"], "id": str(number), "url": HOOK}
        assert "result" in await house.rpc("CreateTaskPushNotificationConfig", config)
    assert "error" in await house.rpc("CreateTaskPushNotificationConfig", {**config, "id": "more"})
    moved = {**config, "url": "https://agent.example/elsewhere"}
    await house.rpc("CreateTaskPushNotificationConfig", moved)
    got = await house.rpc("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "7"})
    assert got["result"]["url"] == "https://agent.example/elsewhere"


@pytest.mark.req("GTW-050")
async def test_no_receipt_holds_an_address_or_a_secret(tmp_path: Path) -> None:
    """Hashes and ids only."""
    hook = Hook()
    async with open_with_hook(tmp_path, hook) as (house, pusher):
        id_ = await _propose(house)
        await house.bench.gate.reject(id_, OWNER, reason="no")
        await _push_all(house, pusher)
        written = str(await house.receipts()) + str(await house.bench.ledger.records())
    assert len(hook.got) == 1
    for word in ("agent.example", "s3cret", "t0ken", "milk"):
        assert word not in written
