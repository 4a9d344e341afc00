"""Conversations in files: what stands in them, what a crash leaves, who may write, and what is refused by name."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop import saved, saved_file
from sayso.control.loop.conversations import (
    CallEnded,
    CallRequested,
    Closed,
    Compacted,
    ConversationEntry,
    ConversationTerms,
    ModelSwitched,
    OpenConversation,
    Opened,
    Retelling,
    Said,
    Step,
    Titled,
    title_of,
)
from sayso.control.loop.history import repair
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refused
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio

TERMS = ConversationTerms(
    permission="bypass", reasoning_level="low", compaction_policy=CompactionPolicy(kind="auto"), max_output_tokens=900
)
OPENED = Opened(model_ref="planner/one", settings=TERMS, workspace="/srv/project")
NOW = int(NOON.timestamp() * 1000)


def user(text: str) -> Said:
    return Said(message=Message(role="user", content=text))


def says(text: str) -> Said:
    return Said(message=Message(role="assistant", content=text))


def calls(*names: str) -> Said:
    parts = (ToolCallPart(tool_call_id=each, name="look", arguments_json={"q": 1}, carry="k") for each in names)
    return Said(message=Message(role="assistant", content=(TextPart(text="I look"), *parts)))


def ended(name: str, value: object = 1) -> CallEnded:
    return CallEnded(result=ToolResultPart(tool_call_id=name, result=value))


TALK: tuple[Step, ...] = (
    user("Look at\nboth"), calls("c1", "c2"), CallRequested(tool_call_id="c1"), ended("c1", {"a": [1.5, None]}),
    CallRequested(tool_call_id="c2"), ended("c2", "é\u2028"), says("done"), ModelSwitched(model_ref="x/two"),
    Titled(title="Both"), Closed(), user("thanks"),
)  # fmt: skip
MESSAGES = (
    TALK[0].message, TALK[1].message,  # type: ignore[union-attr]
    Message(role="tool", content=(TALK[3].result, TALK[5].result)),  # type: ignore[union-attr]
    TALK[6].message, TALK[10].message,  # type: ignore[union-attr]
)  # fmt: skip


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "sessions"


@pytest.fixture
def kept(folder: Path, clock: ManualClock) -> SavedConversations:
    return SavedConversations(folder, clock=clock)


async def begun(kept: SavedConversations, name: str, *steps: Step, opened: Opened = OPENED) -> OpenConversation:
    conversation = await kept.begin(name, opened)
    for step in steps:
        conversation.keep(step)
    await conversation.written()
    return conversation


async def made(kept: SavedConversations, name: str, *steps: Step) -> None:
    await (await begun(kept, name, *steps)).close()


def lines_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_bytes().split(b"\n")[:-1]]


def refusal(why: pytest.ExceptionInfo[Refused]) -> tuple[str, str | None]:
    return why.value.refusal.code, why.value.refusal.reason


# --- what is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-164")
async def test_a_conversation_is_loaded_as_it_was_kept(kept: SavedConversations, clock: ManualClock) -> None:
    """Messages to the last byte, the results behind the message that called, model, settings, title."""
    conversation = await begun(kept, "a", *TALK[:-1])
    clock.advance(timedelta(seconds=7))
    conversation.keep(TALK[-1])
    await conversation.close()
    found, again = await kept.resume("a")
    await again.close()
    assert found.messages == MESSAGES
    assert (found.native_id, found.model_ref, found.title, found.workspace) == ("a", "x/two", "Both", "/srv/project")
    assert (found.settings, found.unfinished, found.updated_at_ms) == (TERMS, (), NOW + 7000)


@pytest.mark.req("OAP-164")
async def test_a_file_is_its_owners_alone_and_holds_protocol_messages(kept: SavedConversations, folder: Path) -> None:
    """Mode 0600 in 0700, whatever the umask; each line a step, its count, and where the title and model stand."""
    before = os.umask(0)
    try:
        await made(kept, "a", user("hello"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a.jsonl").stat().st_mode) == 0o600
    first, said, title, closed = lines_of(folder, "a")
    shown = {"model_ref": "planner/one", "workspace": "/srv/project"}
    assert first == {
        "at_ms": NOW, "said": 0, "shown_at": 0, "shown": shown,
        "step": {
            "type": "opened", "format": 1, "model_ref": "planner/one", "workspace": "/srv/project",
            "settings": {
                "permission": "bypass", "reasoning_level": "low", "compaction_policy": {"kind": "auto"},
                "max_output_tokens": 900,
            },
        },
    }  # fmt: skip
    assert said["step"] == {"type": "message", "message": {"role": "user", "content": "hello"}}
    assert (said["said"], "shown" in said) == (1, False)
    assert title["shown"] == {**shown, "title": "hello"}
    assert closed["shown_at"] == title["shown_at"] > 0
    assert closed["step"] == {"type": "closed"}


@pytest.mark.req("OAP-154", "OAP-164")
@pytest.mark.parametrize("member", ["credential", "headers", "environment", "metadata"])
async def test_a_credential_has_no_place_in_a_conversation(kept: SavedConversations, folder: Path, member: str) -> None:
    """Records are closed: one with another member is none of ours."""
    await made(kept, "a")
    first, *rest = lines_of(folder, "a")
    first["step"][member] = "s3cret"
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in [first, *rest]))
    with pytest.raises(Refused) as refused:
        kept.load("a")
    assert refusal(refused) == ("unsupported_feature", "conversation_damaged")
    assert "s3cret" not in str(refused.value)


@pytest.mark.req("OAP-162", "OAP-164")
async def test_a_compacted_conversation_is_loaded_compacted(kept: SavedConversations) -> None:
    """The summary, the user's latest message, the tail; what was said is still counted."""
    summary = Message(role="user", content="[Summary]", metadata={"dev.sayso.summary": True})
    steps = (user("one"), says("1"), user("two"), calls("c1"), ended("c1"), calls("c2"), ended("c2"))
    await made(kept, "a", *steps, Compacted(summary=summary, kept=2, asks=True), says("2"))
    found = kept.load("a")
    assert [each.content for each in found.messages[:2]] == ["[Summary]", "two"]
    assert [each.role for each in found.messages] == ["user", "user", "assistant", "tool", "assistant"]
    assert kept.entries()[0].messages == 6


@pytest.mark.req("OAP-164")
async def test_a_call_that_had_reached_its_tool_is_named_when_it_has_no_result(kept: SavedConversations) -> None:
    """What it does may be done: the loop can say so, where history says only that there is no result."""
    await made(kept, "a", user("go"), calls("c1", "c2", "c3"), CallRequested(tool_call_id="c1"), ended("c1"),
               CallRequested(tool_call_id="c2"))  # fmt: skip
    found = kept.load("a")
    assert found.unfinished == ("c2",)
    assert len(repair(found.messages)[-1].content) == 3


@pytest.mark.req("OAP-164")
async def test_unfinished_calls_are_all_named(kept: SavedConversations) -> None:
    """A result ends its own call alone."""
    reached = [CallRequested(tool_call_id=name) for name in ("c1", "c2", "c3")]
    await made(kept, "a", user("go"), calls("c1", "c2", "c3"), *reached, ended("c2"))
    assert kept.load("a").unfinished == ("c1", "c3")


STEPS = st.sampled_from(
    [user("u"), says("a"), calls("c1"), calls("c2", "c3"), ended("c1"), ended("c2"), CallRequested(tool_call_id="c1"),
     ModelSwitched(model_ref="m"), Titled(title="t"), Closed(),
     Compacted(summary=Message(role="user", content="s"), kept=0)]
)  # fmt: skip


@pytest.mark.req("OAP-164")
@given(talk=st.lists(STEPS, max_size=12), breaks=st.sets(st.integers(0, 11)))
def test_what_is_read_back_is_what_was_told_however_often_it_was_reopened(
    talk: list[Step], breaks: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any steps, with the file closed and resumed between any two."""
    told = Retelling("a")
    told.hear(OPENED)

    async def check() -> None:
        kept = SavedConversations(tmp_path_factory.mktemp("kept") / "s", clock=ManualClock(NOON))
        conversation = await kept.begin("a", OPENED)
        for number, step in enumerate(talk):
            if number in breaks:
                await conversation.close()
                _, conversation = await kept.resume("a")
            conversation.keep(step)
            told.hear(step)
            if told.title is None and step == user("u"):
                told.hear(Titled(title="u"))
        await conversation.close()
        assert kept.load("a") == told.conversation(NOW)
        said = sum(isinstance(step, Said) for step in talk)
        listed = [(each.title, each.model_ref, each.messages) for each in kept.entries()]
        assert listed == ([(told.title, told.model_ref, said)] if said else [])

    anyio.run(check)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Book my oil change", "Book my oil change"),
        ("\n \t\n  Read\tthis\x1b[31m  now\nand that", "Read this [31m now"),
        ("x" * 90, "x" * 79 + "…"),
        ("\u202ehidden\u200b", "hidden"),
        (" \n\x00\n", None),
    ],
)
def test_a_title_is_the_first_line_that_says_something(text: str, expected: str | None) -> None:
    """No control character and nothing invisible reaches a list of titles."""
    assert title_of(Message(role="user", content=text)) == expected


# --- a process that dies ---------------------------------------------------------------------------------------------

CHILD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
import anyio
from sayso.control.loop.conversations import CallRequested, Opened, Said
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import Message, ToolCallPart
from sayso.core.clock import ManualClock

async def main():
    kept = SavedConversations(Path(sys.argv[1]), clock=ManualClock(datetime(2026, 10, 13, tzinfo=UTC)))
    talk = await kept.begin("a", Opened(model_ref="m"))
    for number in range(200):
        talk.keep(Said(message=Message(role="user", content=f"message {number}")))
    call = ToolCallPart(tool_call_id="c1", name="look", arguments_json={})
    talk.keep(Said(message=Message(role="assistant", content=(call,))))
    talk.keep(CallRequested(tool_call_id="c1"))
    await talk.written()
    print("in the middle of a call", flush=True)
    sys.stdin.read()

anyio.run(main)
"""


@pytest.mark.req("OAP-164")
async def test_a_killed_process_loses_nothing_it_had_written_and_the_conversation_goes_on(
    kept: SavedConversations, folder: Path
) -> None:
    """Killed in the middle of a tool call: while it lives nobody else writes; afterwards all of it is there."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "in the middle of a call\n"
            with pytest.raises(Refused) as busy:
                await kept.resume("a")
            assert refusal(busy) == ("session_exists", "conversation_in_use")
            assert busy.value.refusal.help
            assert kept.load("a").unfinished == ("c1",)
        finally:
            child.kill()
    found, conversation = await kept.resume("a")
    assert [each.content for each in found.messages[:200]] == [f"message {number}" for number in range(200)]
    assert found.unfinished == ("c1",)
    conversation.keep(ended("c1", "after all"))
    conversation.keep(says("done"))
    await conversation.close()
    assert [each.role for each in kept.load("a").messages[-3:]] == ["assistant", "tool", "assistant"]


@pytest.mark.req("OAP-164")
async def test_a_torn_tail_was_never_written_wherever_it_was_cut(kept: SavedConversations, folder: Path) -> None:
    """The whole lines count; the rest is passed over by a reader, and cut once it is resumed and steps follow."""
    await made(kept, "a", *TALK)
    path = folder / "a.jsonl"
    whole = path.read_bytes()
    for size in {*range(0, len(whole), 13), *range(len(whole) - 150, len(whole))}:
        path.write_bytes(whole[:size])
        count = whole[:size].count(b"\n")
        if not count:
            with pytest.raises(Refused) as refused:
                await kept.resume("a")
            assert refusal(refused) == ("unsupported_feature", "conversation_gone")
            continue
        seen = kept.load("a")
        assert path.read_bytes() == whole[:size]
        found, conversation = await kept.resume("a")
        assert found == seen
        conversation.keep(says("more"))
        await conversation.close()
        assert path.read_bytes().split(b"\n")[:count] == whole.split(b"\n")[:count]
        assert len(lines_of(folder, "a")) == count + 2
        assert kept.load("a").messages == (*found.messages, says("more").message)


FULL = """
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
import anyio
import structlog
from sayso.control.loop.conversations import Opened, Said
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import Message
from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused

structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

async def main():
    kept = SavedConversations(Path(sys.argv[1]), clock=ManualClock(datetime(2026, 10, 13, tzinfo=UTC)))
    talk = await kept.begin("a", Opened(model_ref="m"))
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, most))
    for text in ("fits", "x" * 9000, "lost"):
        talk.keep(Said(message=Message(role="user", content=text)))
    for call in (talk.written, talk.synced, talk.written):
        try:
            await call()
        except Refused as refused:
            print(refused.refusal.code, refused.refusal.reason, "File too large" in refused.refusal.message)
    await talk.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    try:
        await kept.begin("b", Opened(model_ref="m"))
    except Refused as refused:
        print(refused.refusal.code, refused.refusal.reason)

anyio.run(main)
"""


@pytest.mark.req("OAP-164")
async def test_where_there_is_no_room_what_was_written_stays_whole_and_the_rest_is_refused(
    kept: SavedConversations, folder: Path
) -> None:
    """No half record, none behind a missing one, and whoever waits is told every time."""
    # Its log goes nowhere: the limit would hold for a file it was led to as well.
    child = subprocess.run(
        [sys.executable, "-c", FULL, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    told = "internal conversation_not_saved True\n"
    assert child.stdout == told * 3 + "open_failed conversation_not_saved\n"
    assert [each["step"]["type"] for each in lines_of(folder, "a")] == ["opened", "message", "title"]
    assert (folder / "a.jsonl").read_bytes().endswith(b"\n")
    assert [each.content for each in kept.load("a").messages] == ["fits"]
    assert [each.name for each in folder.iterdir()] == ["a.jsonl"]


async def test_what_could_not_be_read_back_is_not_written(kept: SavedConversations) -> None:
    """A result nested deeper than any reader goes would make the whole conversation unreadable."""
    deep: object = 1
    for _ in range(250):
        deep = [deep]
    conversation = await begun(kept, "a", user("go"), calls("c1"))
    conversation.keep(ended("c1", deep))
    with pytest.raises(Refused) as refused:
        await conversation.written()
    assert refusal(refused) == ("internal", "conversation_not_saved")
    await conversation.close()
    assert len(kept.load("a").messages) == 2


async def test_waiting_can_be_given_up_and_nothing_is_lost_by_it(kept: SavedConversations) -> None:
    """A cancelled run's steps are kept all the same."""
    conversation = await kept.begin("a", OPENED)
    with anyio.CancelScope() as scope:
        for number in range(50):
            conversation.keep(user(str(number)))
        scope.cancel()
        await conversation.written()
    await conversation.close()
    await conversation.close()
    assert len(kept.load("a").messages) == 50


async def test_who_gives_up_while_a_conversation_begins_leaves_none(
    kept: SavedConversations, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, no lock: the same name can be begun again."""
    goes_on = threading.Event()
    write, unlink = os.write, os.unlink

    def held_up(descriptor: int, data: Any) -> int:
        goes_on.wait()
        return write(descriptor, data)

    def unlinked(path: str, *, dir_fd: int | None = None) -> None:
        unlink(path, dir_fd=dir_fd)
        goes_on.set()

    monkeypatch.setattr(os, "write", held_up)
    monkeypatch.setattr(os, "unlink", unlinked)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kept.begin, "a", OPENED)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert list(folder.iterdir()) == []
    await (await kept.begin("a", OPENED)).close()


# --- who may write ---------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-164")
async def test_one_conversation_has_one_writer_at_a_time(kept: SavedConversations, folder: Path) -> None:
    """In one process too; once it is closed the next may."""
    first = await begun(kept, "a", user("one"))
    other = SavedConversations(folder, clock=ManualClock(NOON))
    with pytest.raises(Refused) as refused:
        await other.resume("a")
    assert refusal(refused) == ("session_exists", "conversation_in_use")
    assert refused.value.refusal.help == "Close it there first, or begin a new conversation."
    with pytest.raises(Refused) as kept_on:
        other.forget("a")
    assert refusal(kept_on) == ("session_exists", "conversation_in_use")
    await first.close()
    found, second = await other.resume("a")
    assert len(found.messages) == 1
    await second.close()


async def test_a_conversation_is_begun_once(kept: SavedConversations) -> None:
    """A second one of its name would hide the first."""
    await made(kept, "a", user("one"))
    with pytest.raises(Refused) as refused:
        await kept.begin("a", OPENED)
    assert refusal(refused) == ("session_exists", "conversation_exists")
    assert len(kept.load("a").messages) == 1


async def test_a_file_that_was_removed_while_it_was_waited_for_is_gone(
    kept: SavedConversations, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening it and locking it: what is written there nobody would find again."""
    await made(kept, "a", user("one"))
    lock = fcntl.flock

    def remove_first(descriptor: int, how: int) -> None:
        (folder / "a.jsonl").unlink(missing_ok=True)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with pytest.raises(Refused) as refused:
        await kept.resume("a")
    assert refusal(refused) == ("unsupported_feature", "conversation_gone")


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a.b", "x" * 129, "é", "a\n"])
async def test_a_name_leads_nowhere_but_into_the_folder(kept: SavedConversations, name: str) -> None:
    """A binding may hold any text; a new name is ours to choose."""
    await made(kept, "a")
    with pytest.raises(Refused) as refused:
        await kept.resume(name)
    assert refusal(refused) == ("unsupported_feature", "conversation_gone")
    with pytest.raises(Misuse):
        await kept.begin(name, OPENED)


async def test_steps_that_cannot_come_are_a_fault_of_ours(kept: SavedConversations) -> None:
    """Results are told one by one, the system's message never, and nothing behind the end."""
    conversation = await kept.begin("a", OPENED)
    for step in (
        OPENED,
        Said(message=Message(role="tool", content="x")),
        Said(message=Message(role="system", content="x")),
    ):
        with pytest.raises(Misuse):
            conversation.keep(step)
    await conversation.close()
    with pytest.raises(Misuse):
        conversation.keep(user("late"))


# --- what is listed --------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-164")
async def test_conversations_are_listed_newest_first(kept: SavedConversations, clock: ManualClock) -> None:
    """By their last record, not by the file's own time."""
    assert kept.entries() == []
    for name in ("c", "a", "b"):
        await made(kept, name, user(f"about {name}"), says("fine"))
        clock.advance(timedelta(minutes=1))
    old = await kept.resume("c")
    old[1].keep(user("again"))
    await old[1].close()
    listed = kept.entries()
    assert [(each.native_id, each.messages) for each in listed] == [("c", 3), ("b", 2), ("a", 2)]
    assert listed[1] == ConversationEntry(
        native_id="b", title="about b", model_ref="planner/one", updated_at_ms=NOW + 120_000, messages=2,
        workspace="/srv/project",
    )  # fmt: skip


async def test_a_conversation_in_which_nothing_was_said_is_kept_and_not_listed(kept: SavedConversations) -> None:
    """Its session can be reopened; nobody looks for it."""
    await made(kept, "a")
    assert kept.entries() == []
    found, conversation = await kept.resume("a")
    assert found.messages == ()
    await conversation.close()


@pytest.mark.req("OAP-164")
async def test_a_long_conversation_is_listed_from_its_ends(
    kept: SavedConversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand messages, a switch in the middle: two short reads, and the count is right."""
    conversation = await kept.begin("a", OPENED)
    for number in range(10_000):
        conversation.keep(user(f"{number} {'x' * 200}"))
        if number == 5000:
            conversation.keep(ModelSwitched(model_ref="x/two"))
    await conversation.close()
    read: list[int] = []
    pread = os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        read.append(size)
        return pread(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", counting)
    entry = kept.entries()[0]
    assert (entry.messages, entry.model_ref, (entry.title or "")[:5]) == (10_000, "x/two", "0 xxx")
    assert (len(read), sum(read) <= 8192) == (2, True)


@pytest.mark.parametrize("size", [4000, 4096, 100_000, 3_000_000])
async def test_a_long_last_record_is_found(kept: SavedConversations, size: int) -> None:
    """However long a result is, the line before it is not taken for the last."""
    conversation = await begun(kept, "a", user("go"), calls("c1"), ended("c1", "r" * size))
    assert kept.entries()[0].messages == 2
    conversation.keep(says("s" * size))
    await conversation.written()
    assert kept.entries()[0].messages == 3
    await conversation.close()


DAMAGES = {
    "no JSON": lambda lines: [*lines[:2], b"{nonsense", *lines[3:]],
    "an empty line": lambda lines: [*lines[:2], b"", *lines[2:]],
    "a record twice": lambda lines: [*lines[:2], lines[1], *lines[2:]],
    "a record missing": lambda lines: [lines[0], *lines[2:]],
    "opened twice": lambda lines: [lines[0], lines[0], *lines[1:]],
    "not opened": lambda lines: lines[1:],
    "another's member": lambda lines: [lines[0].replace(b'"at_ms"', b'"key":1,"at_ms"'), *lines[1:]],
    "a member twice": lambda lines: [lines[0].replace(b'"said":0', b'"said":0,"said":0'), *lines[1:]],
    "a tool's message": lambda lines: [*lines[:1], lines[1].replace(b'"role":"user"', b'"role":"tool"'), *lines[2:]],
    "another title": lambda lines: [*lines[:2], lines[2].replace(b'"title":"one"}', b'"title":"two"}', 1), *lines[3:]],
    "a wild pointer": lambda lines: [*lines[:-1], lines[-1].replace(b'"shown_at":', b'"shown_at":90000000')],
    "a pointer to no title": lambda lines: [*lines[:-1], _pointing_at(lines[-1], len(lines[0]) + 1)],
    "not UTF-8": lambda lines: [*lines[:-1], lines[-1].replace(b"closed", b"clos\xff")],
    "wrong from the start": lambda lines: [b"\x00" * 5000, *lines],
}


def _pointing_at(line: bytes, place: int) -> bytes:
    value = json.loads(line)
    value["shown_at"] = place
    return json.dumps(value).encode()


@pytest.mark.req("OAP-164")
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_file_is_refused_by_name_and_the_others_are_listed(
    kept: SavedConversations, folder: Path, damage: Any
) -> None:
    """Nothing is cut from it, nothing is repaired in it, and it can be forgotten."""
    for name in ("good", "bad"):
        await made(kept, name, user("one"), says("1"))
    path = folder / "bad.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in damage(path.read_bytes().split(b"\n")[:-1])))
    before = path.read_bytes()
    for refuse in (lambda: kept.load("bad"), lambda: anyio.from_thread.run(kept.resume, "bad")):
        with pytest.raises(Refused) as refused:
            await anyio.to_thread.run_sync(refuse)
        assert refusal(refused) == ("unsupported_feature", "conversation_damaged")
        assert str(refused.value.refusal.place).startswith("bad.jsonl")
    assert path.read_bytes() == before
    assert "good" in [each.native_id for each in kept.entries()]
    kept.forget("bad")
    assert [each.native_id for each in kept.entries()] == ["good"]


@pytest.mark.req("OAP-164")
async def test_a_conversation_of_a_later_version_is_refused_as_that(kept: SavedConversations, folder: Path) -> None:
    """It is not damaged: another version reads it."""
    await made(kept, "a")
    path = folder / "a.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2,"more":[]'))
    with pytest.raises(Refused) as refused:
        await kept.resume("a")
    assert refusal(refused) == ("unsupported_feature", "conversation_newer")
    assert kept.entries() == []


FUZZ = [OPENED, *TALK[:6], Compacted(summary=Message(role="user", content="s"), kept=1, asks=True), TALK[6]]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> tuple[SavedConversations, Path, bytes]:
    folder = tmp_path_factory.mktemp("kept") / "s"
    kept = SavedConversations(folder, clock=ManualClock(NOON))

    async def make() -> None:
        conversation = await kept.begin("a", OPENED)
        for step in FUZZ[1:]:
            conversation.keep(step)
        await conversation.close()

    anyio.run(make)
    return kept, folder / "a.jsonl", (folder / "a.jsonl").read_bytes()


@pytest.mark.req("OAP-164")
@given(
    at=st.floats(0, 1),
    gone=st.integers(0, 40),
    put=st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                b"\n",
                b"[" * 500,
                b'"kept":9',
                b'"shown_at":-1',
                b'"shown_at":9223372036854775807',
                b"\xe2\x80\xa8",
                b"\x00",
            ]
        ),
    ),
)
def test_whatever_is_in_a_file_the_answer_is_a_conversation_or_a_refusal(
    fuzzed: tuple[SavedConversations, Path, bytes], at: float, gone: int, put: bytes
) -> None:
    """Bytes taken out and put in anywhere: nothing but a refusal leaves, and the list goes on."""
    kept, path, whole = fuzzed
    place = int(at * len(whole))
    path.write_bytes(whole[:place] + put + whole[place + gone :])
    kept.entries()
    found = None
    with suppress(Refused):
        found = kept.load("a")
    assert found is None or found.model_ref


async def test_a_record_without_end_is_not_read_for_ever(
    kept: SavedConversations, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line over the bound is none of ours, and is never held whole."""
    for module in (saved, saved_file):
        monkeypatch.setattr(module, "LINE_LIMIT", 50_000)
    await made(kept, "a", user("one"))
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b"x" * 400_000)
    with pytest.raises(Refused) as refused:
        kept.load("a")
    assert refusal(refused) == ("unsupported_feature", "conversation_damaged")
    assert kept.entries() == []


# --- whose it is -----------------------------------------------------------------------------------------------------


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def _anothers(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65_534, -1)


@pytest.mark.req("OAP-164")
@pytest.mark.parametrize("spoil", [_link, _pipe, _folder, _anothers, lambda path: path.chmod(0o640)])
async def test_a_file_that_is_not_its_owners_alone_is_refused(
    kept: SavedConversations, folder: Path, spoil: Any
) -> None:
    """A link, a pipe, a folder, another's file, one that others may read: none is opened as a conversation."""
    await made(kept, "a", user("one"))
    spoil(folder / "a.jsonl")
    with pytest.raises(Refused) as looked:
        kept.load("a")
    with pytest.raises(Refused) as resumed:
        await kept.resume("a")
    assert refusal(looked) == refusal(resumed) == ("unsupported_feature", "conversation_not_private")
    assert kept.entries() == []


async def test_forgetting_removes_a_link_and_not_what_it_leads_to(kept: SavedConversations, folder: Path) -> None:
    """What is not there cannot be forgotten."""
    await made(kept, "a", user("one"))
    _link(folder / "a.jsonl")
    kept.forget("a")
    assert [each.name for each in folder.iterdir()] == ["a.moved"]
    with pytest.raises(Refused) as refused:
        kept.forget("a")
    assert refusal(refused) == ("unsupported_feature", "conversation_gone")


@pytest.mark.req("OAP-164")
@pytest.mark.parametrize("how", ["open", "link", "file"])
async def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path, how: str) -> None:
    """When it is first used, and when it became so since."""
    folder = tmp_path / "sessions"
    kept = SavedConversations(folder, clock=ManualClock(NOON))
    match how:
        case "open":
            folder.mkdir()
            folder.chmod(0o750)
        case "link":
            (tmp_path / "real").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "real")
        case _:
            folder.touch()
    with pytest.raises(Refused) as refused:
        SavedConversations(folder, clock=ManualClock(NOON))
    assert refused.value.refusal.code == "file_not_private"
    with pytest.raises(Refused) as begun_in:
        await kept.begin("a", OPENED)
    assert refusal(begun_in) == ("open_failed", "conversation_not_saved")
    with pytest.raises(Refused) as listed:
        kept.entries()
    assert listed.value.refusal.code == "file_not_private"
