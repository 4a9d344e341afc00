"""The whole of sayso for a program: models, agent and sign-in behind one child process (OAP-200)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio

from sayso.control.client.agents import AgentHalf
from sayso.control.client.endpoint import EndpointClient
from sayso.control.client.logins import LoginClient, LoginWatcher
from sayso.control.client.pipe import BUDGET
from sayso.control.client.program import combined_program
from sayso.control.client.provider_pipe import ProviderPipe
from sayso.control.client.providers import ProviderClient
from sayso.control.client.requests import USER
from sayso.control.client.retrying import Retrying
from sayso.control.provider.remote import RemoteProviders
from sayso.core.ids import Ids, SystemIds
from sayso.net.child import Program

__all__ = ("Sayso",)


class Sayso:
    """`sayso serve agent,provider --stdio` as long as the block lasts. Use as `async with`.

    `provider` asks models directly, `agent` runs the loop, `auth` signs in. The program is found by `binary`,
    `SAYSO_SDK_BINARY_PATH` or PATH, or given whole as `program`. With `retries_after_login` a request that failed for
    want of a credential signs in, shown to `watch_login`, and is sent once more.
    """

    provider: ProviderClient
    agent: AgentHalf
    auth: LoginClient

    def __init__(
        self,
        program: Program | None = None,
        *,
        binary: str | Path | None = None,
        home: Path | None = None,
        environment: Sequence[str] | None = None,
        participant: str = USER,
        watch_login: LoginWatcher | None = None,
        retries_after_login: bool = False,
        budget: float = BUDGET,
        ids: Ids | None = None,
    ) -> None:
        self._ids = ids or SystemIds()
        started = program or combined_program(binary=binary, home=home, environment=environment)
        self._client = EndpointClient(started, ids=self._ids, participant=participant, budget=budget)
        self._service = RemoteProviders(ProviderPipe(self._client.pipe, self._ids, budget=budget), ids=self._ids)
        self._watch_login = watch_login
        self._retries = retries_after_login
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._client)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            self.auth = LoginClient(self._client, self._ids, self._watch_login)
            retrying = Retrying(self.auth.login if self._retries else None)
            self.provider = ProviderClient(self._service, self._ids, retrying)
            self.agent = AgentHalf(self._client, tasks, retrying)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Without the failure: a task group would wrap it, and it is the caller's own.
        await self._stack.__aexit__(None, None, None)
