"""Asking the status URLs of mandates before anything changes (protocol 6.9; SCH-091, SCH-094, SCH-095, SCH-098).

Asked before the unit of work, so that no key app, however slow, holds a lock of the host. Answers are kept under who
signed the link and its `jti` together: a stranger who reuses a `jti` reaches nobody else's. What is kept is this
process's; another one asks for itself.
"""

from __future__ import annotations

from collections import OrderedDict

from sayso.core.clock import Clock
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.terms.delegation import LinkClaims
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.scheduling.terms.status import Standing
from sayso.scheduling.terms.status_checks import KeptStatus, is_fresh, is_usable, verify_status

__all__ = ("Statuses",)

_MAX_KEPT = 4096
_MAX_BYTES = 8192
_SECONDS = 2.0


class Statuses:
    """What this process knows of the mandates that were shown to it."""

    def __init__(self) -> None:
        self._through: tuple[Fetcher, Clock] | None = None
        self._kept: OrderedDict[tuple[str, str], KeptStatus] = OrderedDict()

    def ask_through(self, fetcher: Fetcher, clock: Clock) -> None:
        """From now on URLs are asked through this. Before it none is, and what has one is refused."""
        self._through = (fetcher, clock)

    @property
    def through(self) -> tuple[Fetcher, Clock] | None:
        """What key apps are asked through; None where this host asks none."""
        return self._through

    async def standing(self, mandate: Mandate) -> Standing:
        """What is known of every link with a URL: one that is revoked revokes all, one unread leaves all unread."""
        asked: list[tuple[str, LinkClaims, str]] = [(mandate.principal, mandate.claims, mandate.sha256)]
        asked += [(link.signer, link.claims, link.sha256) for link in mandate.links]
        found = [await self._state(*each) for each in asked if each[1].status is not None]
        if "revoked" in found:
            return "revoked"
        return "unread" if None in found else "active"

    async def _state(self, issuer: str, claims: LinkClaims, sha256: str) -> str | None:
        if self._through is None or claims.status is None:
            return None
        fetcher, clock = self._through
        key, now = (issuer, claims.jti), clock.now()
        kept = self._kept.get(key)
        if kept is not None and is_fresh(kept, now):
            return kept.state
        try:
            response = await fetcher.get(claims.status, max_bytes=_MAX_BYTES, seconds=_SECONDS)
            if response.status == 200:
                kept = verify_status(response.body, claims, sha256, now)
                self._keep(key, kept)
        except (Refused, PeerRefused, PeerUnreachable):
            pass
        return kept.state if kept is not None and is_usable(kept, now) else None

    def _keep(self, key: tuple[str, str], kept: KeptStatus) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
