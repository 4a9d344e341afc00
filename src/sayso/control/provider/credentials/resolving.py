"""A provider's credential when it is needed: found, judged for where it would go, refreshed (OAP-152, OAP-153)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import msgspec

from sayso.control.protocol.payloads.auth import AuthStatus
from sayso.control.provider.catalog.rows import KEY_WIRES, KeyHeader, OAuthFlow, Row, WireName
from sayso.control.provider.credentials.environment import from_environment
from sayso.control.provider.credentials.files import locked
from sayso.control.provider.credentials.oauth.refresh import refresh
from sayso.control.provider.credentials.origins import verify_destination
from sayso.control.provider.credentials.store import CredentialStore, Keeper, Kept
from sayso.control.provider.credentials.values import ApiKey, Credential, OAuthToken
from sayso.core.clock import Clock
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.fetch import Fetcher

__all__ = ("Credentials", "Held", "Source", "State", "header_of", "missing")

Source = Literal["environment", "keyring", "file"]
_LOOK_AGAIN = 0.05


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A credential and where it was found; `variable` where that is the environment."""

    credential: Credential
    source: Source
    variable: str | None = None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How a provider stands with its credential now. `expired` is one that no refresh could help."""

    status: AuthStatus
    source: Source | None = None
    variable: str | None = None


class Credentials:
    """The credentials of one home. `fetcher` is made at the first refresh, so that nobody pays for one unused."""

    def __init__(
        self,
        home: Path,
        store: CredentialStore,
        *,
        environ: Mapping[str, str],
        clock: Clock,
        fetcher: Callable[[], Fetcher],
    ) -> None:
        self._home = home
        self._store = store
        self.environ = environ
        self._clock = clock
        self.fetcher = fetcher
        self._locks: dict[str, anyio.Lock] = {}

    def verify(self) -> None:
        """Whether something could be kept, before a person signs in. Errors as `keep`."""
        self._store.verify()

    def keep(self, row: Row, credential: Credential) -> Keeper:
        """Stores what a person typed (`read_key`) or a sign-in gave, and says where it is. May wait for the keyring.

        Refused `file_not_private`; Corrupt for a damaged file.
        """
        return self._store.put(row.id, credential)

    def forget(self, row: Row) -> bool:
        """Forgets what is stored for the row; whether there was anything. Errors as `keep`."""
        return self._store.remove(row.id)

    def look(self, row: Row) -> Held | None:
        """The row's credential by its own precedence; None where there is none. May wait for the keyring.

        Refused `invalid_request` (a variable that holds no key), `file_not_private`; Corrupt for a damaged file.
        """
        for source in row.precedence:
            if source == "environment":
                found = from_environment(row, self.environ)
                if found is not None:
                    return Held(credential=found.credential, source="environment", variable=found.variable)
            else:
                kept = self._store.get(row.id)
                if kept is not None:
                    return Held(credential=kept.credential, source=kept.keeper)
        return None

    def state(self, row: Row) -> State:
        """For listings. No network: a key is taken at its word. A variable that holds no key is `failed`, so that one
        does not hide the others. Refused `file_not_private`; Corrupt for a damaged file.
        """
        try:
            held = self.look(row)
        except Refused as refused:
            if refused.refusal.reason != "key":
                raise
            return State(status="failed", source="environment", variable=refused.refusal.place)
        if held is None:
            return State(status="login_required" if "none" not in row.auth else "unknown")
        token = held.credential
        is_over = isinstance(token, OAuthToken) and token.refresh_token is None and token.is_spent(self._clock.now())
        return State(status="expired" if is_over else "authenticated", source=held.source, variable=held.variable)

    def ready(self, rows: Iterable[Row]) -> list[Row]:
        """Those that have a credential now, in their order: the first is who is asked when nobody said whom (OAP-212).
        Errors as `state`.
        """
        return [row for row in rows if self.state(row).status == "authenticated"]

    async def _look(self, row: Row) -> Held | None:
        """As `look`, off the event loop. Whoever stops waiting is let go: nothing comes of a look."""
        return await anyio.to_thread.run_sync(self.look, row, abandon_on_cancel=True)

    async def secret(self, row: Row, base_url: str, *, header: tuple[KeyHeader, WireName] | None = None) -> str | None:
        """The text to send to that URL now; None: there is no credential, and the row may do without. `header` is how
        it will travel on which wire: a credential that came since and travels in another way is not handed over.

        Refused `credential_missing` (none, or `origin_not_allowed`), `credential_expired`, and what `look` refuses;
        PeerUnreachable where a spent token could not be refreshed. Cancelled in the middle of a refresh it ends when
        that has, within a minute: a vendor may take a refresh token only once, so what it gave is kept first.
        """
        held = await self._look(row)
        if held is None:
            if "none" in row.auth:
                return None
            raise missing(row)
        if header is not None and header_of(row, held.credential, header[1]) != header[0]:
            raise Refused.because(
                "credential_missing",
                f"Another kind of credential was put in for {row.name}",
                reason="changed",
                help="Begin a new session.",
            )
        verify_destination(row, held.credential, base_url, self.environ)
        if isinstance(held.credential, ApiKey):
            return held.credential.key
        token = held.credential
        if token.is_spent(self._clock.now()):
            token = await self._fresh(row)
            verify_destination(row, token, base_url, self.environ)
        return token.access_token

    async def renew(self, row: Row, base_url: str, rejected: str) -> str | None:
        """Another text to send in place of a token that the vendor did not take, which may have ended before its time;
        None: nothing renews it, as with a key, and the vendor's no stands. One that somebody renewed since is given
        without a refresh.

        Errors as `secret`.
        """
        held = await self._look(row)
        if held is None or not isinstance(held.credential, OAuthToken):
            return None
        verify_destination(row, held.credential, base_url, self.environ)
        is_final = row.oauth is None or held.credential.refresh_token is None
        if is_final and held.credential.access_token == rejected:
            return None
        token = await self._fresh(row, rejected)
        verify_destination(row, token, base_url, self.environ)
        return token.access_token

    async def _fresh(self, row: Row, rejected: str | None = None) -> OAuthToken:
        """One refresh at a time, in this process and among all: a vendor may take a refresh token only once. With
        `rejected` a token is spent that has this text, and only that.
        """
        alone = _alone(self._home / f".auth-{row.id}.lock")
        with _writing(row):
            async with self._locks.setdefault(row.id, anyio.Lock()), alone:
                kept = await anyio.to_thread.run_sync(self._store.get, row.id)
                token = kept.credential if kept is not None else None
                if kept is None or not isinstance(token, OAuthToken):
                    raise missing(row)
                is_spent = token.is_spent(self._clock.now()) if rejected is None else token.access_token == rejected
                return await self._exchanged(row, kept, token) if is_spent else token

    async def _exchanged(self, row: Row, kept: Kept, token: OAuthToken) -> OAuthToken:
        """A refresh token that is good once is not spent where what comes back could not be kept, and once it is,
        whoever asked may leave: what came back is kept all the same, unless the person signed out or in meanwhile.
        """
        if row.oauth is None or token.refresh_token is None:
            raise _expired(row)
        with anyio.CancelScope(shield=True):
            if await anyio.to_thread.run_sync(self._store.replace, row.id, kept, token):
                fresh = await self._refreshed(row, row.oauth, token)
                if await anyio.to_thread.run_sync(self._store.replace, row.id, kept, fresh):
                    return fresh
        raise Refused.because(
            "credential_missing", f"The credential for {row.name} was changed", reason="changed", help="Try again."
        )

    async def _refreshed(self, row: Row, flow: OAuthFlow, token: OAuthToken) -> OAuthToken:
        try:
            async with self.fetcher() as fetcher:
                return await refresh(flow, self.environ, token, fetcher=fetcher, now=self._clock.now())
        except Refused as refused:
            if refused.refusal.code == "provider_unavailable":
                raise PeerUnreachable(row.name, "its sign-in server failed") from None
            if refused.refusal.code == "credential_expired":
                raise _expired(row, refused.refusal.reason) from None
            raise


def header_of(row: Row, credential: Credential | None, wire: WireName) -> KeyHeader:
    """How a credential travels: a token as a bearer, a key as its row says, else as its wire does."""
    if isinstance(credential, OAuthToken) or (credential is not None and credential.is_bearer):
        return "bearer"
    return row.key_header or KEY_WIRES[wire]


def missing(row: Row) -> Refused:
    """Nothing to send, with what would help."""
    ways = [f"set {' or '.join(row.credential_env)}"] if row.credential_env else []
    ways.append(f"sign in: sayso auth login --provider {row.id}")
    return Refused.because(
        "credential_missing", f"There is no credential for {row.name}", help=f"To go on, {', or '.join(ways)}."
    )


def _expired(row: Row, reason: str | None = None) -> Refused:
    return Refused.because(
        "credential_expired",
        f"The sign-in to {row.name} has expired or was ended",
        reason=reason,
        help=f"Sign in again: sayso auth login --provider {row.id}",
    )


@contextmanager
def _writing(row: Row) -> Iterator[None]:
    """A home that cannot be written, full or not ours, as a refusal: no exception of the system leaves a provider."""
    try:
        yield
    except OSError as error:
        raise Refused.because(
            "credential_missing",
            f"The sign-in to {row.name} has to be renewed, and here nothing can be kept: {error.strerror}",
            reason="store",
            place=error.filename if isinstance(error.filename, str) else None,
            help="Make room in your home, or make it yours to write, and try again.",
        ) from None


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """As `locked`, given up with whoever waits: another process may hold it for as long as it likes."""
    with ExitStack() as stack:
        while True:
            with suppress(BlockingIOError):
                stack.enter_context(locked(path, waits=False))
                break
            await anyio.sleep(_LOOK_AGAIN)
        yield
