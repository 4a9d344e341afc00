"""Signing in to model providers over agent control: `auth.providers` and `auth.login` over a home's credentials.

A flow goes on while its events are read, and ends with its reader: nothing is left waiting that nobody looks at. What
crosses is an address to open, the code to type on its page, and how far it is; never a key, a token, an authorization
or a device code, or an answer (OAP-078, D0029). What has to be typed in is asked for by the host's own prompt, where it
has one, and is `auth_input_unavailable` where not.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

import anyio
import anyio.to_thread
import structlog

from sayso.control.protocol.codes import CODES
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCancelResponse,
    AuthLoginCompleted,
    AuthLoginEvent,
    AuthLoginStartRequest,
    AuthLoginStartResponse,
    AuthProvider,
    AuthProvidersResponse,
    AuthStatus,
    LoginStatus,
)
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.values import ApiKey, Credential, read_key
from sayso.control.provider.stopping import Stoppable, Stopped
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Corrupt, Misuse, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher

__all__ = ("Logins", "Prompt")

Prompt = Callable[[Row], Awaitable[str | None]]
"""The host's own prompt for a key, masked; None: the person gave none. What is typed goes no further than the store."""

_MOST_FLOWS = 64
_log = structlog.get_logger(__name__)


class _Unable(Exception):
    """The flow cannot go on, in agent control's words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.error = ProtocolError(code=code, message=message)


@dataclass(slots=True, eq=False, kw_only=True)
class _Flow(Stoppable):
    """One flow: whether it is read, and has ended."""

    id: str
    row: Row
    is_read: bool = False
    is_settled: bool = False


@dataclass(frozen=True, slots=True)
class _Begun:
    """A way that has begun: what the person is told, and what is waited for. None: there is nothing to keep."""

    finish: Callable[[], Awaitable[Credential | None]]
    told: AuthLoginEvent | None = None


class Logins:
    """Implements `adapters.contract.Authenticates` for these rows. `prompt` is the host's own, where it has one;
    `revision` the capability revision that events name.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        credentials: Credentials,
        *,
        clock: Clock,
        ids: Ids,
        prompt: Prompt | None = None,
        revision: Callable[[], str] | None = None,
    ) -> None:
        self._rows = {row.id: row for row in rows}
        self._credentials = credentials
        self._clock = clock
        self._ids = ids
        self._prompt = prompt
        self._revision = revision
        self._flows: dict[str, _Flow] = {}

    async def auth_providers(self) -> AuthProvidersResponse:
        """Each row as it stands now; no network. One whose store cannot be read is `failed`, and hides no other."""
        found = await anyio.to_thread.run_sync(lambda: [self._provider(row) for row in self._rows.values()])
        return AuthProvidersResponse(providers=tuple(found))

    async def login(self, request: Envelope[AuthLoginStartRequest]) -> AuthLoginStartResponse:
        """Notes a flow; it begins when its events are read. Refused `unknown_provider`, `busy`."""
        row = self._rows.get(request.payload.provider_id)
        if row is None:
            raise Refused.because(
                "unknown_provider", "no provider has this id", details={"provider_id": request.payload.provider_id}
            )
        self._make_room()
        flow = _Flow(id=self._ids.new("flow"), row=row)
        self._flows[flow.id] = flow
        return AuthLoginStartResponse(flow_id=flow.id)

    async def cancel_login(self, request: Envelope[AuthLoginCancelRequest]) -> AuthLoginCancelResponse:
        """Stops whatever the flow waits for. One that has ended is left as it is, and answers `accepted: false`."""
        flow = self._find(request.payload.flow_id)
        is_accepted = not flow.is_settled
        flow.stop()
        return AuthLoginCancelResponse(flow_id=flow.id, accepted=is_accepted)

    async def login_events(self, flow_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The flow's events, numbered from 1, to exactly one terminal. Refused `unknown_login`; Misuse a second time.
        Closing it ends the flow.
        """
        flow = self._find(flow_id)
        if flow.is_read:
            raise Misuse("a login's events are read once")
        flow.is_read = True
        number = 0
        try:
            async with aclosing(self._events(flow)) as events:
                async for event in events:
                    number += 1
                    yield self._envelope(event, number)
        finally:
            flow.is_settled = True

    # --- one flow ----------------------------------------------------------------------------------------------------

    async def _events(self, flow: _Flow) -> AsyncGenerator[AuthLoginEvent | AuthLoginCompleted, None]:
        try:
            async with AsyncExitStack() as stack:
                begun = await flow.wait(self._begin(flow, stack))
                if begun.told is not None:
                    yield begun.told
                credential = await flow.wait(begun.finish())
            if credential is not None:
                await self._keep(flow, credential)
                yield _progress(flow, "Signed in, and the credential is kept on this machine")
            yield _completed(flow, "success")
        except Stopped:
            yield _completed(flow, "cancelled")
        except (_Unable, Refused, PeerUnreachable, Corrupt, OSError) as failed:
            yield _completed(flow, "failed", _error_of(flow, failed))

    async def _begin(self, flow: _Flow, stack: AsyncExitStack) -> _Begun:
        """The provider's best way that can be gone here: its first kind, or, where nobody can be asked to type, OAuth.
        Whatever `stack` holds stays open until the flow has its credential.
        """
        kinds = flow.row.auth
        has_flow = flow.row.oauth is not None
        for kind in kinds:
            if kind == "none":
                return _Begun(_nothing)
            # Nobody signs in for something that could not be kept.
            await anyio.to_thread.run_sync(self._credentials.verify)
            if kind == "oauth" and has_flow:
                return await self._begin_oauth(
                    flow, await stack.enter_async_context(self._credentials.fetcher()), stack
                )
            if kind == "api_key" and self._prompt is not None:
                return _Begun(lambda: self._ask(flow.row))
        if "api_key" in kinds:
            raise _Unable(
                "auth_input_unavailable",
                f"{flow.row.name} takes a key that has to be typed in, and no prompt is here. Use: sayso auth login "
                f"--provider {flow.row.id}",
            )
        raise _Unable(
            "unsupported_feature", f"How to sign in to {flow.row.name} from outside its programs is not known"
        )

    async def _begin_oauth(self, flow: _Flow, fetcher: Fetcher, stack: AsyncExitStack) -> _Begun:
        # Here: a web server is slow to import, and most who could sign in never do.
        from sayso.control.provider.credentials.oauth.device import begin_on_a_device  # noqa: PLC0415
        from sayso.control.provider.credentials.oauth.redirect import begin_in_a_browser  # noqa: PLC0415

        oauth, environ = flow.row.oauth, self._credentials.environ
        if oauth is None:
            raise Misuse("a row without a flow has no such way")
        if oauth.authorization_endpoint is not None:
            way = begin_in_a_browser(oauth, environ, fetcher=fetcher, clock=self._clock, ids=self._ids)
            browser = await stack.enter_async_context(way)
            shown = "Open this address in a browser on the machine where sayso runs, within 10 minutes"
            return _Begun(browser.finish, _address(flow, browser.url, shown))
        device = await begin_on_a_device(oauth, environ, fetcher=fetcher, clock=self._clock)
        shown = f"Open this address and type {device.shown.user_code} there, within {device.shown.minutes} minutes"
        return _Begun(device.finish, _address(flow, device.shown.url, shown))

    async def _ask(self, row: Row) -> ApiKey:
        if self._prompt is None:
            raise Misuse("nobody can be asked")
        typed = await self._prompt(row)
        if typed is None:
            raise Stopped
        return read_key(typed, "What was typed")

    async def _keep(self, flow: _Flow, credential: Credential) -> None:
        # From here on a cancel comes too late: the vendor has given what it gives once.
        flow.is_settled = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._credentials.keep, flow.row, credential)

    # --- what is known -----------------------------------------------------------------------------------------------

    def _provider(self, row: Row) -> AuthProvider:
        status, error = self._status(row)
        kinds = row.auth or ("api_key",)
        return AuthProvider(id=row.id, name=row.name, auth_kinds=kinds, auth_status=status, last_error=error)

    def _status(self, row: Row) -> tuple[AuthStatus, Maybe[str]]:
        if any(flow.row.id == row.id and flow.is_read and not flow.is_settled for flow in self._flows.values()):
            return "login_in_progress", UNSET
        try:
            state = self._credentials.state(row)
        except (Refused, Corrupt) as error:
            return "failed", str(error) if isinstance(error, Refused) else "The stored credentials cannot be read"
        is_open = state.status == "unknown" and "none" in row.auth
        return ("authenticated" if is_open else state.status), UNSET

    def _find(self, flow_id: str) -> _Flow:
        flow = self._flows.get(flow_id)
        if flow is None:
            raise Refused.because("unknown_login", "no login has this id")
        return flow

    def _make_room(self) -> None:
        """Flows that have ended are forgotten, oldest first, before new ones are refused."""
        for flow_id in [each.id for each in self._flows.values() if each.is_settled]:
            if len(self._flows) < _MOST_FLOWS:
                return
            del self._flows[flow_id]
        if len(self._flows) >= _MOST_FLOWS:
            raise Refused.because("busy", "too many logins are under way; cancel one")

    def _envelope(self, event: AuthLoginEvent | AuthLoginCompleted, number: int) -> Envelope[Wire]:
        is_end = isinstance(event, AuthLoginCompleted)
        return Envelope(
            type="auth.login.completed" if is_end else "auth.login.event",
            id=self._ids.new("ev"),
            payload=event,
            sequence=number,
            timestamp_ms=int(self._clock.now().timestamp() * 1000),
            capability_revision=self._revision() if self._revision is not None else UNSET,
        )


async def _nothing() -> None:
    return None


def _address(flow: _Flow, url: str, instructions: str) -> AuthLoginEvent:
    return AuthLoginEvent(flow_id=flow.id, provider_id=flow.row.id, kind="url", url=url, instructions=instructions)


def _progress(flow: _Flow, message: str) -> AuthLoginEvent:
    return AuthLoginEvent(flow_id=flow.id, provider_id=flow.row.id, kind="progress", message=message)


def _completed(flow: _Flow, status: LoginStatus, error: Maybe[ProtocolError] = UNSET) -> AuthLoginCompleted:
    return AuthLoginCompleted(flow_id=flow.id, provider_id=flow.row.id, status=status, error=error)


def _error_of(flow: _Flow, failed: Exception) -> ProtocolError:
    """In agent control's codes; a sentence for people, written by us, and never what a server said."""
    _log.info("login_failed", provider=flow.row.id, kind=type(failed).__name__)
    if isinstance(failed, _Unable):
        return failed.error
    if isinstance(failed, Refused):
        refusal = failed.refusal
        is_known = refusal.code in CODES
        details = {"reason": refusal.reason if is_known else refusal.code} if refusal.reason or not is_known else UNSET
        return ProtocolError(code=refusal.code if is_known else "endpoint_error", message=str(failed), details=details)
    if isinstance(failed, PeerUnreachable):
        return ProtocolError(code="provider_unavailable", message="The sign-in server did not answer", retriable=True)
    return ProtocolError(code="internal", message="The credential could not be kept on this machine")
