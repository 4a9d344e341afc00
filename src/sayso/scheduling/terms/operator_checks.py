"""Whether a host and an operator name each other (spec sections 4.3 and 4.7; SCH-034 to SCH-037, SCH-044, SCH-047).

Pure: both documents come in as they were read. One that names the other and is not named by it proves nothing, and
neither does a listing that calls the host something else than it calls itself: nobody is then sent anything.
"""

from __future__ import annotations

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import bare_id, public_key, refuse_private_parts, vouching_domain
from sayso.scheduling.terms.operator import (
    ListedHost,
    OperatorDocument,
    document_url,
    endpoint_url,
    find_listed,
    is_listed_only,
)
from sayso.scheduling.terms.wire import VERSION

__all__ = ("check_listed", "verify_operator")


def verify_operator(data: bytes, domain: str) -> OperatorDocument:
    """The list that `domain` serves: closed, consistent, its own. Refused: operator_document_invalid."""
    try:
        refuse_private_parts(strictjson.parse(data))
        listing = strictjson.decode(data, OperatorDocument)
        for key in listing.keys:
            public_key(key.jwk)
    except Refused as error:
        raise _invalid(domain, error.refusal.message, error.refusal.place) from None
    if VERSION not in listing.versions:
        raise _invalid(domain, f"version {VERSION} is not served", "$.versions")
    if listing.operator != domain:
        raise _invalid(domain, f"the list is that of {listing.operator}", "$.operator")
    # Two entries under one id would share an endpoint, so that one host could answer for the other (SCH-046).
    ids = [entry.id for entry in listing.hosts]
    if len(set(ids)) != len(ids):
        raise _invalid(domain, "a host id stands there twice", "$.hosts")
    return listing


def check_listed(document: Discovery, listing: OperatorDocument) -> None:
    """That a document which names this operator is named by it, under the same title and endpoint.

    Refused: host_not_authorised, with what does not fit.
    """
    operator = listing.operator
    if document.operator != operator:
        raise _unauthorised(document, f"does not name {operator} as its operator", "$.operator")
    domain = None if is_listed_only(document.host, operator) else vouching_domain(document.host)
    entry = find_listed(listing, bare_id(document.host), domain)
    if entry is None:
        raise _unauthorised(document, f"is not among the hosts that {operator} lists", "$.operator")
    if (entry.title, entry.kind) != (document.title, document.kind):
        raise _unauthorised(document, f"is called {entry.title} by {operator}", "$.title")
    _check_places(document, entry, operator)


def _check_places(document: Discovery, entry: ListedHost, operator: str) -> None:
    if entry.document != document_url(document.host, operator):
        raise _unauthorised(document, f"has its document elsewhere, says {operator}", "$.operator")
    expected = endpoint_url(document.host, operator)
    if document.endpoint != expected or entry.endpoint != expected:
        raise _unauthorised(document, "names an endpoint that its operator does not run for it", "$.endpoint")


def _unauthorised(document: Discovery, why: str, place: str) -> Refused:
    return refused("host_not_authorised", f"{document.host} {why}.", place=place)


def _invalid(domain: str, message: str, place: str | None) -> Refused:
    return refused("operator_document_invalid", f"{domain}: {message}", place=place)
