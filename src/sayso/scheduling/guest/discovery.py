"""Fetching a host's own document, and keeping it for a while (spec sections 4.4 and 4.7; SCH-035, SCH-036, SCH-049).

What a good document is, and whether its endpoint is authorised, is decided in `terms.discovery_checks` and
`terms.operator_checks`. A document or list that is missing, unreachable, wrong or one-sided authorises nothing: no
request and no mandate goes to that host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from sayso.core.clock import Clock
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import WELL_KNOWN, Discovery
from sayso.scheduling.terms.discovery_checks import read_discovery, verify_discovery, verify_listed
from sayso.scheduling.terms.identity import bare_id, vouching_domain
from sayso.scheduling.terms.operator import OPERATOR_WELL_KNOWN, OperatorDocument, find_listed, listed_document_path
from sayso.scheduling.terms.operator_checks import verify_operator

__all__ = ("AGAIN_AFTER", "CACHED_FOR", "HostDocuments", "read_address", "read_domain")

CACHED_FOR = timedelta(minutes=10)
AGAIN_AFTER = timedelta(seconds=30)
"""Whoever delivers events made up of unknown keys makes nobody fetch a document more often than this."""
_MAX_BYTES = 262_144
_SECONDS = 5.0
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})+"
_ADDRESS = re.compile(rf"(?:https://)?(?:[a-z0-9-]+@)?({_DOMAIN})/?")
_NAME = re.compile(rf"({_LABEL})@({_DOMAIN})")
_LISTED = re.compile(rf"(?:https://)?({_DOMAIN})/hosts/({_LABEL})(?:/scheduling\.json|/schcp/v0|/)?")

T = TypeVar("T")


def read_domain(text: str) -> str:
    """The domain in a host's name, a bare domain or an https origin, however a person wrote it.

    Refused: host_unknown.
    """
    found = _ADDRESS.fullmatch(text.strip().lower())
    if found is None:
        raise refused("host_unknown", f"{text[:80]!r} names no host: write maplestreetauto.example, for instance.")
    return found[1]


def read_address(text: str) -> str:
    """What to look a host up by: its global name where `text` holds one or an operator's page of it, else its domain.

    Refused: host_unknown.
    """
    lowered = text.strip().lower()
    if _NAME.fullmatch(lowered):
        return lowered
    listed = _LISTED.fullmatch(lowered)
    return f"{listed[2]}@{listed[1]}" if listed else read_domain(text)


class HostDocuments:
    """The documents of hosts and the lists of their operators, each kept for ten minutes of the clock."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[datetime, Discovery]] = {}
        self._fetched_again: dict[str, datetime] = {}
        self._listings: dict[str, tuple[datetime, OperatorDocument]] = {}

    async def document(self, address: str, *, fresh: bool = False) -> Discovery:
        """The verified document of a host by its domain or global name.

        Refused: host_not_authorised, host_document_invalid, operator_document_invalid. PeerUnreachable.
        """
        now = self._clock.now()
        kept = self._kept.get(address)
        if kept is not None and not fresh and _is_recent(kept[0], now):
            return kept[1]
        since, document = await self._find(address, now)
        self._kept[address] = self._kept[document.host] = (since, document)
        return document

    async def checked(self, address: str, check: Callable[[Discovery], T]) -> T:
        """What `check` makes of the document; fetched once more, and once only, when it meets an unknown key. One that
        was fetched again a moment ago is as good as new.
        """
        try:
            return check(await self.document(address))
        except Refused as error:
            now = self._clock.now()
            before = self._fetched_again.get(address)
            if error.refusal.reason != "unknown_key" or (before is not None and before <= now < before + AGAIN_AFTER):
                raise
        self._fetched_again[address] = now
        return check(await self.document(address, fresh=True))

    async def _find(self, address: str, now: datetime) -> tuple[datetime, Discovery]:
        """A host's own domain is asked first; where it has none, or vouches for another host, its operator is."""
        domain = vouching_domain(address) if "@" in address else address
        data = await self._get(domain, WELL_KNOWN)
        if data is not None and address in (domain, read_discovery(data, domain).host):
            return await self._own(data, domain, now)
        if address == domain:
            raise _unauthorised(f"{domain} publishes no scheduling document.")
        return await self._listed(address, domain, now)

    async def _own(self, data: bytes, domain: str, now: datetime) -> tuple[datetime, Discovery]:
        operator = read_discovery(data, domain).operator
        if operator is None:
            return now, verify_discovery(data, domain)
        since, listing = await self._listing(operator, now)
        return since, verify_discovery(data, domain, listing)

    async def _listed(self, host: str, operator: str, now: datetime) -> tuple[datetime, Discovery]:
        since, listing = await self._listing(operator, now)
        if find_listed(listing, bare_id(host), None) is None:
            raise _unauthorised(f"{operator} does not list {host}.")
        data = await self._get(operator, listed_document_path(bare_id(host)))
        if data is None:
            raise _unauthorised(f"{operator} lists {host} and serves no document for it.")
        return since, verify_listed(data, host, listing)

    async def _listing(self, operator: str, now: datetime) -> tuple[datetime, OperatorDocument]:
        """The operator's list and since when it is known: a document relies on it for ten minutes from then."""
        kept = self._listings.get(operator)
        if kept is None or not _is_recent(kept[0], now):
            data = await self._get(operator, OPERATOR_WELL_KNOWN)
            if data is None:
                raise _unauthorised(f"{operator} publishes no list of hosts.")
            kept = self._listings[operator] = (now, verify_operator(data, operator))
        return kept

    async def _get(self, domain: str, path: str) -> bytes | None:
        """The body there, or None where nothing is published."""
        response = await self._fetcher.get(f"https://{domain}{path}", max_bytes=_MAX_BYTES, seconds=_SECONDS)
        if response.status >= 500:
            raise PeerUnreachable(domain, f"it answered {response.status} where its document should be")
        return response.body if response.status == 200 else None


def _is_recent(since: datetime, now: datetime) -> bool:
    return since <= now < since + CACHED_FOR


def _unauthorised(message: str) -> Refused:
    return refused("host_not_authorised", message)
