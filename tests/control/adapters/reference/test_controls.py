"""Run controls, the model's catalog and its switch, tools and their sources, settings: what is honoured and refused."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.adapters.reference.offering import DESCRIPTOR, FIXED_RESULT, MODELS
from sayso.control.protocol.payloads.action import ToolsListRequest
from sayso.control.protocol.payloads.models import ModelsRequest
from tests.control.adapters.reference.stage import SESSION, Stage, refused, staged
from tests.control.conftest import Trace

pytestmark = pytest.mark.anyio

PLAIN = "script: plain"
ASKED = ModelsRequest(session_id=SESSION)


async def end_of(stage: Stage, **controls: Any) -> dict[str, Any]:
    """The terminal of a plain run with these controls."""
    run = (await stage.submit(PLAIN, **controls)).run_id
    await stage.read(run)
    return stage.payloads(run, "run.completed")[0]


@pytest.mark.req("OAP-047", "OAP-049")
async def test_a_model_binds_its_run_alone(stage: Stage) -> None:
    """Repeated on admission, start and end; the session's own model does not move."""
    answer = await stage.submit(PLAIN, model_id="memory-large")
    await stage.read(answer.run_id)
    (started,), (done,) = stage.payloads(answer.run_id, "run.started"), stage.payloads(answer.run_id, "run.completed")
    assert (answer.model_id, started["model_id"], done["model_id"]) == ("memory-large",) * 3
    assert (await stage.session.state()).current_model_id == "memory-small"
    assert (await end_of(stage))["model_id"] == "memory-small"


@pytest.mark.req("OAP-048", "OAP-067")
@pytest.mark.parametrize("model_id", ["", "memory-huge"])
async def test_a_model_the_catalog_does_not_list_is_not_found(stage: Stage, model_id: str) -> None:
    """An empty control counts, and the refusal names what was asked for."""
    assert await refused(stage.submit(model_id=model_id)) == ("model_not_found", {"model_id": model_id})


@pytest.mark.req("OAP-047", "OAP-048")
async def test_instructions_are_followed_and_an_empty_one_counts(stage: Stage) -> None:
    """Emulated: the reply repeats them."""
    text = (await end_of(stage, instructions="be brief"))["final_response"]["content"]
    empty = (await end_of(stage, instructions=""))["final_response"]["content"]
    assert (text.endswith("As told: be brief"), empty.endswith("As told: ")) == (True, True)


@pytest.mark.req("OAP-051")
async def test_a_schema_binds_the_result(stage: Stage) -> None:
    """The endpoint has one result; a schema it satisfies is honoured with exactly that."""
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    assert (await end_of(stage, output_schema=schema))["result"] == FIXED_RESULT
    assert "result" not in await end_of(stage)


@pytest.mark.req("OAP-048", "OAP-051")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"required": ["other"]},
        {"type": "nonsense"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "https://sayso.example/x.json"},
        {"properties": {"answer": {"pattern": "["}}},
    ],
)
async def test_a_schema_that_cannot_be_honoured_is_refused(stage: Stage, schema: dict[str, Any]) -> None:
    """Not satisfied, not a schema, or reading elsewhere: nothing is fetched for it."""
    code, details = await refused(stage.submit(output_schema=schema))
    assert (code, details) == (
        "unsupported_feature",
        {"feature": "run.structured_output", "reason": "unsatisfiable", "field": "output_schema"},
    )


@pytest.mark.req("OAP-050")
@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ({}, ["write_note"]),
        ({"allowed": ["read_notes"]}, ["read_notes"]),
        ({"allowed": []}, []),
        ({"disallowed": ["write_note", "nobody_has_this"]}, ["read_notes"]),
        ({"mode": "none"}, []),
        ({"mode": "named", "name": "read_notes"}, ["read_notes"]),
        ({"mode": "required", "disallowed": ["write_note"]}, ["read_notes"]),
    ],
)
@pytest.mark.parametrize("script", ["script: tools", PLAIN])
async def test_a_choice_filters_and_then_its_mode_applies(
    stage: Stage, choice: dict[str, Any], called: list[str], script: str
) -> None:
    """An excluded tool is never called; what is required is called before the run completes, whatever its script."""
    run = (await stage.submit(script, tool_choice=choice)).run_id
    if "action.permission.requested" in await stage.read(run):
        await stage.permit(run)
    await stage.read(run)
    is_owed = choice.get("mode") in ("required", "named")
    names = [payload["name"] for payload in stage.payloads(run, "action.call.requested")]
    assert names == (called if script != PLAIN or is_owed else [])
    assert (await stage.read(run))[-1] == "run.completed"


@pytest.mark.req("OAP-048", "OAP-050")
@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (None, "tool_choice"),
        ("auto", "tool_choice"),
        ({"only": []}, "tool_choice"),
        ({"allowed": ["read_notes"], "disallowed": []}, "tool_choice.allowed"),
        ({"allowed": ["nobody_has_this"]}, "tool_choice.allowed"),
        ({"mode": "sometimes"}, "tool_choice.mode"),
        ({"mode": "required", "allowed": []}, "tool_choice.mode"),
        ({"mode": "named"}, "tool_choice.name"),
        ({"name": "read_notes"}, "tool_choice.name"),
        ({"mode": "named", "name": "read_notes", "disallowed": ["read_notes"]}, "tool_choice.mode"),
    ],
)
async def test_a_choice_that_cannot_be_honoured_is_refused(stage: Stage, choice: object, field: str) -> None:
    """The refusal says which member to change."""
    code, details = await refused(stage.submit(tool_choice=choice))
    assert (code, details["feature"], details["reason"], details["field"]) == (
        "unsupported_feature",
        "run.tool_selection",
        "unsatisfiable",
        field,
    )


@pytest.mark.req("OAP-016", "OAP-048")
async def test_of_several_refusals_the_ranked_one_is_given_and_no_id_is_used(stage: Stage) -> None:
    """Values before state, the lower key among values; the next admission's ids show that nothing was allocated."""
    first = await stage.submit("script: hold")
    await stage.submit()
    wrong = {"model_id": "x", "output_schema": {"type": "array"}, "tool_choice": 1}
    assert (await refused(stage.submit(**wrong)))[0] == "model_not_found"
    del wrong["model_id"]
    assert (await refused(stage.submit(**wrong)))[1]["feature"] == "run.structured_output"
    assert (await refused(stage.submit()))[0] == "run_active"
    made = stage.session._session.made
    await refused(stage.submit())
    assert stage.session._session.made == made
    await stage.cancel(first.run_id)


@pytest.mark.req("OAP-018", "OAP-038", "OAP-067", "OAP-068")
async def test_the_catalog_is_fixed_and_its_current_model_is_listed(stage: Stage) -> None:
    """Unique ids, one default, providers that the rows name."""
    catalog = await stage.session.models(ASKED)
    assert catalog.models == MODELS
    assert [model.id for model in catalog.models if model.default is True] == [catalog.current_model_id]
    assert {model.provider_id for model in catalog.models} == {row.id for row in catalog.providers or ()}


@pytest.mark.req("OAP-070")
async def test_a_switch_moves_later_starts_and_never_a_running_run(stage: Stage) -> None:
    """A reservation without a model of its own gets the new one; the new state is told."""
    first = (await stage.submit("script: hold")).run_id
    await stage.read(first)
    second = (await stage.submit(PLAIN)).run_id
    answer = await stage.ask(
        "session.model.switch.request", {"session_id": SESSION, "model_id": "memory-large"}, "switch"
    )
    assert (answer.model_id, answer.previous_model_id) == ("memory-large", "memory-small")
    await stage.cancel(first)
    await stage.read(first)
    await stage.read(second)
    (started,), (later,) = stage.payloads(first, "run.started"), stage.payloads(second, "run.started")
    assert (started["model_id"], later["model_id"]) == ("memory-small", "memory-large")
    catalog = await stage.session.models(ASKED)
    assert catalog.as_of_model_event
    assert (catalog.current_model_id, catalog.as_of_model_event.switch_request_id) == ("memory-large", "switch")
    announced = await anext(stage.session.session_events())
    assert (announced.type, announced.sequence, announced.payload.current_model_id) == (  # type: ignore[attr-defined]
        "session.state.updated",
        1,
        "memory-large",
    )


@pytest.mark.req("OAP-070")
async def test_a_switch_to_the_same_model_succeeds_and_to_an_unknown_one_does_not(stage: Stage) -> None:
    """Idempotent, and never a success that changed nothing it should have."""
    payload = {"session_id": SESSION, "model_id": "memory-small"}
    assert (await stage.ask("session.model.switch.request", payload)).previous_model_id == "memory-small"
    unknown = {**payload, "model_id": "x"}
    assert await refused(stage.ask("session.model.switch.request", unknown)) == ("model_not_found", {"model_id": "x"})


@pytest.mark.req("OAP-071")
async def test_the_one_attachable_provider_brings_its_model(stage: Stage) -> None:
    """Repeating it changes nothing; another binding of the name conflicts; any other provider is refused."""

    async def attach(name: str, provider_id: str, **more: str) -> Any:
        payload = {"session_id": SESSION, "provider": {"id": name, "provider_id": provider_id, **more}}
        return await stage.ask("session.provider.attach.request", payload)

    assert (await attach("mine", "memory-extra")).provider_id == "mine"
    assert (await attach("mine", "memory-extra")).provider_id == "mine"
    assert (await refused(attach("memory", "memory-extra")))[0] == "provider_conflict"
    for wrong in (attach("other", "elsewhere"), attach("more", "memory-extra", service_id="s")):
        assert (await refused(wrong))[1]["feature"] == "action.providers.attach"
    catalog = await stage.session.models(ASKED)
    assert ([model.id for model in catalog.models][-1], catalog.current_model_id) == ("mine/one", "memory-small")
    assert (await end_of(stage, model_id="mine/one"))["model_id"] == "mine/one"


SOURCES = [
    {"id": "files", "kind": "process", "command": "/bin/x", "args": ["--secret"], "environment": ["KEY=value"]},
    {"id": "notes", "kind": "local", "display_name": "Notes"},
]


@pytest.mark.req("OAP-058", "OAP-059", "OAP-060", "OAP-061")
async def test_attached_sources_bring_their_tools_and_hide_their_commands(trace: Trace) -> None:
    """A call names the source its catalog gives the tool; command, arguments and environment stay unseen."""
    async with staged(trace, opened={"tool_sources": SOURCES}) as stage:
        listed = await stage.session.tools(ToolsListRequest())
        assert [source.id for source in listed.sources or ()] == ["memory", "files", "notes"]
        assert {tool.source for tool in listed.tools} <= {"memory", "files", "notes"}
        assert not hasattr((listed.sources or ())[1], "command")
        assert "secret" not in str((listed, await stage.session.state()))
        run = (await stage.submit("script: tools", tool_choice={"allowed": ["files__ping"]})).run_id
        await stage.read(run)
        assert {payload["source"] for payload in stage.payloads(run, "action.call.requested")} == {"files"}


@pytest.mark.req("OAP-061", "OAP-082")
@pytest.mark.parametrize(
    ("opened", "feature", "at"),
    [
        ({"tool_sources": [*SOURCES, {"id": "c", "kind": "local"}]}, "action.tool_sources.attach", None),
        ({"tool_sources": [{"id": "c", "kind": "remote"}]}, "action.tool_sources.attach", "c"),
        ({"tool_sources": [{"id": "memory", "kind": "local"}]}, "action.tool_sources.attach", "memory"),
        ({"tool_sources": [{**SOURCES[0], "environment": ["A", "A=1"]}]}, "action.tool_sources.attach", "files"),
        ({"tools": [{"name": f"t{n}"} for n in range(5)]}, "action.tools.provide", None),
        ({"tools": [{"name": "T"}]}, "action.tools.provide", "T"),
        ({"tools": [{"name": "t", "execution_owner": "someone"}]}, "action.tools.provide", "t"),
        ({"tools": [{"name": "read_notes"}]}, "action.tools.provide", "read_notes"),
        ({"tools": [{"name": "t"}, {"name": "t"}]}, "action.tools.provide", "t"),
        ({"tools": [{"name": "t", "source": "nowhere"}]}, "action.tools.provide", "nowhere"),
        ({"tools": [{"name": "t", "source": None}]}, "action.tools.provide", "t"),
        ({"reasoning_level": "xhigh"}, "session.reasoning", None),
        ({"reasoning_level": "minimal", "tools": [{"name": "T"}]}, "action.tools.provide", "T"),
    ],
)
async def test_what_cannot_be_provisioned_whole_is_refused_and_leaves_no_session(
    trace: Trace, opened: dict[str, Any], feature: str, at: str | None
) -> None:
    """Beyond a disclosed limit, of a foreign owner, colliding or dangling: the entry at fault is named."""
    whole = {"input_schema": {}, "execution_owner": "user", "source": "memory"}
    if "tools" in opened:
        tools = [{**whole, **tool} for tool in opened["tools"]]
        opened = {
            **opened,
            "tools": [{name: part for name, part in tool.items() if part is not None} for tool in tools],
        }
    async with staged(trace, opened=None) as stage:
        code, details = await refused(stage.open(**opened))
        assert (code, details["feature"], details["reason"]) == ("unsupported_feature", feature, "unsatisfiable")
        assert at in (None, details.get("source"), details.get("tool"))
        await stage.open()


@pytest.mark.req("OAP-082")
async def test_a_provided_tool_may_name_a_source_the_same_open_attaches(trace: Trace) -> None:
    """And is listed under it."""
    tool = {"name": "t", "input_schema": {}, "execution_owner": "user", "source": "notes"}
    async with staged(trace, opened={"tool_sources": SOURCES, "tools": [tool]}) as stage:
        listed = await stage.session.tools(ToolsListRequest())
        assert (listed.tools[-1].name, listed.tools[-1].source) == ("t", "notes")


@pytest.mark.req("OAP-082")
async def test_who_was_met_owns_provided_tools_and_answers(trace: Trace) -> None:
    """Over an endpoint the participant names itself."""
    tool = {"name": "t", "input_schema": {}, "execution_owner": "control", "source": "memory"}
    async with staged(trace, opened=None) as stage:
        stage.adapter.meet("control")
        await stage.open(tools=[tool])
        run = (await stage.submit("script: tools", tool_choice={"allowed": ["t"]})).run_id
        await stage.read(run)
        (asked,) = stage.payloads(run, "action.call.requested")
        assert (asked["responded_by"], asked["execution_owner"]) == ("control", "control")
        await stage.call(run, result=1)
        assert (await stage.read(run))[-1] == "run.completed"


@pytest.mark.req("OAP-074")
async def test_settings_are_taken_as_they_are_and_reported(trace: Trace) -> None:
    """A level above `off` is heard as reasoning."""
    policy = {"kind": "share", "share_percent": 50}
    async with staged(trace, opened={"reasoning_level": "high", "compaction_policy": policy}) as stage:
        state = await stage.session.state()
        assert state.compaction_policy
        assert (state.reasoning_level, state.compaction_policy.share_percent) == ("high", 50)
        run = (await stage.submit(PLAIN)).run_id
        await stage.read(run)
        assert [payload["part"]["type"] for payload in stage.payloads(run, "content.delta")] == ["reasoning", "text"]


_ANSWER = {"interaction_id": "i", "requested_by": "memory-agent", "responded_by": "user"}


@pytest.mark.req("OAP-018")
async def test_a_stale_pin_is_refused_whatever_the_request(stage: Stage) -> None:
    """Every request is held against the revision it was written for."""
    for type_, payload in (
        ("session.message.submit.request", {"messages": [{"role": "user", "content": "x"}], "delivery": "auto"}),
        ("session.compact.request", {}),
        ("session.model.switch.request", {"model_id": "memory-small"}),
        ("session.provider.attach.request", {"provider": {"id": "a", "provider_id": "b"}}),
        ("run.cancel.request", {"run_id": "never"}),
        ("user.input.cancel.request", {**_ANSWER, "run_id": "never"}),
        ("action.call.resolve.request", {**_ANSWER, "run_id": "never", "tool_call_id": "c", "result": {}}),
    ):
        code, details = await refused(stage.ask(type_, {"session_id": SESSION, **payload}, capability_revision="old"))
        assert (code, details["current_revision"], details["expected_revision"]) == (
            "stale_capabilities",
            "old",
            DESCRIPTOR.revision,
        )


@pytest.mark.req("OAP-048")
async def test_only_a_users_message_is_submitted(stage: Stage) -> None:
    """A control that cannot be honoured outranks it."""
    messages = [{"role": "assistant", "content": "x"}]
    assert (await refused(stage.submit(messages=messages)))[0] == "invalid_submission"
    assert (await refused(stage.submit(messages=messages, model_id="x")))[0] == "model_not_found"
