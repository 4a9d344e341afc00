"""The service over fixture vendors: each wire behind the catalog row that speaks it, led there by the environment."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.content import Message
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCreateRequest,
    InferenceSyncRequest,
    SnapshotMessage,
)
from sayso.control.protocol.payloads.provider import DescribeRequest, ModelsListRequest
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.catalog.providers import open_providers
from sayso.control.provider.contract import ProviderService
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.machine import Inference
from sayso.control.provider.planner.provider import OfflinePlanner
from sayso.control.provider.service import Providers
from sayso.core.clock import SystemClock
from sayso.core.ids import CountingIds
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import VENDORS, Answer, Said, VendorServer
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.wires.bench import PATIENCE, Heard

TURN = Said([Think("hm", "c2ln"), Say("let me ", "look"), Call("look", {"q": "x"}, "c1")])
ROWS = {
    "openai-chat-completions": ("deepseek", "DEEPSEEK"),
    "openai-responses": ("openai", "OPENAI"),
    "anthropic-messages": ("anthropic", "ANTHROPIC"),
    "google-generate-content": ("google", "GOOGLE"),
}


@dataclass
class Vendor:
    """One vendor that stands, and the environment that leads to it."""

    server: VendorServer
    environ: Mapping[str, str]
    ref: str


@asynccontextmanager
async def open_vendor(wire: str, answers: Iterable[Answer] = ()) -> AsyncIterator[Vendor]:
    server = VendorServer(VENDORS[wire], answers)
    row, prefix = ROWS[wire]
    async with serving(server, grace=0.1) as address:
        environ = {f"{prefix}_API_KEY": KEY, f"{prefix}_BASE_URL": f"{address.url}{server.vendor.base}"}
        yield Vendor(server, environ, f"{row}/fixture")


@asynccontextmanager
async def open_service(home: Path, environ: Mapping[str, str], **more: Any) -> AsyncIterator[Providers]:
    clock, ids = SystemClock(), CountingIds()
    credentials = Credentials(home, CredentialStore(home, {}), environ=environ, clock=clock, fetcher=Fetcher)
    catalog, planner = open_providers(home), OfflinePlanner(ids)
    async with Providers(
        catalog=catalog, credentials=credentials, planner=planner, clock=clock, ids=ids, **more
    ) as service:
        yield service


def ask(ref: str, said: str = "go", *, name: str = "q1", **more: Any) -> ProviderEnvelope[InferenceCreateRequest]:
    payload = InferenceCreateRequest(model_ref=ref, messages=(Message(role="user", content=said),), **more)
    return ProviderEnvelope(type="inference.create.request", id=name, payload=payload)


def describe_request(name: str = "d1") -> ProviderEnvelope[DescribeRequest]:
    return ProviderEnvelope(type="provider.describe.request", id=name, payload=DescribeRequest())


def models_request(provider: Maybe[str] = UNSET, name: str = "m1") -> ProviderEnvelope[ModelsListRequest]:
    payload = ModelsListRequest(provider_id=provider)
    return ProviderEnvelope(type="provider.models.list.request", id=name, payload=payload)


def cancel_request(inference_id: Maybe[str], name: str = "c1") -> ProviderEnvelope[InferenceCancelRequest]:
    return ProviderEnvelope(
        type="inference.cancel.request", id=name, inference_id=inference_id, payload=InferenceCancelRequest()
    )


def sync_request(inference_id: Maybe[str], name: str = "s1") -> ProviderEnvelope[InferenceSyncRequest]:
    return ProviderEnvelope(
        type="inference.sync.request", id=name, inference_id=inference_id, payload=InferenceSyncRequest()
    )


@dataclass
class Judge:
    """The upstream schema, and every envelope it was shown."""

    schema: Any
    envelopes: list[ProviderEnvelope[Wire]] = field(default_factory=list)

    def hear(self, envelope: ProviderEnvelope[Any]) -> None:
        assert self.schema.is_valid(json.loads(write_envelope(envelope))), write_envelope(envelope)
        self.envelopes.append(envelope)

    async def infer(
        self,
        service: ProviderService,
        request: ProviderEnvelope[InferenceCreateRequest],
        each: Callable[[ProviderEnvelope[Wire]], Any] = lambda _: None,
    ) -> Heard:
        """One inference to its end, judged by the machine and by the schema."""
        heard = Heard(state=Inference(request_id=request.id))
        self.hear(request)
        with anyio.fail_after(PATIENCE):
            async for envelope in service.create(request):
                self.hear(envelope)
                heard.hear(envelope)
                each(envelope)
        assert heard.state.is_settled
        return heard


def shown(snapshot: Maybe[tuple[SnapshotMessage, ...]]) -> Any:
    """A snapshot's parts in few words."""
    assert snapshot is not UNSET
    (message,) = snapshot
    return message.content


def to_lines(envelopes: Iterable[ProviderEnvelope[Any]]) -> bytes:
    return b"".join(write_envelope(envelope) + b"\n" for envelope in envelopes)
