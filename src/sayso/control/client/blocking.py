"""The same client for a program that does not await: one event loop on a thread of its own (OAP-200).

Methods and arguments are those of the awaiting client; a stream is an iterator, and leaving it early lets the work go.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from anyio.from_thread import BlockingPortal, start_blocking_portal

from sayso.control.client.agents import NOBODY, AgentSession, Asked, SessionWishes
from sayso.control.client.combined import Sayso
from sayso.control.client.contract import RunControls, Said
from sayso.control.client.logins import LoginWatcher
from sayso.control.client.providers import Completion, InferenceControls, Prompt
from sayso.control.client.run import RunOutcome
from sayso.control.client.tools import Tool
from sayso.control.protocol.envelope import Envelope, ProviderEnvelope
from sayso.control.protocol.payloads.auth import AuthLoginCompleted, AuthProvider
from sayso.control.protocol.payloads.models import ModelsResponse, ModelSwitchResponse
from sayso.control.protocol.payloads.provider import ModelEntry
from sayso.control.protocol.payloads.scalars import Wire
from sayso.net.child import Program

__all__ = ("BlockingSayso",)

T = TypeVar("T")


class BlockingSayso:
    """`Sayso` without `await`. Use as `with`; arguments as there. Tools and handlers run on the client's own thread."""

    provider: _BlockingProvider
    agent: _BlockingAgent
    auth: _BlockingAuth

    def __init__(
        self,
        program: Program | None = None,
        *,
        binary: str | Path | None = None,
        home: Path | None = None,
        environment: Sequence[str] | None = None,
        watch_login: LoginWatcher | None = None,
        retries_after_login: bool = False,
    ) -> None:
        self._client = Sayso(
            program,
            binary=binary,
            home=home,
            environment=environment,
            watch_login=watch_login,
            retries_after_login=retries_after_login,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._client))
            self.provider = _BlockingProvider(portal, self._client)
            self.agent = _BlockingAgent(portal, self._client)
            self.auth = _BlockingAuth(portal, self._client)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


class _BlockingProvider:
    def __init__(self, portal: BlockingPortal, client: Sayso) -> None:
        self._portal = portal
        self._client = client

    def models(self, provider_id: str | None = None) -> tuple[ModelEntry, ...]:
        """As `ProviderClient.models`."""
        return self._portal.call(self._client.provider.models, provider_id)

    def complete(self, model: str, said: Prompt, **controls: Unpack[InferenceControls]) -> Completion:
        """As `ProviderClient.complete`."""
        return self._portal.call(lambda: self._client.provider.complete(model, said, **controls))

    @contextmanager
    def stream(
        self, model: str, said: Prompt, **controls: Unpack[InferenceControls]
    ) -> Iterator[Iterator[ProviderEnvelope[Wire]]]:
        """As `ProviderClient.stream`, as a block: its end is the end of the inference."""
        with _iterated(self._portal, lambda: self._client.provider.stream(model, said, **controls)) as events:
            yield events


class _BlockingAgent:
    def __init__(self, portal: BlockingPortal, client: Sayso) -> None:
        self._portal = portal
        self._client = client

    def open(
        self,
        *,
        model: str | None = None,
        tools: Sequence[Tool] = (),
        asked: Asked = NOBODY,
        **settings: Unpack[SessionWishes],
    ) -> _BlockingSession:
        """As `AgentHalf.open`."""
        opened = self._portal.call(lambda: self._client.agent.open(model=model, tools=tools, asked=asked, **settings))
        return _BlockingSession(self._portal, opened)

    def run(
        self,
        said: Said,
        *,
        model: str | None = None,
        tools: Sequence[Tool] = (),
        asked: Asked = NOBODY,
        **settings: Unpack[SessionWishes],
    ) -> RunOutcome:
        """As `AgentHalf.run`."""
        return self._portal.call(
            lambda: self._client.agent.run(said, model=model, tools=tools, asked=asked, **settings)
        )


class _BlockingSession:
    def __init__(self, portal: BlockingPortal, session: AgentSession) -> None:
        self._portal = portal
        self._session = session
        self.id = session.id

    def run(self, said: Said, **controls: Unpack[RunControls]) -> RunOutcome:
        """As `AgentSession.run`."""
        return self._portal.call(lambda: self._session.run(said, **controls))

    @contextmanager
    def stream(self, said: Said, **controls: Unpack[RunControls]) -> Iterator[Iterator[Envelope[Wire]]]:
        """As `AgentSession.stream`, as a block."""
        with _iterated(self._portal, lambda: self._session.stream(said, **controls)) as events:
            yield events

    def switch_model(self, model: str) -> ModelSwitchResponse:
        """As `AgentSession.switch_model`."""
        return self._portal.call(self._session.switch_model, model)

    def models(self) -> ModelsResponse:
        """As `AgentSession.models`."""
        return self._portal.call(self._session.models)


class _BlockingAuth:
    def __init__(self, portal: BlockingPortal, client: Sayso) -> None:
        self._portal = portal
        self._client = client

    def providers(self) -> tuple[AuthProvider, ...]:
        """As `LoginClient.providers`."""
        return self._portal.call(self._client.auth.providers)

    def login(self, provider_id: str, watch: LoginWatcher | None = None) -> AuthLoginCompleted:
        """As `LoginClient.login`."""
        return self._portal.call(self._client.auth.login, provider_id, watch)


@contextmanager
def _iterated(portal: BlockingPortal, made: Callable[[], AsyncGenerator[T]]) -> Iterator[Iterator[T]]:
    events = made()
    ended: Any = object()

    async def following() -> Any:
        return await anext(events, ended)

    async def close() -> None:
        await events.aclose()

    def items() -> Iterator[T]:
        while (item := portal.call(following)) is not ended:
            yield item

    try:
        yield items()
    finally:
        portal.call(close)
