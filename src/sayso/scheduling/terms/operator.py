"""What an operator publishes about the hosts it serves (spec section 4.7; SCH-035, SCH-037, SCH-044, SCH-047).

The document is closed. Each entry names one host's document and endpoint, in exactly the places of this file, and where
the host has a domain of its own, that domain. What an entry proves is judged in `operator_checks`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.discovery import WELL_KNOWN, Contact, PublishedKey
from sayso.scheduling.terms.identity import bare_id, vouching_domain
from sayso.scheduling.terms.wire import DomainName, HostId, UrlText, VersionName, Words

__all__ = (
    "OPERATOR_WELL_KNOWN",
    "ListedHost",
    "OperatorDocument",
    "document_url",
    "endpoint_url",
    "find_listed",
    "is_listed_only",
    "listed_document_path",
    "listed_endpoint_path",
)

OPERATOR_WELL_KNOWN = "/.well-known/scheduling-operator.json"
"""Where an operator lists its hosts."""


class ListedHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A host that an operator serves. `domain` is the host's own, and stands only where it has one."""

    id: HostId
    title: Words
    kind: Literal["business", "person"]
    document: UrlText
    endpoint: UrlText
    domain: DomainName | None = None


class OperatorDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The whole list. `operator` is the domain that publishes it; `name` is what people call it."""

    versions: Annotated[tuple[VersionName, ...], Meta(min_length=1, max_length=8)]
    operator: DomainName
    name: Words
    contact: Contact
    hosts: Annotated[tuple[ListedHost, ...], Meta(max_length=1000)]
    keys: Annotated[tuple[PublishedKey, ...], Meta(max_length=32)] = ()


def listed_document_path(host_id: str) -> str:
    """Where an operator serves the document of a host without a domain (SCH-047)."""
    return f"/hosts/{host_id}/scheduling.json"


def listed_endpoint_path(host_id: str) -> str:
    """The base of that host's routes on its operator's origin, also of a host with a domain (SCH-047)."""
    return f"/hosts/{host_id}/schcp/v0"


def document_url(host: str, operator: str | None) -> str:
    """Where the document of a global name has to stand: at its own domain, or at the operator that vouches for it."""
    domain = vouching_domain(host)
    return f"https://{domain}{listed_document_path(bare_id(host)) if domain == operator else WELL_KNOWN}"


def endpoint_url(host: str, operator: str) -> str:
    """The one endpoint that an operator can run for a host."""
    return f"https://{operator}{listed_endpoint_path(bare_id(host))}"


def is_listed_only(host: str, operator: str | None) -> bool:
    """Whether nothing but an operator vouches for the host: it has no domain of its own (SCH-109)."""
    return operator == vouching_domain(host)


def find_listed(listing: OperatorDocument, host_id: str, domain: str | None) -> ListedHost | None:
    """The entry of a host, by its bare id and its own domain; None for a host that has none."""
    return next((entry for entry in listing.hosts if (entry.id, entry.domain) == (host_id, domain)), None)
