"""Our own agent loop as an adapter: any provider, any tool sources, the models the provider has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import AdapterSession, Authenticates, Descriptor
from sayso.control.adapters.gates import verify_feature, verify_open
from sayso.control.loop.contract import OpensSource, PermissionMode, SourceTerms, ToolSource
from sayso.control.loop.conversations import (
    Conversations,
    ConversationTerms,
    KeptConversation,
    OpenConversation,
    Opened,
)
from sayso.control.loop.driver import Means
from sayso.control.loop.models import Catalog, read_catalog
from sayso.control.loop.offering import describe
from sayso.control.loop.opening import (
    going_on,
    taken_up,
    verify_attachments,
    verify_ceiling,
    verify_provided,
    workspace_of,
)
from sayso.control.loop.questions import BUILT_IN
from sayso.control.loop.session import LoopSession
from sayso.control.loop.settings import Kept, LoopSettings
from sayso.control.loop.sources import BUILT_IN_SOURCE, OpenSources, Toolbox, definition_of, offers_of, published
from sayso.control.loop.telling import PERSON
from sayso.control.loop.terms import SessionTerms, read_terms
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCancelResponse,
    AuthLoginStartRequest,
    AuthLoginStartResponse,
    AuthProvidersResponse,
)
from sayso.control.protocol.payloads.capabilities import ToolSourceDescriptor
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.payloads.session import SessionOpenRequest, ToolSourceAttachment
from sayso.control.provider.contract import Provider
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refused

__all__ = ("OwnLoop",)

T = TypeVar("T", bound=Wire)
_CLOSE_SECONDS = 5.0
"""How long a conversation may take to be written out."""


class OwnLoop:
    """The adapter `sayso`.

    `system` is asked for the system message once a run, so that what it says of the time is true when the run starts.
    `max_turns` bounds the turns of one run; beyond it the run fails with `turn_limit`. `sources` are shared by all
    sessions, `openers` are opened for each, and `attach` makes one of what a client attaches. `permission` and
    `workspace` are what a session gets that elects nothing. `bypassed` is told the id of each session that opens with
    the permission mode `bypass`; if it raises, the session does not open. Without `attach`, `conversations` or `logins`
    what rests on them is not advertised. Tool names are unique over all `sources` (`Misuse` otherwise).

    `confined` makes `permission` and `workspace` the most a session gets, whatever it elects: for a loop that others
    than its own person can reach.
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
        openers: Sequence[OpensSource] = (),
        attach: Callable[[ToolSourceAttachment], OpensSource] | None = None,
        conversations: Conversations | None = None,
        permission: PermissionMode = "ask",
        workspace: Path | None = None,
        bypassed: Callable[[str], Awaitable[None]] | None = None,
        logins: Authenticates | None = None,
        confined: bool = False,
    ) -> None:
        self._provider = provider
        self._sources = {source.id: source for source in sources}
        names = [BUILT_IN, *(source.id for source in sources), *(opener.id for opener in openers)]
        if len(set(names)) != len(names):
            raise Misuse("each tool source has an id of its own")
        self._clock = clock
        self._ids = ids
        self._model_ref = model_ref
        self._system = system
        self._max_turns = max_turns
        self._openers = tuple(openers)
        self._attach = attach
        self._conversations = conversations
        self._permission: PermissionMode = permission
        self._workspace = workspace
        self._bypassed = bypassed
        self._logins = logins
        self._is_confined = confined
        self._participant = PERSON

    def meet(self, participant_id: str) -> None:
        self._participant = participant_id

    async def probe(self) -> Descriptor:
        return self.descriptor

    @property
    def descriptor(self) -> Descriptor:
        """What `probe` says: it takes no waiting."""
        try:
            offers = offers_of(self._sources)
        except Refused as refused:
            raise Misuse(refused.refusal.message) from None
        own = [*self._sources, *(opener.id for opener in self._openers)]
        return describe(
            (definition_of(offer) for offer in offers.values()),
            (BUILT_IN_SOURCE, *(ToolSourceDescriptor(id=name, kind="local") for name in own)),
            attaches=self._attach is not None,
            reopens=self._conversations is not None,
            signs_in=self._logins is not None,
        )

    # --- sessions ---

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> LoopSession:
        verify_open(request, self.descriptor)
        if request.payload.reopen is True:
            raise Refused.because("unknown_session", "no conversation of this session is known here")
        return await self._make(request.payload, session_id, tasks, None)

    def native_id(self, session: AdapterSession) -> str:
        if not isinstance(session, LoopSession):
            raise Misuse("this is no session of this adapter")
        return session.native_id

    async def reopen(
        self, request: Envelope[SessionOpenRequest], session_id: str, native_id: str, tasks: TaskGroup
    ) -> LoopSession:
        verify_open(request, self.descriptor)
        if self._conversations is None:
            raise _unadvertised("session.open.reopen")
        resumed = await self._conversations.resume(native_id)
        return await self._make(request.payload, session_id, tasks, resumed)

    async def _make(
        self,
        payload: SessionOpenRequest,
        session_id: str,
        tasks: TaskGroup,
        resumed: tuple[KeptConversation, OpenConversation] | None,
    ) -> LoopSession:
        """All of it or nothing: what was opened on the way is closed again when anything is refused."""
        async with AsyncExitStack() as undo:
            terms, kept = read_terms(payload), Kept(self._model_ref)
            if resumed is not None:
                undo.push_async_callback(_let_go, resumed[1])
                terms, kept = going_on(terms, resumed[0]), taken_up(resumed[0])
            own = await self._own_terms(session_id, terms)
            catalog = (await read_catalog(self._provider, self._model_ref, self._ids)).having(kept.model_ref)
            toolbox = await self._furnish(payload, own, tasks, undo)
            if own.permission == "bypass" and self._bypassed is not None:
                await self._bypassed(session_id)
            conversation = None if resumed is None else resumed[1]
            if conversation is None and self._conversations is not None:
                conversation = await self._begin(self._conversations, terms, own, kept.model_ref)
                undo.push_async_callback(_let_go, conversation)
            settings = self._settled(toolbox, catalog, terms, undo.pop_all().aclose)
        means = Means(self._provider, toolbox.sources, self._clock, self._ids, tasks, conversation)
        return LoopSession(session_id, means, settings, kept)

    def _settled(
        self, toolbox: Toolbox, catalog: Catalog, terms: SessionTerms, release: Callable[[], Awaitable[None]]
    ) -> LoopSettings:
        return LoopSettings(
            descriptor=self.descriptor,
            toolbox=toolbox,
            catalog=catalog,
            terms=terms,
            system=self._system,
            max_turns=self._max_turns,
            participant=self._participant,
            release=release,
        )

    async def _own_terms(self, session_id: str, terms: SessionTerms) -> SourceTerms:
        own = SourceTerms(
            session_id=session_id,
            permission=terms.permission or self._permission,
            workspace=await workspace_of(terms, self._workspace),
        )
        if self._is_confined:
            await verify_ceiling(own, self._permission, self._workspace)
        return own

    async def _furnish(
        self, payload: SessionOpenRequest, terms: SourceTerms, tasks: TaskGroup, undo: AsyncExitStack
    ) -> Toolbox:
        """The tools of a session, its own sources open; `undo` closes them."""
        attached = payload.tool_sources or ()
        own = [BUILT_IN_SOURCE, *(ToolSourceDescriptor(id=name, kind="local") for name in self._sources)]
        verify_attachments(attached, [*self._sources, *(opener.id for opener in self._openers), BUILT_IN])
        openers = [*self._openers, *(self._attach(source) for source in attached if self._attach is not None)]
        opening = OpenSources(openers, terms)
        undo.push_async_callback(opening.close)
        opened = await opening.open(tasks)
        own += (ToolSourceDescriptor(id=opener.id, kind="local") for opener in self._openers if opener.id in opened)
        sources = {**self._sources, **opened}
        brought = frozenset(source.id for source in attached)
        toolbox = Toolbox((*own, *map(published, attached)), offers_of(sources, brought), sources, brought)
        verify_provided(payload.tools or (), toolbox, self._participant)
        return toolbox.providing(payload.tools or ())

    async def _begin(
        self, conversations: Conversations, terms: SessionTerms, own: SourceTerms, model_ref: str
    ) -> OpenConversation:
        settings = ConversationTerms(
            permission=own.permission,
            reasoning_level=terms.reasoning_level,
            compaction_policy=terms.compaction_policy,
            max_output_tokens=terms.max_output_tokens,
        )
        workspace = UNSET if own.workspace is None else str(own.workspace)
        opened = Opened(model_ref=model_ref, settings=settings, workspace=workspace)
        return await conversations.begin(self._ids.new("talk"), opened)

    # --- logins: whoever keeps credentials does them ---

    async def auth_providers(self) -> AuthProvidersResponse:
        return await self._signing_in("auth.providers").auth_providers()

    async def login(self, request: Envelope[AuthLoginStartRequest]) -> AuthLoginStartResponse:
        return await self._signing_in("auth.login").login(self._unpinned(request))

    def login_events(self, flow_id: str) -> AsyncIterator[Envelope[Wire]]:
        return self._signing_in("auth.login").login_events(flow_id)

    async def cancel_login(self, request: Envelope[AuthLoginCancelRequest]) -> AuthLoginCancelResponse:
        return await self._signing_in("auth.login").cancel_login(self._unpinned(request))

    def _unpinned(self, request: Envelope[T]) -> Envelope[T]:
        """A pin is to this adapter's capabilities, and judged here."""
        verify_feature(request, self.descriptor, "auth.login")
        return msgspec.structs.replace(request, capability_revision=UNSET)

    def _signing_in(self, feature: str) -> Authenticates:
        if self._logins is None:
            raise _unadvertised(feature)
        return self._logins


def _unadvertised(feature: str) -> Refused:
    details = {"feature": feature, "reason": "unadvertised"}
    return Refused.because("unsupported_feature", f"{feature} is not offered here", details=details)


async def _let_go(conversation: OpenConversation) -> None:
    """Closes a conversation, also where whoever opened the session gave up."""
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
        await conversation.close()
