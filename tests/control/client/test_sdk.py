"""The SDK against the installed command and real wires: models, agent, tools, sign-in, with and without `await`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.client.combined import Sayso
from sayso.control.client.program import BINARY_VARIABLE
from sayso.control.client.providers import Completion
from sayso.control.protocol.payloads.content import TextPart, ToolCallPart
from sayso.control.protocol.payloads.inference import InferenceCompleted, InferenceTool
from sayso.control.provider.planner.provider import MODEL
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.sdk import (
    Answered,
    Asked,
    BlockingSayso,
    ServerError,
    Tool,
    combined_program,
)
from sayso.testing.provider import Call, Say
from sayso.testing.vendor_servers import VENDORS, Said, Status, Stream
from tests.control.client.combined import BINARY, Stand, program, sdk, standing
from tests.control.client.scripts import DYING, FLOODING, SIGNING, TOOLLESS, scripted
from tests.control.provider.service.vendors import TURN
from tests.control.provider.wires.bench import ALL, PATIENCE

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", ALL)
DONE = Said([Say("all ", "done")])


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for the child that these tests share."""
    return "asyncio"


@pytest.fixture(scope="module")
async def stand(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stand]:
    """One child for all tests that only ask it something."""
    async with sdk(tmp_path_factory.mktemp("home")) as it:
        yield it


@every_wire
@pytest.mark.req("OAP-137", "OAP-200")
async def test_a_model_is_asked_directly(wire: str, stand: Stand) -> None:
    """Whole and as a stream, with a tool in it."""
    tools = [InferenceTool(name="look", input_schema={"type": "object"})]
    vendor = stand.over(wire, [DONE, TURN])
    ref = vendor.ref
    answer = await stand.client.provider.complete(ref, "go", max_output_tokens=100)
    types = []
    async with aclosing(stand.client.provider.stream(ref, "go", tools=tools)) as events:
        async for event in events:
            types.append(event.type)
            last = event.payload
    models = await stand.client.provider.models()
    assert (answer.text, answer.stop_reason) == ("all done", "stop")
    assert isinstance(answer, Completion)
    assert (types[0], types[-1]) == ("inference.started", "inference.completed")
    assert isinstance(last, InferenceCompleted)
    assert [type(part) for part in last.message.content][1:] == [TextPart, ToolCallPart]
    assert models[-1].model_ref == MODEL


@every_wire
@pytest.mark.req("OAP-137", "OAP-200", "OAP-201")
async def test_an_agent_uses_a_tool_of_the_program(wire: str, stand: Stand) -> None:
    """Its function is called here with the model's arguments, and its result goes to the model."""
    seen: list[Mapping[str, Any]] = []

    async def look(arguments: Mapping[str, Any]) -> Any:
        seen.append(arguments)
        return {"found": arguments["q"]}

    tool = Tool("look", "Looks.", {"type": "object", "properties": {"q": {"type": "string"}}}, look)
    asked = Asked(permit=lambda _: _yes())
    vendor = stand.over(wire, [Said([Call("look", {"q": "x"}, "c1")]), DONE])
    outcome = await stand.client.agent.run("go", model=vendor.ref, tools=[tool], asked=asked)
    received = vendor.server.received
    assert outcome.error is None
    assert (outcome.tool_calls, seen) == (1, [{"q": "x"}])
    assert "found" in received[1].text


async def _yes() -> Answered:
    return Answered(granted=True)


@pytest.mark.req("OAP-200")
async def test_a_session_streams_and_switches_its_model(stand: Stand) -> None:
    """The next run is the other model's."""
    vendor = stand.over("anthropic-messages", [DONE])
    session = await stand.client.agent.open(model=vendor.ref)
    async with aclosing(session.stream("go")) as events:
        types = [event.type async for event in events]
    switched = await session.switch_model(MODEL)
    listed = await session.models()
    outcome = await session.run("and now?")
    assert types[-1] == "run.completed"
    assert switched.model_id == MODEL
    assert MODEL in {model.id for model in listed.models}
    assert outcome.error is None
    assert len(vendor.server.received) == 1


@pytest.mark.req("OAP-201")
async def test_a_tool_that_fails_is_told_and_the_run_goes_on(stand: Stand) -> None:
    """By its kind: what an exception says is this program's own."""

    def broken(_arguments: Mapping[str, Any]) -> Any:
        raise ValueError("s3cr3t")

    tool = Tool("look", "Looks.", {"type": "object"}, broken)
    vendor = stand.over("openai-responses", [Said([Call("look", {}, "c1")]), DONE])
    outcome = await stand.client.agent.run("go", model=vendor.ref, tools=[tool], asked=Asked(permit=lambda _: _yes()))
    received = vendor.server.received[1].text
    assert outcome.error is None
    assert "ValueError" in received
    assert "s3cr3t" not in received


@pytest.mark.req("OAP-201")
async def test_what_no_agent_takes_is_refused_before_anything_is_sent(stand: Stand) -> None:
    """A temperature and minimal reasoning; nothing reaches the endpoint, so nothing reaches the vendor."""
    vendor = stand.over("openai-responses", [])
    agent: Any = stand.client.agent
    refused = []
    for wish in ({"temperature": 0.5}, {"reasoning_level": "minimal"}):
        with pytest.raises(Refused) as error:
            await agent.run("go", **wish)
        refused.append((error.value.refusal.code, error.value.refusal.details["feature"]))
    session: Any = await agent.open()
    with pytest.raises(Refused):
        await session.run("go", temperature=0.5)
    state = await session.session.state()
    assert refused == [
        ("unsupported_feature", "temperature"),
        ("unsupported_feature", "session.reasoning"),
    ]
    assert not state.active_runs
    assert vendor.server.received == []


@pytest.mark.req("OAP-201")
async def test_tools_are_refused_here_where_the_endpoint_takes_none(tmp_path: Path) -> None:
    """An endpoint that advertises nothing of the kind is never asked."""
    tool = Tool("look", "Looks.", {"type": "object"}, lambda _: None)
    async with Sayso(scripted(tmp_path, TOOLLESS)) as client:
        with pytest.raises(Refused) as refused:
            await client.agent.open(tools=[tool])
    assert refused.value.refusal.code == "unsupported_feature"
    assert "session.open.request" not in (tmp_path / "heard").read_text()


@pytest.mark.req("OAP-200")
async def test_a_failure_has_the_profiles_code(stand: Stand) -> None:
    """A refused create and a failed inference alike; the client goes on."""
    vendor = stand.over("openai-chat-completions", [Said([Say("hi")]), Status(400)])
    codes = []
    for model in ("nobody/none", "openrouter/fixture", "gpt"):
        with pytest.raises(ServerError) as error:
            await stand.client.provider.complete(model, "go")
        codes.append(error.value.code)
    answer = await stand.client.provider.complete(vendor.ref, "go")
    with pytest.raises(ServerError) as failed:
        await stand.client.provider.complete(vendor.ref, "go")
    assert codes == ["model_not_found", "credential_missing", "model_not_found"]
    assert answer.text == "hi"
    assert failed.value.code == "invalid_request"


@every_wire
@pytest.mark.req("OAP-200")
async def test_leaving_a_stream_cancels_the_inference(wire: str, stand: Stand) -> None:
    """The vendor's connection closes, and the pipe is good for the next one."""
    silent = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    vendor = stand.over(wire, [silent, DONE])
    async with aclosing(stand.client.provider.stream(vendor.ref, "go")) as events:
        async for event in events:
            if event.type == "inference.part.delta":
                break
    with anyio.fail_after(PATIENCE):
        await vendor.server.gone.wait()
    assert (await stand.client.provider.complete(vendor.ref, "go")).text == "all done"


@pytest.mark.req("OAP-200")
async def test_inferences_and_a_run_at_once(stand: Stand) -> None:
    """Ten and one over one pipe; each hears its own."""
    answers = [Said([Say("all ", "done")]) for _ in range(11)]
    vendor = stand.over("anthropic-messages", answers)
    texts: list[str] = []

    async def one() -> None:
        texts.append((await stand.client.provider.complete(vendor.ref, "go")).text)

    async def run() -> None:
        outcome = await stand.client.agent.run("go", model=vendor.ref)
        assert outcome.error is None

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(one)
        tasks.start_soon(run)
    assert texts == ["all done"] * 10


@pytest.mark.req("OAP-200")
async def test_an_endpoint_that_dies_fails_what_waits(tmp_path: Path) -> None:
    """A model asked directly, at once and not after a budget."""
    async with Sayso(scripted(tmp_path, DYING)) as client:
        with anyio.fail_after(PATIENCE), pytest.raises((PeerUnreachable, ServerError)):
            await client.provider.complete("some/model", "go")
        with anyio.fail_after(PATIENCE), pytest.raises(PeerUnreachable):
            await client.auth.providers()


@pytest.mark.req("OAP-201")
async def test_a_login_carries_the_provider_and_nothing_else(tmp_path: Path) -> None:
    """Its events are shown; there is no way to hand an answer in."""
    shown: list[Any] = []
    async with Sayso(scripted(tmp_path, SIGNING)) as client:
        assert [provider.id for provider in await client.auth.providers()] == ["vendor"]
        ended = await client.auth.login("vendor", shown.append)
        with pytest.raises(ServerError) as failed:
            await client.auth.login("typed")
    assert ended.status == "success"
    assert [event.kind for event in shown] == ["url"]
    assert failed.value.code == "auth_input_unavailable"
    heard = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    started = [line["payload"] for line in heard if line["type"] == "auth.login.start.request"]
    assert started == [{"provider_id": "vendor"}, {"provider_id": "typed"}]


@pytest.mark.req("OAP-201")
async def test_flows_that_nobody_follows_do_not_pile_up(tmp_path: Path) -> None:
    """An endpoint may tell of as many as it likes; the one that was asked for is not lost among them."""
    async with Sayso(scripted(tmp_path, FLOODING)) as client:
        ends = [(await client.auth.login("vendor")).status for _ in range(3)]
        kept = len(client.auth._flows)
    assert ends == ["success"] * 3
    assert kept <= 64


@pytest.mark.parametrize(
    ("model", "retries", "creates", "logins", "code"),
    [
        ("vendor/signed", True, 2, 1, None),
        ("vendor/signed", False, 1, 0, "credential_missing"),
        ("vendor/never", True, 2, 1, "credential_missing"),
        ("vendor/expired", True, 2, 1, None),
        ("vendor/late", True, 1, 0, "credential_expired"),
        ("vendor/busy", True, 1, 0, "rate_limited"),
    ],
)
@pytest.mark.req("OAP-201")
async def test_a_sign_in_is_followed_by_one_more_try_for_a_failed_credential_alone(
    model: str, retries: bool, creates: int, logins: int, code: str | None, tmp_path: Path
) -> None:
    """Never a second one, never behind a part that was told, never for anything else, and never unasked."""
    async with Sayso(scripted(tmp_path, SIGNING), retries_after_login=retries) as client:
        types: list[str] = []
        try:
            async with aclosing(client.provider.stream(model, "go")) as events:
                async for event in events:
                    types.append(event.type)
            found = None
        except ServerError as error:
            found = error.code
    heard = [json.loads(line)["type"] for line in (tmp_path / "heard").read_text().splitlines()]
    assert (heard.count("inference.create.request"), heard.count("auth.login.start.request")) == (creates, logins)
    assert found == code
    assert types.count("inference.started") <= 1


@pytest.mark.parametrize(("model", "logins", "completed"), [("vendor/signed", 1, True), ("vendor/busy", 0, False)])
@pytest.mark.req("OAP-201")
async def test_a_run_that_lacks_a_credential_is_submitted_once_more_after_a_sign_in(
    model: str, logins: int, completed: bool, tmp_path: Path
) -> None:
    """And one that failed for another reason is not."""
    async with Sayso(scripted(tmp_path, SIGNING), retries_after_login=True) as client:
        session = await client.agent.open()
        outcome = await session.run("go", model_id=model)
    heard = [json.loads(line)["type"] for line in (tmp_path / "heard").read_text().splitlines()]
    assert heard.count("session.message.submit.request") == logins + 1
    assert heard.count("auth.login.start.request") == logins
    assert (outcome.error is None) is completed


@pytest.mark.req("OAP-200")
async def test_a_failure_of_the_caller_leaves_the_client_as_it_is(tmp_path: Path) -> None:
    """No group of exceptions around it, and the child is gone."""

    async def fail() -> None:
        async with Sayso(scripted(tmp_path, SIGNING)) as client:
            await client.auth.providers()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()


@pytest.mark.req("OAP-200")
def test_the_same_without_await(tmp_path: Path) -> None:
    """Models, a stream, an agent with a tool, and a stream that is left."""
    seen: list[Any] = []
    tool = Tool("look", "Looks.", {"type": "object"}, lambda arguments: seen.append(arguments) or {"found": 1})
    answers = [DONE, TURN, Said([Call("look", {"q": "x"}, "c1")]), DONE]
    with standing("openai-responses", answers) as (environ, ref):
        environ = {**environ, "SAYSO_MODEL": ref}
        with BlockingSayso(program(tmp_path, environ)) as client:
            answer = client.provider.complete(ref, "go")
            with client.provider.stream(ref, "go") as events:
                types = [event.type for event in events]
            outcome = client.agent.run("go", tools=[tool], asked=Asked(permit=lambda _: _yes()))
            session = client.agent.open(model=MODEL)
            with session.stream("hello") as run:
                assert next(run).type == "run.started"
            assert session.run("hello again").error is None
            assert client.provider.models(MODEL) == ()
            assert client.provider.models("sayso-offline")[0].model_ref == MODEL
    assert answer.text == "all done"
    assert types[-1] == "inference.completed"
    assert (outcome.error, seen) == (None, [{"q": "x"}])


@pytest.mark.req("OAP-200")
async def test_the_program_is_found_by_argument_variable_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order; the child is given the catalog's variables and not all of ours."""
    monkeypatch.setenv(BINARY_VARIABLE, "/from/variable")
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.setenv("SOMETHING_ELSE", "private")
    assert combined_program(binary="/from/argument").command[0] == "/from/argument"
    found = combined_program(home=tmp_path)
    assert list(found.command) == ["/from/variable", "serve", "agent,provider", "--stdio", "--home", str(tmp_path)]
    assert found.environment["OPENAI_API_KEY"] == "k" * 20
    assert "SOMETHING_ELSE" not in found.environment
    monkeypatch.delenv(BINARY_VARIABLE)
    assert combined_program().command[0] == "sayso"
    monkeypatch.setenv(BINARY_VARIABLE, str(BINARY))
    async with Sayso(home=tmp_path) as client:
        assert (await client.provider.complete(MODEL, "hello")).stop_reason == "stop"
