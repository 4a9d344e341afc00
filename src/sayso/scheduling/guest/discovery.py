"""Fetching a host's own document, and keeping it for a while (spec section 4.4; SCH-036, SCH-049).

What a good document is, and whether its endpoint is authorised, is decided in `terms.discovery_checks`. A document that
is missing, unreachable or wrong authorises nothing: no request and no mandate goes to that host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from sayso.core.clock import Clock
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.fetch import Fetcher, Response
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import WELL_KNOWN, Discovery
from sayso.scheduling.terms.discovery_checks import verify_discovery

__all__ = ("CACHED_FOR", "HostDocuments", "read_domain")

CACHED_FOR = timedelta(minutes=10)
_MAX_BYTES = 262_144
_SECONDS = 5.0
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"(?:https://)?(?:[a-z0-9-]+@)?({_LABEL}(?:\.{_LABEL})+)/?")

T = TypeVar("T")


def read_domain(text: str) -> str:
    """The domain in a host's name, a bare domain or an https origin, however a person wrote it.

    Refused: host_unknown.
    """
    found = _ADDRESS.fullmatch(text.strip().lower())
    if found is None:
        raise refused("host_unknown", f"{text[:80]!r} names no host: write maplestreetauto.example, for instance.")
    return found[1]


class HostDocuments:
    """The documents of hosts, each fetched from its own domain and kept for ten minutes of the clock."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Discovery]] = {}

    async def document(self, domain: str, *, fresh: bool = False) -> Discovery:
        """The document of `domain`, verified. Refused: host_not_authorised, host_document_invalid. PeerUnreachable."""
        now = self._clock.now()
        kept = self._kept.get(domain)
        if kept is not None and not fresh and kept[0] <= now < kept[0] + CACHED_FOR:
            return kept[1]
        document = verify_discovery(_body(await self._get(domain), domain), domain)
        self._kept[domain] = (now, document)
        return document

    async def _get(self, domain: str) -> Response:
        return await self._fetcher.get(f"https://{domain}{WELL_KNOWN}", max_bytes=_MAX_BYTES, seconds=_SECONDS)

    async def checked(self, domain: str, check: Callable[[Discovery], T]) -> T:
        """What `check` makes of the document; fetched once more, and once only, when it meets an unknown key."""
        try:
            return check(await self.document(domain))
        except Refused as error:
            if error.refusal.reason != "unknown_key":
                raise
        return check(await self.document(domain, fresh=True))


def _body(response: Response, domain: str) -> bytes:
    if response.status >= 500:
        raise PeerUnreachable(domain, f"it answered {response.status} where its document should be")
    if response.status != 200:
        raise refused("host_not_authorised", f"{domain} publishes no scheduling document.")
    return response.body
