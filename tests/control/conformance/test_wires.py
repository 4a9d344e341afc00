"""The loop conforms over each vendor's wire: a real HTTP stream from the vendor's fixture server behind every turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.conformance.checks import Outcome
from sayso.control.conformance.report import write_text
from sayso.control.conformance.runner import run_conformance
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
)
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.contract import Provider
from sayso.control.provider.wires import open_wire
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.listen import serving
from sayso.testing.hub_ports import LocalHub
from sayso.testing.tools import ScriptedTools, asking
from sayso.testing.vendor_servers import VENDORS, Said, VendorServer
from tests.control.conformance.loop_server import turn
from tests.control.provider.wires.bench import ALL, offering

pytestmark = pytest.mark.anyio


class Watched:
    """A provider that keeps the last request, so that the vendor behind it knows what it is asked."""

    def __init__(self) -> None:
        self.inner: Provider
        self.last: InferenceCreateRequest | None = None

    @property
    def id(self) -> str:
        return self.inner.id

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        self.last = request.payload
        async for envelope in self.inner.create(request):
            yield envelope

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        return await self.inner.cancel(request)

    def answer(self, _received: object) -> Said:
        assert self.last is not None
        return Said(turn(self.last))  # type: ignore[arg-type]


@pytest.mark.req("OAP-155", "OAP-199")
@pytest.mark.parametrize("wire", ALL)
async def test_the_loop_conforms_over_every_wire(wire: str, tmp_path: Path) -> None:
    """Every unit it advertises, and a trace in which the validator finds nothing."""
    ids, clock, watched = SystemIds(), SystemClock(), Watched()
    server = VendorServer(VENDORS[wire], decide=watched.answer)
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(server, grace=0.1))
        made = offering(wire, f"{address.url}{server.vendor.base}")
        watched.inner = await stack.enter_async_context(open_wire(made, clock=clock, ids=ids))
        loop = OwnLoop(
            watched,
            [ScriptedTools({"book": asking("limits")})],
            clock=clock,
            ids=ids,
            model_ref="vendor/fixture",
            conversations=SavedConversations(tmp_path / "conversations", clock=clock),
        )
        async with Hub(Registry({"sayso": loop}), clock=clock, ids=ids) as hub:
            report = await run_conformance(LocalHub(hub, "sayso"), ids=ids, name="sayso")
    assert report.conforms, write_text(report)
    passed = {result.name for result in report.checks if result.outcome is Outcome.PASS}
    assert passed >= {
        "terminal", "permission", "user_input", "queue", "steer", "compaction", "client_tools", "reopen", "trace",
        "run_controls", "settings", "models", "tools", "replay", "state", "cancel", "decline", "compound_open",
    }, write_text(report)  # fmt: skip
