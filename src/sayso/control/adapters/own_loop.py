"""Our own agent loop as an adapter: any provider, any tool sources, one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyio.abc import TaskGroup

from sayso.control.adapters.contract import Descriptor
from sayso.control.adapters.gates import verify_open
from sayso.control.loop.contract import ToolSource
from sayso.control.loop.driver import Means
from sayso.control.loop.run import OfferedTool
from sayso.control.loop.session import LoopSession, LoopSettings
from sayso.control.loop.telling import AGENT
from sayso.control.protocol.envelope import AGENT_PROFILE, VERSION, Envelope
from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesResponse,
    CapabilityLimits,
    Endpoint,
    FeatureSupport,
    ToolDefinition,
    ToolSourceDescriptor,
)
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import SessionOpenRequest
from sayso.control.provider.contract import Provider
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse
from sayso.proof.hashes import sha256_hex

__all__ = ("OwnLoop",)

_NATIVE = (
    "session.open",
    "session.state",
    "session.message.submit",
    "session.message.delivery.auto",
    "run.streaming",
    "action.tools",
    "action.tools.list",
    "permissions",
)


class OwnLoop:
    """The adapter `sayso`.

    `system` is asked for the system message once a run, so that what it says of the time is true when the run starts.
    Tool names are unique over all sources (`Misuse` otherwise). `max_turns` bounds the turns of one run; beyond it
    the run fails with `turn_limit`.
    """

    def __init__(
        self,
        provider: Provider,
        sources: Sequence[ToolSource] = (),
        *,
        clock: Clock,
        ids: Ids,
        model_ref: str,
        system: Callable[[], str] | None = None,
        max_turns: int = 24,
    ) -> None:
        self._provider = provider
        self._sources = {source.id: source for source in sources}
        if len(self._sources) != len(sources):
            raise Misuse("each tool source has an id of its own")
        self._clock = clock
        self._ids = ids
        self._model_ref = model_ref
        self._system = system
        self._max_turns = max_turns

    async def probe(self) -> Descriptor:
        return self._describe(self._offers())

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> LoopSession:
        offers = self._offers()
        descriptor = self._describe(offers)
        verify_open(request, descriptor)
        means = Means(self._provider, self._sources, self._clock, self._ids, tasks)
        settings = LoopSettings(
            descriptor=descriptor,
            offers=offers,
            model_ref=self._model_ref,
            system=self._system,
            max_turns=self._max_turns,
        )
        return LoopSession(session_id, means, settings)

    def _offers(self) -> dict[str, OfferedTool]:
        offers: dict[str, OfferedTool] = {}
        for source in self._sources.values():
            for spec in source.tools():
                if spec.name in offers:
                    raise Misuse(f"two sources offer a tool named {spec.name}")
                offers[spec.name] = OfferedTool(spec, source.id)
        return offers

    def _describe(self, offers: dict[str, OfferedTool]) -> Descriptor:
        tools = tuple(
            ToolDefinition(
                name=name,
                description=offer.spec.description,
                input_schema=offer.spec.input_schema,
                execution_owner=AGENT,
                source=offer.source,
                annotations=offer.spec.annotations or UNSET,
            )
            for name, offer in sorted(offers.items())
        )
        capabilities = CapabilitiesResponse(
            endpoint=Endpoint(id=AGENT, name="sayso", adapter="own_loop"),
            protocol_versions=(VERSION,),
            profiles=(AGENT_PROFILE,),
            features={key: FeatureSupport(level="native") for key in _NATIVE},
            sources=tuple(ToolSourceDescriptor(id=name, kind="local") for name in sorted(self._sources)),
            tools=tools,
            limits=CapabilityLimits(max_active_runs_per_session=1),
        )
        return Descriptor(f"own-loop-{sha256_hex(strictjson.encode(capabilities))[:16]}", capabilities)
