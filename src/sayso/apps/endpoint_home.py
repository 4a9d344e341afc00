"""What an endpoint serves: one adapter, and the home's provider service where that is served as well (OAP-126, 137)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass

from sayso.apps.home import SESSIONS_FILE, open_home
from sayso.apps.offering import LOOP, Served, Wanted, open_offer
from sayso.control.hub.history import History
from sayso.control.hub.history_file import HistoryFile
from sayso.control.provider.contract import ProviderService

__all__ = ("ServedEndpoint", "open_endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedEndpoint:
    """The adapter under its name, the home's own provider service where that is served as well, and which sessions the
    built-in loop has had, so that they can be reopened.
    """

    offer: Served
    providers: ProviderService | None
    history: History | None


@asynccontextmanager
async def open_endpoint(wanted: Wanted, *, with_providers: bool = False) -> AsyncIterator[ServedEndpoint]:
    """Refused: what `open_offer`, `open_home` and `open_models` refuse, and `file_not_private`."""
    async with AsyncExitStack() as stack:
        offer = await stack.enter_async_context(open_offer(wanted))
        providers = await _open_providers(stack, wanted) if with_providers else None
        history = None
        if wanted.backend == LOOP:
            kept = HistoryFile(wanted.home / SESSIONS_FILE, issuer=offer.ids.new("hub"))
            history = stack.enter_context(closing(kept))
        yield ServedEndpoint(offer=offer, providers=providers, history=history)


async def _open_providers(stack: AsyncExitStack, wanted: Wanted) -> ProviderService:
    from sayso.apps.models import open_models  # noqa: PLC0415 - slow to import, and most backends need none

    home = open_home(wanted.home, is_world=wanted.is_world)
    return (await stack.enter_async_context(open_models(home))).service
