"""Signing in to a model provider from the terminal UI, and out again: a key typed unseen, or OAuth with its address or
code shown. What is kept and where is `control.provider.credentials`'; nothing of it is told to a hub.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import anyio.to_thread

from sayso.apps.home import Home, open_home
from sayso.control.provider.catalog.providers import Providers, open_providers
from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.oauth.device import sign_in_on_a_device
from sayso.control.provider.credentials.oauth.redirect import sign_in_in_a_browser
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import read_key
from sayso.core.ids import SystemIds
from sayso.core.refusal import Misuse, Refused
from sayso.net.fetch import Fetcher

__all__ = ("SignIns", "Standing", "Way", "ways_of")

Way = Literal["key", "browser", "device"]


class Standing:
    """One provider as the picker shows it."""

    __slots__ = ("id", "is_ready", "name", "said", "ways")

    def __init__(self, row: Row, *, said: str, is_ready: bool) -> None:
        self.id, self.name = row.id, row.name
        self.said, self.is_ready = said, is_ready
        self.ways = ways_of(row)


class SignIns:
    """The providers of one home."""

    def __init__(self, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._environ: Mapping[str, str] = os.environ if environ is None else environ
        self._home: Home = open_home(home, is_world=False)
        self._known: Providers = open_providers(self._home.path)
        self._store = CredentialStore(self._home.path, self._environ)

    def standings(self) -> list[Standing]:
        """All that one can sign in to, those with a credential first. No network is used."""
        credentials = Credentials(
            self._home.path, self._store, environ=self._environ, clock=self._home.clock, fetcher=Fetcher
        )
        found = []
        for row in self._known.offered:
            state = credentials.state(row)
            ready = state.status in ("authenticated", "unknown")
            said = {"unknown": "needs none", "login_required": "/login to use it"}.get(state.status, state.status)
            where = f" ({state.variable})" if state.variable and ready else ""
            found.append(
                Standing(row, said=f"ready{where}" if state.status == "authenticated" else said, is_ready=ready)
            )
        return sorted(found, key=lambda each: not each.is_ready)

    async def standings_beside(self) -> list[Standing]:
        """The same, off the event loop: a keyring may take its time."""
        return await anyio.to_thread.run_sync(self.standings)

    async def keep_key(self, provider: str, typed: str) -> str:
        """Keeps a key; says where. Refused: `unknown_provider`, and whatever makes it no key."""
        row = self._known.find(provider)
        key = read_key(typed, "What was typed")
        return _kept(await anyio.to_thread.run_sync(self._store.put, row.id, key))

    async def sign_in(self, provider: str, way: Way, show: Callable[[str], None]) -> str:
        """Runs an OAuth flow to its end, telling what to open by `show`; says where it is kept. Cancel it to stop."""
        row = self._known.find(provider)
        if row.oauth is None:
            raise Misuse("a row without a flow has no such way")
        async with Fetcher(self._home.settings.resolve) as fetcher:
            if way == "device":
                token = await sign_in_on_a_device(
                    row.oauth,
                    self._environ,
                    fetcher=fetcher,
                    clock=self._home.clock,
                    show=lambda code: show(
                        f"Open {code.url}\nand type {code.user_code} there, within {code.minutes} minutes."
                    ),
                )
            else:
                token = await sign_in_in_a_browser(
                    row.oauth,
                    self._environ,
                    fetcher=fetcher,
                    clock=self._home.clock,
                    ids=SystemIds(),
                    show=lambda url: show(f"Open this address in a browser on this machine, within 10 minutes:\n{url}"),
                )
        return _kept(await anyio.to_thread.run_sync(self._store.put, row.id, token))

    async def sign_out(self, provider: str) -> str:
        """Forgets what was stored. Refused: `unknown_provider`."""
        row = self._known.find(provider)
        was_there = await anyio.to_thread.run_sync(self._store.remove, row.id)
        said = f"Forgotten: {row.name}." if was_there else f"Nothing was stored for {row.name}."
        names = [name for name in row.credential_env if self._environ.get(name, "").strip()]
        return f"{said} {names[0]} is still set." if names else said

    def way_of(self, provider: str) -> Sequence[Way]:
        """How to sign in, best first. Refused: `unknown_provider`, `unsupported_login`."""
        row = self._known.find(provider)
        if not (ways := ways_of(row)):
            raise Refused.because(
                "unsupported_login", f"how to sign in to {row.name} from outside its own programs is not known"
            )
        return ways


def ways_of(row: Row) -> tuple[Way, ...]:
    """How a provider is signed in to, best first."""
    ways: list[Way] = []
    for kind in row.auth:
        if kind == "api_key":
            ways.append("key")
        elif kind == "oauth" and row.oauth is not None:
            ways += ["browser"] if row.oauth.authorization_endpoint else []
            ways += ["device"] if row.oauth.device_endpoint else []
    return tuple(ways)


def _kept(keeper: str) -> str:
    return "It is in your system's keyring." if keeper == "keyring" else "It is in auth.json in your home."
