"""The offline planner in a workspace: whole turns over the real tools, and what it says when it can do nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.contract import PermissionMode, SourceTerms, ToolAnswer, ToolAsks, ToolCall, ToolSource
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Message, ToolCallPart, ToolResultPart, text_of
from sayso.control.protocol.payloads.inference import InferenceCreateRequest, InferenceTool
from sayso.control.provider.planner.plan import INTRODUCTION
from sayso.control.provider.planner.provider import MODEL, OUTCOME, OfflinePlanner
from sayso.control.provider.planner.steps import Call, Say
from sayso.control.provider.planner.workspace.doing import tell_forms, work
from sayso.control.provider.planner.workspace.wishes import TOOLS
from sayso.control.workspace.opener import WorkspaceOpener
from sayso.core.clock import SystemClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from tests.control.provider.planner.shop import SYSTEM
from tests.control.provider.planner.shop import TOOLS as SHOP

pytestmark = pytest.mark.anyio


class Talk:
    """One conversation with the planner over a real workspace, as a loop holds it."""

    def __init__(self, source: ToolSource, *, says: bool = True) -> None:
        self.source = source
        self.messages: list[Message] = []
        self.calls: list[str] = []
        self.outcome: object = None
        self._says = says
        self._planner = OfflinePlanner(CountingIds())

    async def say(self, words: str) -> str:
        self.messages.append(Message(role="user", content=words))
        while True:
            message = await self._infer()
            self.messages.append(message)
            calls = [part for part in message.content if isinstance(part, ToolCallPart)]
            if not calls:
                self.outcome = (message.metadata or {})[OUTCOME]
                return text_of(message.content)
            for part in calls:
                self.messages.append(Message(role="tool", content=(await self._call(part),)))

    async def _infer(self) -> Message:
        tools = tuple(InferenceTool(name=spec.name, input_schema=spec.input_schema) for spec in self.source.tools())
        payload = InferenceCreateRequest(model_ref=MODEL, messages=tuple(self.messages), tools=tools)
        request = ProviderEnvelope(type="inference.create.request", id=f"r{len(self.messages)}", payload=payload)
        return [envelope async for envelope in self._planner.create(request)][-1].payload.message

    async def _call(self, part: ToolCallPart) -> ToolResultPart:
        self.calls.append(part.name)
        call = ToolCall(part.tool_call_id, part.name, part.arguments_json, "s", "r")
        try:
            outcome = await self.source.call(call, ())
            if isinstance(outcome, ToolAsks):
                outcome = await self.source.call(call, (ToolAnswer(self._says, reason="not now"),))
        except Refused as refused:
            fault = refused.refusal
            result = {"error": fault.code, "message": str(fault), "reason": fault.reason}
            return ToolResultPart(tool_call_id=part.tool_call_id, result=result, is_error=True)
        assert not isinstance(outcome, ToolAsks)
        return ToolResultPart(tool_call_id=part.tool_call_id, result=outcome.result, is_error=outcome.is_error)


async def opened(folder: Path, permission: PermissionMode) -> AsyncIterator[ToolSource]:
    (folder / "src").mkdir()
    (folder / "README.md").write_text("# Sample\n\nSome ``` words.\n")
    (folder / "src" / "a.py").write_text("x = 1  # TODO\n")
    opener = WorkspaceOpener(hidden=(), environ={"PATH": "/usr/bin:/bin"}, clock=SystemClock())
    async with opener.open(SourceTerms(session_id="s", permission=permission, workspace=folder)) as source:
        assert source is not None
        yield source


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[ToolSource]:
    async for source in opened(tmp_path, "bypass"):
        yield source


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncIterator[ToolSource]:
    async for source in opened(tmp_path, "ask"):
        yield source


@pytest.mark.req("OAP-156")
async def test_every_form_completes_a_turn_with_what_its_tool_found(workspace: ToolSource, tmp_path: Path) -> None:
    """With no credential and no clock."""
    talk = Talk(workspace)
    read = await talk.say("read README.md")
    assert "README.md: lines 1 to 3 of 3" in read
    assert read.count("````") == 2, "the fence is longer than any in the file"
    assert "src/a.py" in await talk.say("list the files in src")
    assert "src/a.py" in await talk.say("find files named *.py")
    assert "src/a.py:1:x = 1  # TODO" in await talk.say("search for 'TODO'")
    assert "I created notes.txt" in await talk.say("write 'hello' to notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "hello"
    assert "-hello" in await talk.say("replace 'hello' with 'bye' in notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "bye"
    assert "exit code 0 and printed:\n\n```\nnotes.txt" in await talk.say("run `ls notes.txt`")
    assert talk.outcome == "done"
    assert talk.calls == ["Read", "Glob", "Glob", "Grep", "Write", "Edit", "Shell"]


async def test_a_file_that_exists_is_looked_at_before_it_is_replaced(workspace: ToolSource, tmp_path: Path) -> None:
    """As the workspace demands; then the wish is fulfilled."""
    talk = Talk(workspace)
    assert "I wrote README.md" in await talk.say("write 'new' to README.md")
    assert talk.calls == ["Write", "Read", "Write"]
    assert (tmp_path / "README.md").read_text() == "new"


async def test_a_no_of_a_tool_or_of_the_person_is_told_and_nothing_is_tried_twice(asking: ToolSource) -> None:
    """The turn ends."""
    talk = Talk(asking, says=False)
    assert "I could not read absent.txt: absent.txt: there is no such file" in await talk.say("read absent.txt")
    assert "I could not read ../x" in await talk.say("read ../x")
    assert await talk.say("write 'a' to b.txt") == "This was not allowed, so I did not write b.txt: not now."
    assert await talk.say("run `ls`") == "This was not allowed, so I did not run `ls`: not now."
    assert (talk.outcome, talk.calls) == ("refused", ["Read", "Read", "Write", "Shell"])


async def test_the_same_wish_in_a_later_turn_is_fulfilled_again(workspace: ToolSource, tmp_path: Path) -> None:
    """What was found in an earlier turn may no longer be so."""
    talk = Talk(workspace)
    await talk.say("read src/a.py")
    (tmp_path / "src" / "a.py").write_text("y = 2\n")
    assert "y = 2" in await talk.say("read src/a.py")


async def test_a_command_that_fails_is_told_with_its_code(workspace: ToolSource) -> None:
    """A command that ran to its end is no error of the tool."""
    talk = Talk(workspace)
    assert await talk.say("run `exit 3`") == "It ended with exit code 3 and printed nothing."


@pytest.mark.req("OAP-156")
async def test_anything_else_is_answered_with_what_it_is_and_how_to_sign_in(workspace: ToolSource) -> None:
    """No pretending, and the way on."""
    talk = Talk(workspace)
    said = await talk.say("refactor the parser")
    assert "not a language model" in said
    assert "`sayso auth login`" in said
    assert "- read README.md" in said
    assert "appointment" not in said
    assert (talk.outcome, talk.calls) == ("refused", [])


def say(words: str) -> tuple[Message, ...]:
    return (Message(role="user", content=words),)


def test_only_forms_whose_tools_are_at_hand_are_offered() -> None:
    """A workspace without Shell runs nothing."""
    assert "run" not in tell_forms({"Read"})
    step = work(say("run ls"), {"Read"})
    assert isinstance(step, Say)
    assert "needs the tool Shell" in step.text


def test_without_a_workspace_its_words_mean_nothing() -> None:
    """A house of appointments is asked about appointments."""
    assert work(say("read README.md"), {"discover_host"}) is None
    assert work(say("read README.md"), ()) is None


@pytest.mark.parametrize(
    ("words", "tool"), [("book a trim tomorrow at 10 am", "discover_host"), ("read README.md", "Read")]
)
async def test_where_both_are_at_hand_each_gets_its_own_words(words: str, tool: str) -> None:
    """And what neither understands is answered with both."""
    calls = [each for each in await _answer(words) if isinstance(each, ToolCallPart)]
    assert [each.name for each in calls] == [tool]


async def test_where_both_are_at_hand_both_are_told() -> None:
    """The booking introduction stays as it is."""
    text = text_of(tuple(await _answer("hello")))
    assert text.startswith(f"{INTRODUCTION}\n\n")
    assert text.endswith(tell_forms(TOOLS))


async def _answer(words: str) -> Any:
    names = (*SHOP, *sorted(TOOLS))
    payload = InferenceCreateRequest(
        model_ref=MODEL,
        messages=(Message(role="system", content=SYSTEM), *say(words)),
        tools=tuple(InferenceTool(name=name, input_schema={"type": "object"}) for name in names),
    )
    request = ProviderEnvelope(type="inference.create.request", id="r", payload=payload)
    return [envelope async for envelope in OfflinePlanner(CountingIds()).create(request)][-1].payload.message.content


MEMBERS = st.sampled_from(("error", "message", "reason", "output", "exit_code", "path", "diff", "created", "replaced"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("a`\n", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=8,
)
WISHES = ("read a.md", "write 'x' to a.md", "replace 'a' with 'b' in a", "run ls", "list files", "grep x", "hello")


@given(st.sampled_from(WISHES), st.lists(st.tuples(JSON, st.booleans()), max_size=6))
def test_whatever_tools_answer_the_turn_comes_to_an_end(wish: str, answers: list[tuple[object, bool]]) -> None:
    """After three calls at most, with words and never with an exception."""
    messages = [*say(wish)]
    left = list(answers)
    for number in range(4):
        step = work(messages, TOOLS)
        if isinstance(step, Say):
            return
        assert isinstance(step, Call)
        result, is_error = left.pop() if left else ({}, False)
        part = ToolCallPart(tool_call_id=f"c{number}", name=step.tool, arguments_json=dict(step.arguments))
        messages.append(Message(role="assistant", content=(part,)))
        answer = ToolResultPart(tool_call_id=f"c{number}", result=result, is_error=is_error)
        messages.append(Message(role="tool", content=(answer,)))
    raise AssertionError("the turn goes on")


def test_a_long_result_is_cut_in_the_middle() -> None:
    """An answer is to be read."""
    part = ToolCallPart(tool_call_id="c", name="Read", arguments_json={"path": "a.md"})
    answer = ToolResultPart(tool_call_id="c", result="a" * 9000)
    messages = [*say("read a.md"), Message(role="assistant", content=(part,)), Message(role="tool", content=(answer,))]
    step = work(messages, TOOLS)
    assert isinstance(step, Say)
    assert "[1000 characters are left out here]" in step.text
