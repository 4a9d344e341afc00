"""A guest's agent: its key, its memory, the hosts it can speak to."""

from __future__ import annotations

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.book import GuestBook
from sayso.scheduling.guest.client import HostClient
from sayso.scheduling.guest.discovery import HostDocuments, read_address
from sayso.scheduling.guest.entries import EntryBook
from sayso.scheduling.guest.kept import KnownHost
from sayso.scheduling.guest.noting import Notes
from sayso.scheduling.guest.receipting import Record
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import vouching_domain
from sayso.scheduling.terms.operator import is_listed_only
from sayso.store.unit import Store

__all__ = ("Guest",)


class Guest:
    """What every step of a booking needs. `key` is the agent's own, never the person's; `record` the house's log.

    `callback_url` is where hosts may deliver their events (`hearing`); without it everything is learned by asking.
    """

    def __init__(
        self,
        store: Store,
        fetcher: Fetcher,
        key: PrivateKey,
        clock: Clock,
        ids: Ids,
        record: Record,
        *,
        callback_url: str | None = None,
    ) -> None:
        self.clock = clock
        self.callback_url = callback_url
        self.agent = key.public.thumbprint
        self.documents = HostDocuments(fetcher, clock)
        self.book = GuestBook(store, self.agent, ids)
        self.entries = EntryBook(store, self.agent)
        self.notes = Notes(record)
        self._signed = SignedClient(fetcher, key, clock, ids)

    def client(self, document: Discovery) -> HostClient:
        """The host's endpoint, which its document authorises."""
        return HostClient(self._signed, document)

    async def add_host(self, address: str) -> Discovery:
        """Verifies the host at a domain, name or URL and remembers it: only hosts a person added are spoken to."""
        document = await self.documents.document(read_address(address), fresh=True)
        domain, listed = vouching_domain(document.host), is_listed_only(document.host, document.operator)
        await self.book.keep_host(KnownHost(domain=domain, host=document.host, is_listed=listed))
        return document

    async def known(self, name: str) -> KnownHost:
        """The known host of that global name, domain or URL. Refused: no_hosts, host_unknown."""
        address = read_address(name)
        hosts = await self.book.hosts()
        if not hosts:
            raise refused("no_hosts")
        found = [host for host in hosts if address in (host.host, host.domain)]
        if len(found) > 1:
            names = ", ".join(host.host for host in found)
            raise refused("host_unknown", f"{address} vouches for several of the hosts you added: {names}.")
        if not found:
            raise refused("host_unknown", f"{name[:80]} is not among the hosts you added.")
        return found[0]

    async def document(self, name: str) -> Discovery:
        """The document of a known host, still vouching for the name it was added under."""
        host = await self.known(name)
        document = await self.documents.document(host.host)
        if document.host != host.host:
            raise _renamed(host, document)
        return document


def _renamed(host: KnownHost, document: Discovery) -> Refused:
    return refused("host_not_authorised", f"{host.domain} now vouches for {document.host} and not for {host.host}.")
