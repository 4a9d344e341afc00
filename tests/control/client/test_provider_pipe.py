"""The provider half of a pipe: whose answer is whose, whatever order they come in, and what an end does."""

from __future__ import annotations

import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.client.pipe import EndpointPipe
from sayso.control.client.provider_pipe import ProviderPipe
from sayso.control.provider.remote import RemoteProviders
from sayso.core.ids import SystemIds
from sayso.core.refusal import PeerRefused, PeerUnreachable
from sayso.sdk import ServerError
from tests.control.client.scripts import DYING, scripted
from tests.control.provider.service.vendors import Judge, ask, describe_request
from tests.control.provider.wires.bench import PATIENCE

pytestmark = pytest.mark.anyio

EARLY = """
for asked in requests():
    name = f"i-{asked['id']}"
    def tell(sequence, type_, payload):
        say(type_, payload, PROVIDER, inference_id=name, sequence=sequence)
    tell(1, "inference.started", {"model_ref": "m"})
    say("inference.create.response", {"accepted": True, "honoured": {"include_snapshot": "never"}}, PROVIDER,
        in_reply_to=asked["id"], inference_id=name)
    tell(2, "inference.completed", {"message": {"role": "assistant", "content": "hi"}, "stop_reason": "stop"})
"""
REFUSING = """
for asked in requests():
    say("error.response", {"error": {"code": "invalid_request", "message": "no"}}, in_reply_to=asked["id"])
"""
BROKEN = """
for asked in requests():
    say("inference.nothing", {}, PROVIDER, in_reply_to=asked["id"])
"""


@pytest.mark.req("OAP-137")
async def test_an_event_that_overtakes_its_create_is_kept(tmp_path: Path, provider_schema: Any) -> None:
    """Dispatch goes by id and not by position."""
    ids = SystemIds()
    async with EndpointPipe(scripted(tmp_path, EARLY), ids=ids) as pipe:
        found = await Judge(provider_schema).infer(RemoteProviders(ProviderPipe(pipe, ids), ids=ids), ask("m"))
    assert found.types == ["create.response", "started", "completed"]


@pytest.mark.req("OAP-200")
async def test_what_waits_is_told_when_the_pipe_is_over(tmp_path: Path) -> None:
    """By how the endpoint ended, and not by a budget that ran out."""
    ids = SystemIds()
    async with EndpointPipe(scripted(tmp_path, DYING), ids=ids) as pipe:
        half = ProviderPipe(pipe, ids, budget=5.0)
        with anyio.fail_after(PATIENCE), pytest.raises(PeerUnreachable) as gone:
            await half.ask(describe_request())
        with pytest.raises(PeerUnreachable):
            await half.ask(describe_request("d2"))
    assert "no answer within" not in str(gone.value)


LATE = """
held = None
for asked in requests():
    if asked["type"] == "inference.create.request":
        held = asked
        continue
    if asked["type"] == "inference.cancel.request":
        say("inference.cancel.response", {"accepted": True}, PROVIDER, in_reply_to=asked["id"],
            inference_id=asked["inference_id"])
        say("inference.completed", {"message": {"role": "assistant", "content": ""}, "stop_reason": "aborted"},
            PROVIDER, inference_id=asked["inference_id"], sequence=2)
        continue
    say("provider.describe.response", {"providers": [], "protocol_versions": ["0.1"]}, PROVIDER,
        in_reply_to=asked["id"], capability_revision="r1")
    if held is not None:
        name, held = f"i-{held['id']}", None
        say("inference.create.response", {"accepted": True, "honoured": {"include_snapshot": "never"}}, PROVIDER,
            in_reply_to=name[2:], inference_id=name)
        say("inference.started", {"model_ref": "m"}, PROVIDER, inference_id=name, sequence=1)
"""


@pytest.mark.req("OAP-132", "OAP-200")
async def test_an_inference_that_is_answered_after_its_reader_left_is_cancelled(tmp_path: Path) -> None:
    """Nobody would read what a vendor is paid for."""
    ids = SystemIds()
    async with EndpointPipe(scripted(tmp_path, LATE), ids=ids) as pipe:
        half = ProviderPipe(pipe, ids)
        heard = tmp_path / "heard"

        async def create() -> None:
            async for _ in half.stream(ask("m")):
                raise AssertionError("it was answered")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(create)
            with anyio.fail_after(PATIENCE):
                while "inference.create.request" not in heard.read_text():
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE):
            await half.ask(describe_request())
            while '"inference.cancel.request"' not in heard.read_text():
                await anyio.lowlevel.checkpoint()
            await half.ask(describe_request("d2"))
    (cancel,) = [json.loads(line) for line in heard.read_text().splitlines() if "inference.cancel.request" in line]
    assert cancel["inference_id"] == "i-q1"


@pytest.mark.req("OAP-137")
async def test_a_refusal_of_the_other_profile_answers_the_request_it_names(tmp_path: Path) -> None:
    """What could not be read as a request of the provider profile is refused in words of agent control."""
    ids = SystemIds()
    async with EndpointPipe(scripted(tmp_path, REFUSING), ids=ids) as pipe:
        half = ProviderPipe(pipe, ids)
        with pytest.raises(PeerRefused) as refused:
            await half.ask(describe_request())
        async with aclosing(half.stream(ask("m"))) as envelopes:
            with pytest.raises(PeerRefused):
                await anext(envelopes)
    assert refused.value.refusal.code == "invalid_request"


@pytest.mark.req("OAP-137")
async def test_an_envelope_without_its_shape_ends_the_pipe(tmp_path: Path) -> None:
    """What an endpoint may not send fails whatever waits."""
    ids = SystemIds()
    async with EndpointPipe(scripted(tmp_path, BROKEN), ids=ids) as pipe:
        half = ProviderPipe(pipe, ids)
        with anyio.fail_after(PATIENCE), pytest.raises((ServerError, PeerUnreachable)):
            await half.ask(describe_request())
