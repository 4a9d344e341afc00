"""The provider profile over pipes: many inferences at once, what a line may be, and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.endpoint.connection import EndpointBounds
from sayso.control.hub.bindings.stdio import StdioEnding
from sayso.control.protocol.envelope import write_envelope
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.types import PROVIDER_TYPES, Kind
from sayso.control.provider.bindings.specimens import specimens
from sayso.control.provider.planner.provider import MODEL
from sayso.control.validator.judging import judge
from sayso.core.ids import CountingIds
from sayso.testing.provider import Hangs, Say, ScriptedProvider
from sayso.testing.vendor_servers import VENDORS, Said, Stream
from tests.control.provider.bindings.pipes import inferences, provider_host
from tests.control.provider.bindings.scripted import service_of
from tests.control.provider.service.vendors import (
    TURN,
    ask,
    cancel_request,
    describe_request,
    models_request,
    open_service,
    open_vendor,
    sync_request,
    to_lines,
)
from tests.control.provider.wires.bench import ALL, PATIENCE

pytestmark = pytest.mark.anyio
HEAD = {"protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.model-provider-core"}


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-135")
async def test_inferences_side_by_side_each_with_numbers_of_its_own(
    wire: str, tmp_path: Path, provider_schema: Any
) -> None:
    """One hangs, two others run to their ends meanwhile; then the first is cancelled."""
    silent = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    async with open_vendor(wire, [silent, TURN, Said([Say("two")])]) as vendor:
        requests = [ask(vendor.ref, name=f"q{number}") for number in range(3)]
        async with open_service(tmp_path, vendor.environ) as all_, provider_host(all_) as host:
            first = await host.answer_to(requests[0])
            await host.event_of(first["inference_id"], "inference.part.ended")
            for request in requests[1:]:
                other = await host.answer_to(request)
                await host.event_of(other["inference_id"], "inference.completed")
            cancelled = await host.answer_to(cancel_request(first["inference_id"]))
            assert cancelled["payload"] == {"accepted": True}
            await host.event_of(first["inference_id"], "inference.completed")
            end = await host.finish()
            with anyio.fail_after(PATIENCE):
                await vendor.server.gone.wait()
    assert end.is_clean
    found = inferences(host.seen, *requests)
    assert [found[f"q{number}"][-1].payload.stop_reason for number in range(3)] == ["aborted", "tool_use", "stop"]  # type: ignore[attr-defined]
    asked = [json.loads(write_envelope(each)) for each in (*requests, cancel_request(first["inference_id"]))]
    trace = b"".join(json.dumps(line).encode() + b"\n" for line in [*asked, *host.seen])
    assert judge(trace, profile="model-provider-core").diagnostics == ()
    assert all(provider_schema.is_valid(line) for line in host.seen)


@pytest.mark.req("OAP-135")
async def test_the_end_of_input_lets_what_was_accepted_finish(tmp_path: Path) -> None:
    """A host that sends its requests and closes gets every terminal, and an end that is clean."""
    requests = [ask(MODEL, name=f"q{number}") for number in range(5)]
    async with open_service(tmp_path, {}) as all_, provider_host(all_) as host:
        host.tell(*requests)
        host.hang_up()
        rest = await host.rest()
        end = await host.finish()
    assert end.is_clean
    assert {own[-1].type for own in inferences(rest, *requests).values()} == {"inference.completed"}


@pytest.mark.req("OAP-135")
async def test_an_inference_goes_on_behind_the_end_of_input() -> None:
    """It is not cut off because nothing more will be asked."""
    goes_on = anyio.Event()

    class Slow(ScriptedProvider):
        async def create(self, request: Any) -> Any:
            async for envelope in super().create(request):
                if envelope.type == "inference.completed":
                    await goes_on.wait()
                yield envelope

    request = ask("scripted/m")
    async with provider_host(service_of(Slow([[Say("one")]]))) as host:
        created = await host.answer_to(request)
        await host.event_of(created["inference_id"], "inference.part.ended")
        host.hang_up()
        await host.input.ended.wait()
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        goes_on.set()
        await host.rest()
        end = await host.finish()
    (own,) = inferences(host.seen, request).values()
    assert own[-1].payload.stop_reason == "stop"  # type: ignore[attr-defined]
    assert end.is_clean


@pytest.mark.parametrize("how", ["time", "signal", "malformed"])
@pytest.mark.req("OAP-135")
async def test_the_end_settles_what_would_never_end(how: str) -> None:
    """As aborted: when its time is over, and at once on a signal or behind a line that cannot be read."""
    bounds = EndpointBounds(finish=0.0 if how == "time" else 3600.0)
    request = ask("scripted/m")
    service = service_of(ScriptedProvider([[Say("one"), Hangs()]]))
    async with provider_host(service, bounds) as host:
        created = await host.answer_to(request)
        await host.event_of(created["inference_id"], "inference.part.ended")
        if how == "malformed":
            host.send(b"{}")
        elif how == "signal":
            host.stop.set()
        else:
            host.hang_up()
        await host.rest()
        end = await host.finish()
    (own,) = inferences(host.seen, request).values()
    assert own[-1].payload.stop_reason == "aborted"  # type: ignore[attr-defined]
    assert end.ending is (StdioEnding.MALFORMED if how == "malformed" else StdioEnding.CLEAN)


@pytest.mark.req("OAP-135")
async def test_a_host_that_reads_no_more_loses_its_inferences_at_once() -> None:
    """Nobody is owed a terminal that nobody takes: what is silent is cancelled, and the end says what was lost."""
    model = ScriptedProvider([[Hangs()]])
    async with provider_host(service_of(model), EndpointBounds(finish=3600.0)) as host:
        host.tell(ask("scripted/m"))
        while not model.requests:
            await anyio.lowlevel.checkpoint()
        host.stop_reading()
        host.tell(describe_request())
        with anyio.fail_after(PATIENCE):
            await host.ended.wait()
    assert host.end is not None
    assert (host.end.ending, model.cancels) == (StdioEnding.OUTPUT_LOST, 1)


@pytest.mark.req("OAP-135")
async def test_an_inference_that_cannot_be_settled_is_no_clean_end() -> None:
    """A host that is owed a terminal must not be told that all is well."""

    class Deaf(ScriptedProvider):
        async def cancel(self, request: Any) -> Any:
            return await super().cancel(cancel_request("inf_of_nobody"))

    bounds = EndpointBounds(finish=0.0, stage=0.1)
    async with provider_host(service_of(Deaf([[Hangs()]])), bounds) as host:
        created = await host.answer_to(ask("scripted/m"))
        await host.event_of(created["inference_id"], "inference.started")
        end = await host.finish()
    assert end.ending is StdioEnding.STALLED


@pytest.mark.parametrize(
    ("line", "type_", "code"),
    [
        ({"type": "inference.create.request", "payload": {}}, "inference.create.response", "invalid_request"),
        ({"type": "inference.create.request", "payload": {"model_ref": "m", "messages": [], "extra": 1}},
         "inference.create.response", "invalid_request"),
        ({"type": "inference.create.request", "version": "9.9", "payload": {}}, "inference.create.response",
         "unsupported_version"),
        ({"type": "provider.credential.grant.request",
          "payload": {"provider_id": "openai", "nonce": "n", "value": "s3cr3t-value"}},
         "provider.credential.grant.response", "unsupported_feature"),
        ({"type": "provider.describe.request", "payload": {"x": 1}}, "error.response", "schema_invalid"),
        ({"type": "inference.cancel.request", "payload": {}}, "error.response", "schema_invalid"),
        ({"type": "inference.started", "inference_id": "i", "sequence": 1, "payload": {"model_ref": "m"}},
         "error.response", "type_mismatch"),
        ({"type": "nothing.known", "payload": {}}, "error.response", "schema_invalid"),
        ({"type": "provider.describe.request", "payload": {},
          "profile": "open-agent-protocol.agent-control-core"}, "error.response", "invalid_request"),
        ({"control": "replay"}, None, "unsupported_control"),
    ],
)  # fmt: skip
@pytest.mark.req("OAP-134", "OAP-135")
async def test_a_line_that_cannot_be_served_is_answered_and_the_next_one_too(
    line: dict[str, Any], type_: str | None, code: str, tmp_path: Path
) -> None:
    """Under its id, in the form its type has; nothing in it is repeated."""
    head = {} if "control" in line else HEAD
    async with open_service(tmp_path, {}) as all_, provider_host(all_) as host:
        host.send({**head, "id": "x1", **line})
        answer = await host.until(lambda each: "x1" in (each.get("id"), each.get("in_reply_to")))
        described = await host.answer_to(describe_request())
        assert (await host.finish()).is_clean
    error = answer.get("payload", {}).get("error") or answer
    assert (answer.get("type"), error["code"]) == (type_, code)
    assert "s3cr3t" not in json.dumps(host.seen)
    assert described["type"] == "provider.describe.response"


@pytest.mark.parametrize("line", [b"[]", b"nothing", b"{}", b'{"protocol": "open-agent-protocol"}'])
@pytest.mark.req("OAP-135")
async def test_a_line_that_cannot_be_classed_is_fatal(line: bytes, tmp_path: Path) -> None:
    """With one sentence that names it by number."""
    async with open_service(tmp_path, {}) as all_, provider_host(all_) as host:
        await host.answer_to(describe_request())
        host.send(line)
        await host.rest()
        end = await host.finish()
    assert end.ending is StdioEnding.MALFORMED
    assert end.message.startswith("line 2: ")


@pytest.mark.req("OAP-135")
async def test_more_inferences_than_there_is_room_for_are_refused_and_may_be_sent_again(tmp_path: Path) -> None:
    """And nothing else waits for room: a cancel is answered meanwhile."""
    service = service_of(ScriptedProvider([[Hangs()], [Hangs()], [Say("three")]]))
    async with provider_host(service, EndpointBounds(inferences=2)) as host:
        first = await host.answer_to(ask("scripted/m", name="q1"))
        await host.answer_to(ask("scripted/m", name="q2"))
        refused = await host.answer_to(ask("scripted/m", name="q3"))
        await host.answer_to(cancel_request(first["inference_id"]))
        await host.event_of(first["inference_id"], "inference.completed")
        again = await host.answer_to(ask("scripted/m", name="q4"))
    assert (refused["payload"]["error"]["code"], refused.get("inference_id")) == ("rate_limited", None)
    assert again["payload"]["accepted"] is True


@pytest.mark.req("OAP-135")
async def test_a_host_that_sends_on_and_never_reads_is_held_back() -> None:
    """Its creates are refused where they are read, so nothing piles up here: its own pipe fills."""
    async with provider_host(service_of(ScriptedProvider([])), EndpointBounds(inferences=2, requests=2)) as host:
        os.set_blocking(host.input_descriptor, False)
        line, sent, full = to_lines([ask("scripted/m")]), 0, 0
        while full < 1000:
            try:
                sent += os.write(host.input_descriptor, line)
                full = 0
            except BlockingIOError:
                full += 1
            await anyio.lowlevel.checkpoint()
            assert sent < 4 * 1024 * 1024
        os.set_blocking(host.input_descriptor, True)
        host.stop_reading()
        with anyio.fail_after(PATIENCE):
            await host.ended.wait()


@pytest.mark.req("OAP-131", "OAP-135")
@pytest.mark.parametrize("after", [1, 2, 4])
async def test_an_inference_whose_maker_breaks_is_owed_its_terminal(after: int) -> None:
    """One answer, the next number, and a failure that says nothing of what broke."""

    class Breaks(ScriptedProvider):
        async def create(self, request: Any) -> Any:
            count = 0
            async for envelope in super().create(request):
                yield envelope
                count += 1
                if count == after:
                    raise TypeError("s3cr3t")

    request = ask("scripted/m")
    async with provider_host(service_of(Breaks([[Say("one")]]))) as host:
        host.tell(request)
        await host.until(lambda line: line.get("type") == "inference.failed")
        end = await host.finish()
    (own,) = inferences(host.seen, request).values()
    assert own[-1].payload.error.code == "endpoint_error"  # type: ignore[attr-defined]
    assert end.is_clean
    assert "s3cr3t" not in json.dumps(host.seen)


@pytest.mark.req("OAP-131")
async def test_an_envelope_over_the_bound_loses_its_snapshot_and_then_fails_its_inference() -> None:
    """The numbers stay whole either way."""
    service = service_of(ScriptedProvider([[Say("a" * 300), Say("b" * 500), Say("c" * 2000)]]))
    request = ask("scripted/m", include_snapshot="every_delta")
    async with provider_host(service, EndpointBounds(line=1500)) as host:
        created = await host.answer_to(request)
        await host.event_of(created["inference_id"], "inference.failed")
        assert (await host.finish()).is_clean
    (own,) = inferences(host.seen, request).values()
    shown = [bool(getattr(each.payload, "snapshot", None)) for each in own if "part" in each.type]
    assert True in shown
    assert False in shown
    assert own[-1].payload.error.code == "resource_exhausted"  # type: ignore[attr-defined]


@pytest.mark.req("OAP-130", "OAP-135")
async def test_lists_and_sync_over_the_pipe(tmp_path: Path) -> None:
    async with open_service(tmp_path, {}) as all_, provider_host(all_) as host:
        models = await host.answer_to(models_request("sayso-offline"))
        synced = await host.answer_to(sync_request("inf_nobody"))
    assert [each["model_ref"] for each in models["payload"]["models"]] == [MODEL]
    assert (synced["inference_id"], synced["payload"]) == ("inf_nobody", {})


@pytest.mark.req("OAP-135")
async def test_specimens_are_one_of_each_type_and_sound(tmp_path: Path, provider_schema: Any) -> None:
    """Asked for by the control frame; the schema takes each, the validator the whole."""
    async with open_service(tmp_path, {}) as all_, provider_host(all_) as host:
        host.send({"control": "specimen", "id": "s1"})
        accepted = await host.until(lambda line: line.get("control") == "specimen.accepted")
        shown = [await host.until(lambda line: "protocol" in line) for _ in accepted["types"]]
        assert (await host.finish()).is_clean
    emitted = {
        name for name, type_ in PROVIDER_TYPES.items() if type_.kind is not Kind.REQUEST and "credential" not in name
    }
    assert [line["type"] for line in shown] == accepted["types"]
    assert (set(accepted["types"]), len(accepted["types"])) == (emitted, len(emitted))
    assert all(provider_schema.is_valid(line) for line in shown)
    trace = b"".join(json.dumps(line).encode() + b"\n" for line in shown)
    assert judge(trace, profile="model-provider-core").diagnostics == ()
    synced = next(line for line in shown if line["type"] == "inference.sync.response")
    assert synced["payload"]["snapshot"][0]["content"][0]["arguments_partial"] == '{"where":"here"}'


@pytest.mark.req("OAP-135")
async def test_specimens_leave_no_inference_behind(tmp_path: Path) -> None:
    async with open_service(tmp_path, {}) as all_:
        shown = [each async for each in specimens(all_, CountingIds())]
        created = next(each for each in shown if each.type == "inference.create.response")
        synced = await all_.sync(sync_request(created.inference_id))  # type: ignore[union-attr]
    assert synced.payload.snapshot is UNSET
