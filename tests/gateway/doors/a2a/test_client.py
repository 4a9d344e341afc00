"""The official client speaks both versions by both bindings, unchanged but for an auth object that signs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from a2a.client.errors import A2AClientError
from a2a.helpers import new_data_message, new_text_message
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Answer, Consent, Evidence, Question
from tests.gateway.doors.a2a.house import OWNER, House, ask, open_house

EACH = pytest.mark.parametrize(
    ("version", "binding"), [("1.0", "JSONRPC"), ("1.0", "HTTP+JSON"), ("0.3", "JSONRPC"), ("0.3", "HTTP+JSON")]
)
_SECOND = timedelta(seconds=1)
NEW = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
pytestmark = pytest.mark.anyio


@EACH
@pytest.mark.req("GTW-003")
async def test_a_disclosure_is_a_completed_task_that_can_be_read_again(
    house: House, version: str, binding: str
) -> None:
    """The answer is a task with the result as its artifact, and polling for it finds the same."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "echo", {"text": "hello"})
    task = event.task
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].data.struct_value["text"] == "hello"
    assert await client.get_task(GetTaskRequest(id=task.id)) == task


@EACH
@pytest.mark.req("GTW-034")
async def test_a_blocking_send_returns_at_once_and_polling_follows_the_decision(
    house: House, version: str, binding: str
) -> None:
    """Submitted, then working, then completed with the result: read from the task alone."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "take_note", {"text": "milk"})
    id_ = event.task.id
    seen = [event.task.status.state]
    await house.approve(id_)
    seen.append((await client.get_task(GetTaskRequest(id=id_))).status.state)
    await house.carry_out()
    done = await client.get_task(GetTaskRequest(id=id_))
    seen.append(done.status.state)
    assert seen == [
        TaskState.TASK_STATE_SUBMITTED,
        TaskState.TASK_STATE_WORKING,
        TaskState.TASK_STATE_COMPLETED,
    ]
    assert done.artifacts[0].parts[0].data.struct_value["noted"] is True
    assert list(house.bench.notes.taken.values()) == ["milk"]


@EACH
@pytest.mark.req("GTW-034")
async def test_a_persons_no_is_a_rejected_task_with_its_reason(house: House, version: str, binding: str) -> None:
    """No is no failure: the state is rejected, and the words say why."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "take_note", {"text": "milk"})
    await house.bench.gate.reject(event.task.id, OWNER, reason="we have some")
    task = await client.get_task(GetTaskRequest(id=event.task.id))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert task.status.message.parts[0].text == "A person said no: we have some"


@EACH
@pytest.mark.req("GTW-003", "GTW-034")
async def test_a_stream_follows_the_task_to_its_end(house: House, version: str, binding: str) -> None:
    """First the task, then each state, the artifact before the end; then the stream closes by itself."""
    client = await house.client(version, binding, streaming=True)
    message = new_data_message(data={"act": "take_note", "arguments": {"text": "milk"}}, role=Role.ROLE_USER)
    told: list[str] = []
    async for event in client.send_message(SendMessageRequest(message=message)):
        told.append(_tell(event))
        if event.HasField("task"):
            await house.approve(event.task.id)
        elif told[-1] == "status TASK_STATE_WORKING":
            await house.carry_out()
    assert told == [
        "task TASK_STATE_SUBMITTED",
        "status TASK_STATE_WORKING",
        "artifact take_note",
        "status TASK_STATE_COMPLETED",
    ]


@EACH
@pytest.mark.req("GTW-003")
async def test_a_streamed_disclosure_is_one_event(house: House, version: str, binding: str) -> None:
    """It is over when it is told of, so the stream ends after its first event."""
    client = await house.client(version, binding, streaming=True)
    events = await ask(client, "echo", {"text": "hello"})
    assert [_tell(each) for each in events] == ["task TASK_STATE_COMPLETED"]


@EACH
@pytest.mark.req("GTW-003")
async def test_a_task_can_be_subscribed_to_again(house: House, version: str, binding: str) -> None:
    """The subscription begins with the task as it stands, and goes on from there."""
    client = await house.client(version, binding, streaming=True)
    (event,) = await ask(await house.client(version, binding), "take_note", {"text": "milk"})
    told: list[str] = []
    async for each in client.subscribe(SubscribeToTaskRequest(id=event.task.id)):
        told.append(_tell(each))
        if len(told) == 1:
            await house.bench.gate.reject(event.task.id, OWNER, reason="no")
    assert told == ["task TASK_STATE_SUBMITTED", "status TASK_STATE_REJECTED"]


@EACH
@pytest.mark.req("GTW-003", "GTW-034")
async def test_canceling_withdraws_the_proposal_once(house: House, version: str, binding: str) -> None:
    """The Gate's proposal is withdrawn; a second cancel is refused as not cancelable."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "take_note", {"text": "milk"})
    task = await client.cancel_task(CancelTaskRequest(id=event.task.id))
    assert task.status.state == TaskState.TASK_STATE_CANCELED
    assert (await house.bench.gate.find(event.task.id)).state.value == "withdrawn"
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=event.task.id))


@EACH
@pytest.mark.req("GTW-003")
async def test_a_text_alone_is_a_search(house: House, version: str, binding: str) -> None:
    """What somebody just says is looked up."""
    client = await house.client(version, binding)
    message = new_text_message("oil change", role=Role.ROLE_USER)
    (event,) = [each async for each in client.send_message(SendMessageRequest(message=message))]
    assert event.task.artifacts[0].parts[0].data.struct_value["query"] == "oil change"


@EACH
@pytest.mark.req("GTW-003")
async def test_a_whole_number_survives_protobuf(house: House, version: str, binding: str) -> None:
    """Protobuf has only doubles, so 3 arrives as 3.0; an act that wants a whole number gets one."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "semantic_search", {"query": "oil", "limit": 3})
    assert event.task.artifacts[0].parts[0].data.struct_value["limit"] == 3


@EACH
@pytest.mark.req("GTW-003")
async def test_another_agents_task_is_not_found(house: House, version: str, binding: str) -> None:
    """The official client raises the same error as for a task that never was."""
    (event,) = await ask(await house.client(version, binding), "take_note", {"text": "milk"})
    other = await house.client(version, binding, agent="bob")
    for id_ in (event.task.id, "prop_never"):
        with pytest.raises(TaskNotFoundError):
            await other.get_task(GetTaskRequest(id=id_))
        with pytest.raises(TaskNotFoundError):
            await other.cancel_task(CancelTaskRequest(id=id_))


@EACH
@pytest.mark.req("GTW-003")
async def test_push_configurations_are_kept_without_giving_credentials_back(
    house: House, version: str, binding: str
) -> None:
    """What was set is read again, but for the credentials."""
    client = await house.client(version, binding)
    (event,) = await ask(client, "take_note", {"text": "milk"})
    config = TaskPushNotificationConfig(
        task_id=event.task.id, id="mine", url="https://agent.example/told", token="t0ken"
    )
    config.authentication.scheme = "Bearer"
    config.authentication.credentials = "s3cret"
    await client.create_task_push_notification_config(config)
    read = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=event.task.id, id="mine")
    )
    config.authentication.credentials = ""
    assert read == config


@NEW
@pytest.mark.req("GTW-003")
async def test_push_configurations_are_listed_and_deleted(house: House, binding: str) -> None:
    """Deleting twice is no error; a deleted one is not found."""
    client = await house.client("1.0", binding)
    (event,) = await ask(client, "take_note", {"text": "milk"})
    for name in ("a", "b"):
        await client.create_task_push_notification_config(
            TaskPushNotificationConfig(task_id=event.task.id, id=name, url=f"https://agent.example/{name}")
        )
    wanted = ListTaskPushNotificationConfigsRequest(task_id=event.task.id)
    listed = await client.list_task_push_notification_configs(wanted)
    assert [each.id for each in listed.configs] == ["a", "b"]
    gone = DeleteTaskPushNotificationConfigRequest(task_id=event.task.id, id="a")
    await client.delete_task_push_notification_config(gone)
    await client.delete_task_push_notification_config(gone)
    listed = await client.list_task_push_notification_configs(wanted)
    assert [each.id for each in listed.configs] == ["b"]
    with pytest.raises(TaskNotFoundError):
        await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=event.task.id, id="a")
        )


@NEW
@pytest.mark.req("GTW-003")
async def test_tasks_are_listed_page_by_page_and_by_state(house: House, binding: str) -> None:
    """Those that moved last come first; the last page has an empty token; a filter counts what it keeps."""
    client = await house.client("1.0", binding)
    ids = []
    for number in range(3):
        house.bench.clock.advance(_SECOND)
        (event,) = await ask(client, "take_note", {"text": str(number)})
        ids.append(event.task.id)
    house.bench.clock.advance(_SECOND)
    await house.bench.gate.reject(ids[0], OWNER, reason="no")
    first = await client.list_tasks(ListTasksRequest(page_size=2))
    rest = await client.list_tasks(ListTasksRequest(page_size=2, page_token=first.next_page_token))
    assert [each.id for page in (first, rest) for each in page.tasks] == [ids[0], ids[2], ids[1]]
    assert (first.total_size, rest.next_page_token) == (3, "")
    kept = await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_REJECTED))
    assert [each.id for each in kept.tasks] == [ids[0]]
    assert kept.total_size == 1


@NEW
@pytest.mark.req("GTW-003")
async def test_listing_leaves_artifacts_and_history_out_unless_wanted(house: House, binding: str) -> None:
    """Artifacts come when they are asked for; a history of length 0 is none."""
    client = await house.client("1.0", binding)
    await ask(client, "echo", {"text": "hello"})
    (bare,) = (await client.list_tasks(ListTasksRequest(history_length=0))).tasks
    (full,) = (await client.list_tasks(ListTasksRequest(include_artifacts=True))).tasks
    assert (len(bare.artifacts), len(bare.history)) == (0, 0)
    assert (len(full.artifacts), len(full.history)) == (1, 1)


@EACH
@pytest.mark.req("GTW-003")
async def test_the_extended_card_lists_the_acts(house: House, version: str, binding: str) -> None:
    """What there is to ask for is told to agents only."""
    client = await house.client(version, binding)
    card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert {"echo", "take_note", "call_neighbour"} <= {skill.id for skill in card.skills}


@NEW
@pytest.mark.req("GTW-003")
async def test_a_message_to_a_task_that_is_over_is_unsupported(house: House, binding: str) -> None:
    """So is subscribing to one."""
    client = await house.client("1.0", binding, streaming=True)
    (event,) = await ask(client, "echo", {"text": "hello"})
    message = new_text_message("more", role=Role.ROLE_USER, task_id=event.task.id)
    with pytest.raises(UnsupportedOperationError):
        await _drain(client.send_message(SendMessageRequest(message=message)))
    with pytest.raises(UnsupportedOperationError):
        await _drain(client.subscribe(SubscribeToTaskRequest(id=event.task.id)))


@NEW
@pytest.mark.req("GTW-010", "GTW-014")
async def test_a_revoked_key_is_an_error_to_the_client(house: House, binding: str) -> None:
    """A denial is never taken for success."""
    client = await house.client("1.0", binding)
    await ask(client, "echo", {"text": "hello"})
    await house.bench.agents.revoke(house.keys["ada"].key_id, by="ada")
    with pytest.raises(A2AClientError):
        await ask(client, "echo", {"text": "hello"})


async def _suspend(house: House) -> None:
    await house.bench.agents.suspend(house.keys["ada"].agent.id, by="ada", reason="holiday")


async def _rotate(house: House) -> None:
    await house.bench.agents.rotate(house.keys["ada"].agent.id, by="ada")


@pytest.mark.parametrize("end", [_suspend, _rotate])
@pytest.mark.req("GTW-010")
async def test_a_stream_ends_with_the_key_it_was_opened_with(
    house: House, end: Callable[[House], Awaitable[None]]
) -> None:
    """Suspended or revoked: nothing more is told, not even how it ended."""
    client = await house.client("1.0", "JSONRPC", streaming=True)
    message = new_data_message(data={"act": "take_note", "arguments": {"text": "milk"}}, role=Role.ROLE_USER)
    told = []
    with anyio.fail_after(30):
        async for event in client.send_message(SendMessageRequest(message=message)):
            told.append(_tell(event))
            if event.HasField("task"):
                await end(house)
                await house.bench.gate.reject(event.task.id, OWNER, reason="a secret of ours")
    assert told == ["task TASK_STATE_SUBMITTED"]


class Booking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is booked."""

    day: str


def register_booking(registry: Registry) -> None:
    """An act that finds at its first run that one more signature is missing."""
    asked: list[str] = []

    async def book(arguments: Booking, _consent: Consent | None) -> Mapping[str, Any] | Question:
        if not asked:
            asked.append(arguments.day)
            return Question(kind="offer", title="The offer", text="Yes?", document=b"{}", media_type="application/json")
        return {"booked": arguments.day}

    act = Act(
        name="book", act_class=ActClass.EXECUTION, title="Book", description="Books.", arguments=Booking,
        touches_others=False, repeats=Repeats.IDEMPOTENT,
    )  # fmt: skip
    registry.register(act, book)


class Signed:
    """What the person signed midway is their limits."""

    async def consent(
        self, _act: str, _arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        if not answers:
            return None
        return Consent(
            by="ada", evidence=Evidence.SIGNED_LIMITS, subject_sha256="x" * 43, mode="human_present",
            document=answers[-1].document,
        )  # fmt: skip


@EACH
@pytest.mark.req("GTW-032", "GTW-034")
async def test_a_signature_missing_midway_is_auth_required(tmp_path: Path, version: str, binding: str) -> None:
    """The stream goes on over it: somebody outside the conversation has to sign, and then it is done."""
    async with open_house(tmp_path, register=register_booking, sources=[Signed()]) as house:
        client = await house.client(version, binding, streaming=True)
        message = new_data_message(data={"act": "book", "arguments": {"day": "Thursday"}}, role=Role.ROLE_USER)
        told: list[str] = []
        async for event in client.send_message(SendMessageRequest(message=message)):
            told.append(_tell(event))
            match told[-1]:
                case "task TASK_STATE_SUBMITTED":
                    id_ = event.task.id
                    await house.approve(id_)
                    await house.carry_out()
                case "status TASK_STATE_AUTH_REQUIRED":
                    signed = Answer(granted=True, document="signed")
                    await house.bench.gate.answer(id_, OWNER, signed)
                    await house.carry_out()
    # Approved and begun may be told with what follows them, as moves in quick succession are.
    assert [each for each in told if each != "status TASK_STATE_WORKING"] == [
        "task TASK_STATE_SUBMITTED",
        "status TASK_STATE_AUTH_REQUIRED",
        "artifact book",
        "status TASK_STATE_COMPLETED",
    ]


def _tell(event: StreamResponse) -> str:
    match event.WhichOneof("payload"):
        case "task":
            return f"task {TaskState.Name(event.task.status.state)}"
        case "status_update":
            return f"status {TaskState.Name(event.status_update.status.state)}"
        case "artifact_update":
            return f"artifact {event.artifact_update.artifact.name}"
        case other:
            return str(other)


async def _drain(events: AsyncIterator[StreamResponse]) -> None:
    async for _ in events:
        pass
