"""The tool sources of one session: those it shares with others, those opened for it, and those a client attached.

What is opened is opened and ended in one task of its own, because a source may hold task groups and children that must
end where they began. Either all are open, or none is left open and the open is refused (OAP-060, OAP-082). Tool names
are unique over all sources of a session, since a call names no source: a clash is refused and says where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

import anyio
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.choosing import unsatisfiable
from sayso.control.loop.contract import OpensSource, SourceTerms, ToolSource, ToolSpec
from sayso.control.loop.questions import ASK_USER, BUILT_IN
from sayso.control.loop.run import OfferedTool
from sayso.control.loop.telling import AGENT
from sayso.control.protocol.payloads.capabilities import ToolDefinition, ToolSourceDescriptor
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.refusal import Misuse, Refused

__all__ = (
    "BUILT_IN_OFFER",
    "BUILT_IN_SOURCE",
    "OpenSources",
    "Toolbox",
    "definition_of",
    "offers_of",
    "published",
)

_OPEN_SECONDS = 120.0
"""How long the sources of a session may take to open; one that starts a program has a shorter limit of its own."""
_CLOSE_SECONDS = 10.0
"""How long the sources of a session may take to end before they are cancelled."""
_ATTACH = "action.tool_sources.attach"
_log = structlog.get_logger(__name__)

BUILT_IN_SOURCE = ToolSourceDescriptor(id=BUILT_IN, kind="native")
BUILT_IN_OFFER = OfferedTool(ASK_USER, BUILT_IN)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What the tools of a session are: published sources, offers by tool name, and the sources that are called."""

    published: tuple[ToolSourceDescriptor, ...]
    offers: Mapping[str, OfferedTool]
    sources: Mapping[str, ToolSource]
    attached: frozenset[str] = frozenset()
    provided: Mapping[str, ToolDefinition] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The catalog, by name; a client's tool exactly as it was provided."""
        return tuple(self.provided.get(name) or definition_of(offer) for name, offer in sorted(self.offers.items()))

    def providing(self, tools: Sequence[ToolDefinition]) -> Toolbox:
        """The same with tools of the client, which were verified."""
        offers = {tool.name: _provided(tool) for tool in tools}
        return replace(self, offers={**self.offers, **offers}, provided={tool.name: tool for tool in tools})

    def renewed(self) -> Toolbox:
        """The same with what its sources offer now; as it was where two tools have one name, or a source broke."""
        try:
            offers = offers_of(self.sources, self.attached)
            for name in self.provided:
                if name in offers:
                    raise _clash(name, offers[name].source, str(self.provided[name].source), is_attached=False)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - a source that breaks ends no session
            _log.warning("tools_not_renewed", error=str(error) if isinstance(error, Refused) else type(error).__name__)
            return self
        return replace(self, offers=offers).providing(tuple(self.provided.values()))


def definition_of(offer: OfferedTool) -> ToolDefinition:
    """A tool as it is published."""
    return ToolDefinition(
        name=offer.spec.name,
        description=offer.spec.description,
        input_schema=offer.spec.input_schema,
        execution_owner=AGENT,
        source=offer.source,
        annotations=offer.spec.annotations or UNSET,
    )


def _provided(tool: ToolDefinition) -> OfferedTool:
    spec = ToolSpec(tool.name, tool.description or "", tool.input_schema, tool.annotations or {})
    return OfferedTool(spec, str(tool.source), tool.execution_owner)


def published(source: ToolSourceAttachment) -> ToolSourceDescriptor:
    """What a catalog may say of a source: never its command, arguments or environment (OAP-060)."""
    return ToolSourceDescriptor(
        id=source.id,
        kind=source.kind,
        display_name=source.display_name,
        protocol=source.protocol,
        endpoint=source.endpoint,
    )


def offers_of(sources: Mapping[str, ToolSource], attached: frozenset[str] = frozenset()) -> dict[str, OfferedTool]:
    """Every tool of these sources and the loop's own, by name. Raises `Refused` where two have one name: of an attached
    source `unsupported_feature`, of any other `open_failed`.
    """
    offers: dict[str, OfferedTool] = {}
    taken = {ASK_USER.name: BUILT_IN}
    for name, source in sources.items():
        for spec in source.tools():
            if spec.name in taken:
                raise _clash(spec.name, taken[spec.name], name, is_attached=name in attached)
            taken[spec.name] = name
            offers[spec.name] = OfferedTool(spec, name)
    return {**offers, ASK_USER.name: BUILT_IN_OFFER}


def _clash(tool: str, one: str, other: str, *, is_attached: bool) -> Refused:
    why = f"the sources `{one}` and `{other}` both have a tool `{tool}`"
    if is_attached:
        return unsatisfiable(_ATTACH, "tool_sources", why, source=other, tool=tool)
    return Refused.because("open_failed", why, reason="tool_name_taken", details={"tool": tool})


class OpenSources:
    """Sources that were opened for one session, held open until `close`."""

    def __init__(self, openers: Sequence[OpensSource], terms: SourceTerms, *, patience: float = _OPEN_SECONDS) -> None:
        self._openers = openers
        self._terms = terms
        self._patience = patience
        self._scope = anyio.CancelScope()
        self._opened: dict[str, ToolSource] = {}
        self._refusal: Refused | None = None
        self._is_open = False
        self._ready = anyio.Event()
        self._let_go = anyio.Event()
        self._ended = anyio.Event()

    async def open(self, tasks: TaskGroup) -> dict[str, ToolSource]:
        """Opens all of them, in order; those that have nothing to offer are left out. Raises `Refused`."""
        if not self._openers:
            self._ended.set()
            return {}
        tasks.start_soon(self._hold)
        try:
            with anyio.fail_after(self._patience):
                await self._ready.wait()
        except TimeoutError:
            raise Refused.because("open_failed", "a tool source did not open in time", reason="timeout") from None
        finally:
            if not self._ready.is_set():
                # Nobody waits any more: what is still opening is cancelled, and what was opened meanwhile ends.
                self._scope.cancel()
        if self._refusal is not None:
            raise self._refusal
        return self._opened

    async def close(self) -> None:
        """Ends them, the last opened first. A second close does nothing."""
        self._let_go.set()
        with anyio.move_on_after(_CLOSE_SECONDS):
            await self._ended.wait()
            return
        self._scope.cancel()

    async def _hold(self) -> None:
        try:
            with self._scope:
                async with AsyncExitStack() as stack:
                    await self._enter(stack)
                    await self._let_go.wait()
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - a source that breaks refuses its session, and is no end of the hub
            self._refusal = _refusal_in(error)
            if self._is_open or self._refusal is None:
                _log.error("tool_source_broke", session=self._terms.session_id, error=type(error).__name__)
            self._refusal = self._refusal or Refused.because("open_failed", "a tool source could not be opened")
        finally:
            self._ready.set()
            self._ended.set()

    async def _enter(self, stack: AsyncExitStack) -> None:
        for opener in self._openers:
            source = await stack.enter_async_context(opener.open(self._terms))
            if source is not None:
                self._opened[opener.id] = source
        self._is_open = True
        self._ready.set()


def _refusal_in(error: BaseException) -> Refused | None:
    """The refusal among what was raised: a source's own task group wraps it."""
    if isinstance(error, Refused):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for each in inner if (found := _refusal_in(each)) is not None), None)
