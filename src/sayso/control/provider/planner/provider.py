"""The offline planner behind the provider port: its answers as the envelopes of model-provider-core (OAP-130..132).

It needs no credential, no network and no time: an inference is decided at once and written out. It says what it is in
its model's name and in its answer to anything it cannot do.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC
from zoneinfo import ZoneInfo

import anyio.lowlevel
import msgspec

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCompleted,
    InferenceCreateRequest,
    ProviderErrorCode,
)
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.provider.contract import SUMMARISES
from sayso.control.provider.planner.conversation import read_setting
from sayso.control.provider.planner.descriptor import (
    DESCRIPTION,
    MODEL,
    MODELS,
    PROVIDER_ID,
    REVISION,
    DescribeRequest,
    DescribeResponse,
    ModelsListRequest,
    ModelsListResponse,
)
from sayso.control.provider.planner.plan import INTRODUCTION, plan
from sayso.control.provider.planner.steps import Call, Say, Step, refused
from sayso.control.provider.planner.workspace.doing import tell_forms, work
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core.ids import Ids
from sayso.core.zones import find_zone

__all__ = ("MODEL", "OUTCOME", "OfflinePlanner")

OUTCOME = "dev.sayso.outcome"
"""The member of a final message's metadata that tells how the turn ended: `done`, `asks` or `refused`."""

_UTC = "Etc/UTC"
_TIMELESS = (
    "I have not been told what time it is, so I cannot tell one day from another: the system message has to hold a "
    "line `now:` with an instant and one `zone:` with a time zone."
)
_CREDENTIAL_HEADERS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key"))
_SENTENCE = re.compile(r".*?(?:[.?!:] |\n|$)", re.DOTALL)


class OfflinePlanner:
    """Implements `provider.contract.Provider` by `plan`. Holds nothing but which inferences are being written."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._stopping: dict[str, bool] = {}

    @property
    def id(self) -> str:
        """The name people and settings know it by."""
        return PROVIDER_ID

    async def describe(self, request: ProviderEnvelope[DescribeRequest]) -> ProviderEnvelope[DescribeResponse]:
        """Answers `provider.describe.request`."""
        return ProviderEnvelope(
            type="provider.describe.response",
            id=self._ids.new("env"),
            in_reply_to=request.id,
            capability_revision=REVISION,
            payload=DESCRIPTION,
        )

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        """Answers `provider.models.list.request`; another provider's models are none."""
        is_asked = request.payload.provider_id in (UNSET, PROVIDER_ID)
        return ProviderEnvelope(
            type="provider.models.list.response",
            id=self._ids.new("env"),
            in_reply_to=request.id,
            capability_revision=REVISION,
            payload=MODELS if is_asked else ModelsListResponse(models=()),
        )

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        """One inference. Refused: `model_not_found`, `unsupported_feature`, `invalid_request`; see `_objection`."""
        writer = InferenceWriter(request, self._ids)
        objection = _objection(request.payload)
        if objection is not None:
            yield writer.refuse(*objection)
            return
        self._stopping[writer.inference_id] = False
        try:
            yield writer.accept()
            yield writer.start()
            step = _next_step(request.payload)
            pieces = _written(writer, step)
            # Asked before each piece is written: one written and not sent would leave a gap in the numbers.
            while not self._stopping[writer.inference_id] and (envelope := next(pieces, None)) is not None:
                yield envelope
                await anyio.lowlevel.checkpoint()
            stopped = self._stopping.pop(writer.inference_id)
            yield writer.complete("aborted") if stopped else _completed(writer, step)
        finally:
            self._stopping.pop(writer.inference_id, None)

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        """Accepted while the inference is still being written; it then settles as `aborted`."""
        inference_id = request.inference_id or ""
        is_live = inference_id in self._stopping
        if is_live:
            self._stopping[inference_id] = True
        return write_cancel_response(request, accepted=is_live, ids=self._ids)


def _objection(payload: InferenceCreateRequest) -> tuple[ProviderErrorCode, str] | None:
    """What can be known beforehand to be impossible."""
    if payload.model_ref != MODEL:
        return "model_not_found", f"the offline planner has one model, {MODEL}"
    headers = payload.headers or {}
    if any(name.lower() in _CREDENTIAL_HEADERS or value.startswith("Bearer ") for name, value in headers.items()):
        return "invalid_request", "credential_in_headers: a credential never travels in `headers`"
    allowed = payload.allow_degraded_features or ()
    if any(message.metadata is not UNSET and SUMMARISES in message.metadata for message in payload.messages):
        return "unsupported_feature", "the offline planner cannot summarise a conversation"
    if payload.output_schema is not UNSET and "output_schema" not in allowed:
        return "unsupported_feature", "the offline planner answers in plain sentences, not to a schema"
    return None


def _next_step(payload: InferenceCreateRequest) -> Step:
    tools = {tool.name for tool in (() if payload.tool_choice == "none" else payload.tools or ())}
    # What a workspace is asked for needs no time of day.
    if (step := work(payload.messages, tools)) is not None:
        return step
    now, zone = read_setting(payload.messages)
    if now is None:
        return refused(_TIMELESS)
    step = plan(payload.messages, tools, now.astimezone(UTC), zone or _utc())
    if isinstance(step, Say) and step.text == INTRODUCTION and (forms := tell_forms(tools)):
        return replace(step, text=f"{step.text}\n\n{forms}")
    return step


def _utc() -> ZoneInfo:
    return find_zone(_UTC)


def _written(writer: InferenceWriter, step: Step) -> Iterator[ProviderEnvelope[Wire]]:
    """The parts of a step, text in sentences."""
    text = step.said if isinstance(step, Call) else step.text
    if text:
        yield from writer.text(*filter(None, _SENTENCE.findall(text)))
    if isinstance(step, Call):
        yield from writer.tool_call(step.tool, dict(step.arguments))


def _completed(writer: InferenceWriter, step: Step) -> ProviderEnvelope[Wire]:
    """The terminal; when the turn ends, the message says how."""
    envelope = writer.complete()
    payload = envelope.payload
    if isinstance(step, Call) or not isinstance(payload, InferenceCompleted):
        return envelope
    message = msgspec.structs.replace(payload.message, metadata={OUTCOME: step.outcome.value})
    return msgspec.structs.replace(envelope, payload=msgspec.structs.replace(payload, message=message))
