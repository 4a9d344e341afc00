"""What an open of the loop elects and brings: settings, models, sources of its own, and all of it or nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.requests import open_request
from sayso.control.loop.contract import SourceTerms, ToolSource
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import AuthLoginStartRequest
from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.inference import ReasoningRequest
from sayso.control.protocol.payloads.models import ModelDescriptor
from sayso.control.protocol.payloads.session import CompactionPolicy, ToolSourceAttachment
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, PeerRefused, Refused
from sayso.testing.provider import Call, Hangs, Say, ScriptedProvider
from sayso.testing.tools import Act, ScriptedTools, asking, read_only
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.loop.stage import ONE, TWO, staged

pytestmark = pytest.mark.anyio


class Opener:
    """Opens scripted tools for one session, and remembers what it was told and that it was closed."""

    def __init__(
        self, name: str, acts: dict[str, Act] | None = None, *, fault: Exception | None = None, empty: bool = False
    ) -> None:
        self.id = name
        self.terms: list[SourceTerms] = []
        self.open_now = 0
        self.fault = fault
        self.is_empty = empty
        self.tools = ScriptedTools(acts or {}, id=name)

    @asynccontextmanager
    async def open(self, terms: SourceTerms) -> AsyncIterator[ToolSource | None]:
        self.terms.append(terms)
        if self.fault is not None:
            raise self.fault
        async with anyio.create_task_group():  # as a source with a child process has: it must end where it began
            self.open_now += 1
            try:
                yield None if self.is_empty else self.tools
            finally:
                self.open_now -= 1


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-163")
async def test_what_an_open_elects_holds_for_every_request(trace: Trace, tmp_path: Path) -> None:
    """Level and limit for the model; permission and workspace for the tools of this session."""
    opener = Opener("workspace", {"look": asking()})
    opens = {
        "reasoning_level": "high",
        "compaction_policy": CompactionPolicy(kind="off"),
        "metadata": {"sayso": {"permission": "bypass", "workspace": str(tmp_path), "max_output_tokens": 77}, "x": 1},
    }
    told: list[str] = []

    async def bypassed(session_id: str) -> None:
        told.append(session_id)

    async with staged([[Say("ok")]], record=trace.record, opens=opens, openers=[opener], bypassed=bypassed) as stage:
        await stage.begin()
        request = stage.provider.requests[0]
    assert (request.reasoning, request.max_output_tokens) == (ReasoningRequest(enabled=True, effort="high"), 77)
    assert (stage.state.reasoning_level, stage.state.compaction_policy) == ("high", CompactionPolicy(kind="off"))
    assert opener.terms == [SourceTerms(session_id=stage.id, permission="bypass", workspace=tmp_path.resolve())]
    assert told == [stage.id]


@pytest.mark.req("OAP-163")
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("minimal", ReasoningRequest(enabled=True, effort="low")),
        ("off", ReasoningRequest(enabled=False)),
    ],
)
async def test_minimal_runs_as_low_and_off_is_said(trace: Trace, level: str, expected: ReasoningRequest) -> None:
    """The state says what was asked for."""
    async with staged([[Say("ok")]], record=trace.record, opens={"reasoning_level": level}) as stage:
        await stage.begin()
    assert (stage.state.reasoning_level, stage.provider.requests[0].reasoning) == (level, expected)


@pytest.mark.req("OAP-163")
@pytest.mark.parametrize(
    ("own", "place"),
    [
        ({"temperature": 0.5}, ".temperature"),
        ({"permission": "always"}, ".permission"),
        ({"workspace": "here"}, ".workspace"),
        ({"workspace": "/nowhere/at/all"}, ".workspace"),
        ({"max_output_tokens": 0}, ".max_output_tokens"),
        ("ask", ""),
    ],
)
async def test_a_setting_that_cannot_be_taken_refuses_the_open_with_its_place(
    trace: Trace, own: object, place: str
) -> None:
    """Unknown keys too: nothing is dropped in silence."""
    async with staged([], record=trace.record) as stage:
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso", metadata={"sayso": own})
    assert (refused.value.refusal.code, refused.value.refusal.place) == (
        "invalid_request", f"$.payload.metadata.sayso{place}",
    )  # fmt: skip


@pytest.mark.req("OAP-157")
async def test_a_standing_yes_that_cannot_be_told_opens_no_session(trace: Trace) -> None:
    """Its record is part of it; what was opened is closed again."""
    opener = Opener("workspace")

    async def bypassed(session_id: str) -> None:
        raise OSError("the log is full")

    async with staged([], record=trace.record, openers=[opener], bypassed=bypassed) as stage:
        assert opener.open_now == 1
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso", metadata={"sayso": {"permission": "bypass"}})
        assert opener.open_now == 1
    assert refused.value.refusal.code == "open_failed"


# --- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-155", "OAP-163")
async def test_a_session_has_its_own_sources_and_they_end_with_it(trace: Trace) -> None:
    """Listed with their tools; what has nothing to offer is left out; closed when the session is."""
    opener, empty = Opener("workspace", {"look": asking()}), Opener("nothing", empty=True)
    async with staged([[Call("look")], [Say("ok")]], record=trace.record, openers=[opener, empty]) as stage:
        listed = await stage.client.tools(stage.id)
        _, ended = await stage.begin()
        assert (opener.open_now, empty.open_now) == (1, 1)
        await stage.client.close(stage.id)
        assert (opener.open_now, empty.open_now) == (0, 0)
    assert [(tool.name, tool.source) for tool in listed.tools] == [
        ("look", "workspace"), ("request_user_input", "sayso"),
    ]  # fmt: skip
    assert {source.id for source in listed.sources or ()} == {"sayso", "scripted", "workspace"}
    assert (ended.type, len(opener.tools.calls)) == ("run.completed", 1)


@pytest.mark.req("OAP-155")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Refused.because("open_failed", "no such program", reason="not_found"), "open_failed"),
        (ExceptionGroup("wrapped", [Refused.because("unsupported_feature", "no")]), "unsupported_feature"),
        (OSError("disk"), "open_failed"),
    ],
)
async def test_a_source_that_cannot_open_refuses_the_session_and_closes_the_others(
    trace: Trace, fault: Exception, code: str
) -> None:
    """All of them or none."""
    first, second = Opener("first"), Opener("second")
    async with staged([], record=trace.record, openers=[first, second]) as stage:
        second.fault = fault
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso")
        assert (first.open_now, second.open_now) == (1, 1)
    assert refused.value.refusal.code == code
    assert (first.open_now, second.open_now) == (0, 0)


@pytest.mark.req("OAP-155")
async def test_attached_sources_join_a_session_and_their_clashes_are_refused() -> None:
    """With the source and the tool that clash, and with nothing left open."""
    made: list[Opener] = []

    def attach(source: ToolSourceAttachment) -> Opener:
        clash = {"book": asking()} if source.id == "b" else {}
        made.append(Opener(source.id, {f"{source.id}__ping": asking(), **clash}))
        return made[-1]

    loop = OwnLoop(
        ScriptedProvider([]),
        [ScriptedTools({"book": asking("limits")})],
        clock=ManualClock(NOON),
        ids=CountingIds(),
        model_ref="m",
        attach=attach,
    )
    one = ToolSourceAttachment(id="a", kind="process", command="prog", display_name="A")
    async with anyio.create_task_group() as tasks:
        session = await loop.open(opening(tool_sources=(one,)), "s1", tasks)
        listed = await session.tools(None)  # type: ignore[arg-type]
        await session.close()
        refusals = []
        for wrong in (
            ToolSourceAttachment(id="b", kind="process"),
            ToolSourceAttachment(id="scripted", kind="process"),
            ToolSourceAttachment(id="a", kind="local"),
        ):
            with pytest.raises(Refused) as refused:
                await loop.open(opening(tool_sources=(one, wrong)), "s2", tasks)
            refusals.append(refused.value.refusal.details)
        left = [each.open_now for each in made]
        tasks.cancel_scope.cancel()
    assert "a__ping" in [tool.name for tool in listed.tools]
    assert next(source for source in listed.sources or () if source.id == "a").display_name == "A"
    assert [details["source"] for details in refusals] == ["b", "scripted", "a"]
    assert left == [0] * len(made) == [0] * 3


def opening(**members: Any) -> Envelope[Any]:
    return open_request(CountingIds(), **members)


def test_a_source_under_the_loops_own_name_is_a_bug_of_the_house() -> None:
    """What the loop itself offers is published under it."""
    with pytest.raises(Misuse):
        OwnLoop(
            ScriptedProvider([]),
            [ScriptedTools({}, id="sayso")],
            clock=ManualClock(NOON),
            ids=CountingIds(),
            model_ref="m",
        )


# --- models and controls ---------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-163")
async def test_the_models_are_the_providers_and_a_switch_is_to_one_of_them(trace: Trace) -> None:
    """With their windows, the loop's own marked; another is not found."""
    async with staged([[Say("ok")]], record=trace.record) as stage:
        before = await stage.client.models(stage.id)
        answer = await stage.client.switch_model(stage.id, TWO)
        after = await stage.client.models(stage.id)
        with pytest.raises(PeerRefused) as refused:
            await stage.client.switch_model(stage.id, "scripted/three")
        await stage.begin()
    assert before.models == (
        ModelDescriptor(id=ONE, provider_id="scripted", context_window=128_000, default=True),
        ModelDescriptor(id=TWO, provider_id="scripted", context_window=200_000),
    )
    assert (answer.previous_model_id, after.current_model_id, after.models) == (ONE, TWO, before.models)
    assert refused.value.refusal.code == "model_not_found"
    assert stage.provider.requests[0].model_ref == TWO


@pytest.mark.req("OAP-163")
async def test_controls_bind_their_run_alone(trace: Trace) -> None:
    """Model, instructions, choice and shape; the next run has none of them."""
    controls: dict[str, Any] = {
        "model_id": TWO,
        "instructions": "be brief",
        "tool_choice": {"allowed": ["look"]},
        "output_schema": {"type": "object"},
    }
    turns = [[Say('{"a": 1}')], [Say("free again")]]
    async with staged(turns, {"book": asking()}, specs=[read_only("look")], record=trace.record) as stage:
        _, ended = await stage.begin(**controls)
        await stage.begin("next")
    first, second = stage.provider.requests
    assert (ended.payload.result, ended.payload.model_id) == ({"a": 1}, TWO)  # type: ignore[attr-defined]
    assert (first.model_ref, text_of(first.messages[1].content)) == (TWO, "be brief")
    assert [tool.name for tool in first.tools or ()] == ["look"]
    assert (second.model_ref, len(second.tools or ())) == (ONE, 3)


@pytest.mark.req("OAP-163")
@pytest.mark.parametrize(
    ("controls", "field"),
    [
        ({"tool_choice": {"allowed": ["fly"]}}, "tool_choice.allowed"),
        ({"tool_choice": {"allowed": ["book"], "disallowed": ["book"]}}, "tool_choice.allowed"),
        ({"tool_choice": {"mode": "any"}}, "tool_choice.mode"),
        ({"tool_choice": {"mode": "named"}}, "tool_choice.name"),
        ({"tool_choice": {"mode": "named", "name": "fly"}}, "tool_choice.mode"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"output_schema": {"type": "array"}}, "output_schema"),
        ({"output_schema": {"$ref": "https://elsewhere.example/schema"}}, "output_schema"),
        ({"output_schema": {"type": 5}}, "output_schema"),
    ],
)
async def test_a_control_that_cannot_be_honoured_is_refused_by_its_member(
    trace: Trace, controls: dict[str, Any], field: str
) -> None:
    """Before anything was allocated."""
    async with staged([[Hangs()]], {"book": asking()}, record=trace.record) as stage:
        with pytest.raises(PeerRefused) as refused:
            await stage.client.submit(stage.id, "go", **controls)
        state = await stage.client.state(stage.id)
    assert (refused.value.refusal.code, refused.value.refusal.details["field"]) == ("unsupported_feature", field)
    assert (state.status, state.active_runs) == ("idle", ())


# --- what is not there -----------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-155")
async def test_a_unit_without_its_port_is_not_advertised_and_refused_by_name() -> None:
    """Signing in, attaching and reopening each rest on something the loop may lack."""
    loop = OwnLoop(ScriptedProvider([]), clock=ManualClock(NOON), ids=CountingIds(), model_ref="m")
    login: Envelope[Any] = Envelope(
        type="auth.login.start.request", id="l1", payload=AuthLoginStartRequest(provider_id="x")
    )
    codes = []
    async with anyio.create_task_group() as tasks:
        attaching = opening(tool_sources=(ToolSourceAttachment(id="a", kind="process"),))
        reopening = opening(session_id="s1", reopen=True)
        for asked in (loop.login(login), loop.open(attaching, "s1", tasks), loop.open(reopening, "s1", tasks)):
            with pytest.raises(Refused) as refused:
                await asked
            codes.append((refused.value.refusal.code, refused.value.refusal.details["feature"]))
    assert codes == [
        ("unsupported_feature", "auth.login"),
        ("unsupported_feature", "action.tool_sources.attach"),
        ("unsupported_feature", "session.open.reopen"),
    ]
