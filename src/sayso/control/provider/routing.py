"""From a model's name to its wire, opened once and used again (OAP-130, OAP-138)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio.to_thread

from sayso.control.provider.catalog.facts import Facts, facts_for
from sayso.control.provider.catalog.limits import wire_for
from sayso.control.provider.catalog.providers import Providers as Offered
from sayso.control.provider.catalog.rows import WireName
from sayso.control.provider.contract import Provider
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.describing import SPOKEN, wire_of
from sayso.control.provider.listings import Listings
from sayso.control.provider.planner.descriptor import MODEL
from sayso.control.provider.wires import Offering, Waiting, open_wire
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Refused

__all__ = ("Route", "Routes", "is_planner", "split_ref")

_IDLE = 64
"""How many wires stay open that nobody uses just now."""


@dataclass(slots=True, eq=False)
class Route:
    """Where one model's inferences go. `close` is None where nothing is to be closed; `is_kept` until it is
    forgotten, and then it closes behind its last inference. `is_anonymous`: opened without a credential.
    """

    provider: Provider
    close: Callable[[], Awaitable[None]] | None = None
    is_anonymous: bool = False
    is_kept: bool = True
    uses: int = 0


def is_planner(ref: str) -> bool:
    """Whether a model's name is the offline planner's."""
    return ref == MODEL


def split_ref(ref: str) -> tuple[str, WireName | None, str]:
    """Provider, wire if it is named, and the vendor's name of the model. Refused `model_not_found`."""
    provider, _, model = ref.partition("/")
    if not provider or not model:
        raise Refused.because(
            "model_not_found",
            f"There is no model {ref[:100]!r}",
            help="Name it as <provider>/<model>; `sayso providers` lists the providers.",
        )
    wire, _, named = model.partition("@")
    wire = wire.removeprefix("other:")
    if named and wire in SPOKEN:
        return provider, wire, named  # type: ignore[return-value]
    return provider, None, model


class Routes:
    """The wires of one service."""

    def __init__(
        self,
        catalog: Offered,
        credentials: Credentials,
        listings: Listings | None,
        *,
        clock: Clock,
        ids: Ids,
        tell: Callable[[Waiting], None] | None,
    ) -> None:
        self._catalog = catalog
        self._credentials = credentials
        self._listings = listings
        self._clock = clock
        self._ids = ids
        self._tell = tell
        self._routes: dict[str, Route] = {}

    async def open(self, ref: str) -> Route:
        """The model's route, held until `release`. Refused: `model_not_found`, `unknown_provider`, and what
        `facts_for` and `open_wire` refuse; Corrupt for a damaged credential file.
        """
        route = self._routes.get(ref)
        if route is None or route.is_anonymous:
            facts = await anyio.to_thread.run_sync(self._facts, ref, abandon_on_cancel=True)
            # Somebody may have opened it meanwhile; and where there is still no credential, nothing has changed.
            route = self._routes.get(ref)
            if route is None or (route.is_anonymous and facts.credential is not None):
                await self.forget(ref)
                route = self._open(ref, facts)
        self._routes[ref] = self._routes.pop(ref, route)  # the last used stands last
        route.uses += 1
        await self._close_idle()
        return route

    async def release(self, route: Route) -> None:
        """One inference less."""
        route.uses -= 1
        if not route.is_kept and not route.uses:
            await _close(route)

    async def forget(self, ref: str) -> None:
        """The next request opens the model's wire anew."""
        route = self._routes.pop(ref, None)
        if route is not None:
            route.is_kept = False
            if not route.uses:
                await _close(route)

    async def aclose(self) -> None:
        """Stops what is under way and closes every wire."""
        routes, self._routes = list(self._routes.values()), {}
        for route in routes:
            await _close(route)

    async def _close_idle(self) -> None:
        idle = [ref for ref, route in self._routes.items() if not route.uses]
        for ref in idle[: max(0, len(idle) - _IDLE)]:
            await self.forget(ref)

    def _facts(self, ref: str) -> Facts:
        provider, wire, model = split_ref(ref)
        row = self._catalog.find(provider)
        listed, dev = (None, None) if self._listings is None else self._listings.facts(row, model)
        chosen = wire or wire_for(row, listed, dev) or wire_of(row)
        if chosen not in row.wires:
            # Before any credential is looked for: no other one could help.
            raise Refused.because("unsupported_feature", f"{row.name} is not reached by a wire that is spoken here")
        session = self._ids.new("session")
        return facts_for(row, model, self._credentials, wire=chosen, listed=listed, dev=dev, session=session)

    def _open(self, ref: str, facts: Facts) -> Route:
        offering = Offering(
            id=facts.id,
            wire=facts.wire,
            base_url=facts.base_url,
            model=facts.model,
            model_ref=ref,
            credential=facts.credential,
            renew=facts.renew,
            auth=facts.auth,
            headers=facts.headers,
            max_output_tokens=facts.max_output_tokens,
        )
        wire = open_wire(offering, clock=self._clock, ids=self._ids, tell=self._tell)
        route = self._routes[ref] = Route(wire, wire.aclose, is_anonymous=facts.credential is None)
        return route


async def _close(route: Route) -> None:
    if route.close is not None:
        await route.close()
