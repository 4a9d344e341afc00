"""A hub over our own loop with whatever options a test wants, and runs that are read to an event or to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.hub.history import History
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import ToolSpec
from sayso.control.protocol.envelope import Envelope, ProviderEnvelope
from sayso.control.protocol.payloads.provider import ModelEntry, ModelsListRequest, ModelsListResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import SessionState
from sayso.control.protocol.signals import TERMINALS
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.testing.provider import ScriptedProvider, Turn
from sayso.testing.tools import Act, ScriptedTools
from tests.control.houses import NOON

ONE, TWO = "scripted/one", "scripted/two"


class Models(ScriptedProvider):
    """A scripted model under two names, with a window of 128,000 tokens."""

    async def models(self, request: ProviderEnvelope[ModelsListRequest]) -> ProviderEnvelope[ModelsListResponse]:
        rows = tuple(
            ModelEntry(model_ref=ref, model_id=ref[9:], provider_id="scripted", wire="other", context_window=window)
            for ref, window in ((ONE, 128_000), (TWO, 200_000))
        )
        payload = ModelsListResponse(models=rows)
        return ProviderEnvelope(type="provider.models.list.response", id="m", in_reply_to=request.id, payload=payload)


@dataclass
class Stage:
    """What a test holds in its hands."""

    hub: Hub
    client: LocalClient
    provider: Models
    tools: ScriptedTools
    state: SessionState
    seen: dict[str, list[Envelope[Wire]]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.state.session_id

    async def read(self, run_id: str, until: str | None = None) -> Envelope[Wire]:
        """The events of a run behind those read before, up to one of this type or its end."""
        seen = self.seen.setdefault(run_id, [])
        events = self.client.events(self.id, run_id=run_id, after=len(seen))
        async with aclosing(events):
            async for envelope in events:
                seen.append(envelope)
                if envelope.type == until or envelope.type in TERMINALS:
                    return envelope
        raise AssertionError("the events ended before the run")

    async def begin(self, said: str = "go", until: str | None = None, **controls: Any) -> tuple[str, Envelope[Wire]]:
        """Submits, and reads to an event or to the end."""
        admitted = await self.client.submit(self.id, said, **controls)
        return str(admitted.run_id), await self.read(str(admitted.run_id), until)

    def types(self, run_id: str) -> list[str]:
        return [envelope.type for envelope in self.seen[run_id]]


@asynccontextmanager
async def staged(
    turns: Iterable[Turn],
    acts: Mapping[str, Act] | None = None,
    *,
    specs: Iterable[ToolSpec] = (),
    record: Callable[[Envelope[Wire]], None] | None = None,
    history: History | None = None,
    opens: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """`opens` are the members of the open request, `options` those of the loop."""
    ids, clock = options.pop("ids", None) or CountingIds(), ManualClock(NOON)
    provider = Models(turns, ids=ids)
    tools = ScriptedTools(acts or {}, specs=list(specs))
    loop = OwnLoop(provider, [tools], clock=clock, ids=ids, model_ref=ONE, system=lambda: "now: noon", **options)
    registry = Registry({"sayso": loop})
    async with Hub(registry, clock=clock, ids=ids, record=record, history=history) as hub:
        client = LocalClient(hub, ids=ids)
        yield Stage(hub, client, provider, tools, await client.open("sayso", **(opens or {})))
