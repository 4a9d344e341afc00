"""A wire against its vendor's fixture server, and what an inference over it says, judged as it is heard."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import anyio

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.content import ContentPart, Message, TextPart, Usage
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCompleted,
    InferenceCreateRequest,
    InferenceCreateResponse,
    InferenceFailed,
    ProviderError,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.machine import Inference, observe
from sayso.control.provider.wires import Limits, Offering, Waiting, open_wire
from sayso.control.provider.wires.driver import WireProvider
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.net.listen import serving
from sayso.testing.vendor_servers import VENDORS, Answer, VendorServer
from sayso.testing.vendor_servers.server import KEY

NOON = datetime(2026, 10, 13, 16, tzinfo=UTC)
PATIENCE = 30
ALL = tuple(VENDORS)
CHAT, RESPONSES, MESSAGES, GENERATE = ALL


async def key() -> str | None:
    return KEY


def offering(wire: str, base_url: str, **more: Any) -> Offering:
    made = Offering(id="vendor", wire=wire, base_url=base_url, model="fixture", credential=key)  # type: ignore[arg-type]
    return replace(made, **more)


def ask(
    said: str | Sequence[Message] = "go", *, name: str = "q1", **more: Any
) -> ProviderEnvelope[InferenceCreateRequest]:
    messages = (Message(role="user", content=said),) if isinstance(said, str) else tuple(said)
    payload = InferenceCreateRequest(model_ref="vendor/fixture", messages=messages, **more)
    return ProviderEnvelope(type="inference.create.request", id=name, payload=payload)


@dataclass
class Heard:
    """One inference, whole."""

    envelopes: list[ProviderEnvelope[Wire]] = field(default_factory=list)
    state: Inference = field(default_factory=lambda: Inference(request_id="q1"))

    def hear(self, envelope: ProviderEnvelope[Wire]) -> None:
        """Raises where the machine of the profile says no: every run is judged."""
        self.state = observe(self.state, envelope)
        self.envelopes.append(envelope)

    @property
    def types(self) -> list[str]:
        return [envelope.type.removeprefix("inference.") for envelope in self.envelopes]

    @property
    def end(self) -> Any:
        return self.envelopes[-1].payload

    @property
    def parts(self) -> tuple[ContentPart, ...]:
        assert isinstance(self.end, InferenceCompleted), self.end
        content = self.end.message.content
        return (TextPart(text=content),) if isinstance(content, str) and content else tuple(content)  # type: ignore[arg-type]

    @property
    def stop_reason(self) -> str:
        assert isinstance(self.end, InferenceCompleted), self.end
        return self.end.stop_reason

    @property
    def usage(self) -> Maybe[Usage]:
        assert isinstance(self.end, InferenceCompleted | InferenceFailed)
        return self.end.usage

    @property
    def error(self) -> ProviderError:
        assert isinstance(self.end, InferenceFailed | InferenceCreateResponse), self.end
        assert self.end.error is not UNSET
        return self.end.error

    @property
    def reason(self) -> object:
        return (self.error.details or {}).get("reason")  # type: ignore[union-attr]

    @property
    def deltas(self) -> list[str]:
        return [envelope.payload.delta for envelope in self.envelopes if hasattr(envelope.payload, "delta")]

    @property
    def written(self) -> str:
        return "\n".join(write_envelope(envelope).decode() for envelope in self.envelopes)


@dataclass
class Bench:
    """A wire, its vendor, and the clock its waits run on."""

    server: VendorServer
    provider: WireProvider
    clock: ManualClock
    told: list[Waiting]
    schema: Any = None

    async def infer(
        self,
        request: ProviderEnvelope[InferenceCreateRequest] | None = None,
        *,
        each: Callable[[ProviderEnvelope[Wire]], None] = lambda _: None,
    ) -> Heard:
        """Runs an inference to its end; every envelope is judged by the machine and, where it is, by the schema."""
        request = request or ask()
        heard = Heard(state=Inference(request_id=request.id))
        with anyio.fail_after(PATIENCE):
            async for envelope in self.provider.create(request):
                heard.hear(envelope)
                if self.schema is not None:
                    assert self.schema.is_valid(json.loads(write_envelope(envelope))), write_envelope(envelope)
                each(envelope)
        assert heard.state.is_settled
        return heard

    async def cancel(self, inference_id: str) -> bool:
        request = ProviderEnvelope(
            type="inference.cancel.request", id="c1", inference_id=inference_id, payload=InferenceCancelRequest()
        )
        return (await self.provider.cancel(request)).payload.accepted

    @property
    def sent(self) -> Any:
        """The body of the last request."""
        return self.server.received[-1].body

    async def pass_time(self) -> None:
        """Moves the clock to whatever is waited for, as often as somebody waits."""
        while True:
            while not self.clock.sleepers:
                await anyio.lowlevel.checkpoint()
            self.clock.set(max(self.told[-1].until, self.clock.now()))
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def open_bench(
    wire: str, answers: Iterable[Answer] = (), *, schema: Any = None, keeps_carries: bool = False, **more: Any
) -> AsyncIterator[Bench]:
    server = VendorServer(VENDORS[wire], answers, keeps_carries=keeps_carries)
    clock, told = ManualClock(NOON), []  # type: ignore[var-annotated]
    async with serving(server, grace=0.1) as address:
        made = offering(wire, **{"base_url": f"{address.url}{server.vendor.base}", **more})
        async with open_wire(made, clock=clock, ids=CountingIds(), tell=told.append) as provider:
            yield Bench(server, provider, clock, told, schema)


QUICK = Limits(attempts=3)
