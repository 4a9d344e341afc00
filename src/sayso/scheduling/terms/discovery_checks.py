"""Whether a discovery document makes sense, and whether its endpoint is authorised (spec sections 4.2 to 4.5).

SCH-019, SCH-034, SCH-036, SCH-045, SCH-046. Pure: the document's bytes and where they were read from come in. A host
with its own domain vouches for itself when its endpoint has exactly the origin of that domain; a host that names an
operator needs the operator's word too, whose list comes in and is compared in `operator_checks`.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from sayso.core import strictjson
from sayso.core.durations import parse_duration
from sayso.core.money import read_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.proof.keys import PublicKey
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery, Service
from sayso.scheduling.terms.identity import public_key, refuse_private_parts, vouching_domain
from sayso.scheduling.terms.operator import OperatorDocument, is_listed_only
from sayso.scheduling.terms.operator_checks import check_listed
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy
from sayso.scheduling.terms.wire import VERSION

__all__ = ("published_key", "read_discovery", "signing_key", "verify_discovery", "verify_listed")


def verify_discovery(data: bytes, domain: str, listing: OperatorDocument | None = None) -> Discovery:
    """The document that `domain` serves, closed, consistent, and authorised to name its endpoint.

    `listing` is the list of the operator that the document names, where it names one.
    Refused: host_document_invalid (with the place), host_not_authorised.
    """
    document = read_discovery(data, domain)
    if vouching_domain(document.host) != domain:
        raise _unauthorised(f"{domain} serves a document that calls itself {document.host}.", "$.host")
    if document.operator is None:
        _check_endpoint(document, domain)
        return document
    if is_listed_only(document.host, document.operator):
        raise _unauthorised(f"{domain} calls itself its own operator.", "$.operator")
    if listing is None or listing.operator != document.operator:
        raise _unauthorised(f"{document.operator} does not confirm that it serves {domain}.", "$.operator")
    check_listed(document, listing)
    return document


def verify_listed(data: bytes, host: str, listing: OperatorDocument) -> Discovery:
    """The document of a host without a domain, as its operator serves it under `/hosts/`.

    Refused: host_document_invalid, host_not_authorised.
    """
    document = read_discovery(data, host)
    if document.host != host:
        raise _unauthorised(f"{listing.operator} serves {document.host} where {host} belongs.", "$.host")
    check_listed(document, listing)
    return document


def read_discovery(data: bytes, domain: str) -> Discovery:
    """A document that makes sense by itself; who vouches for it is not yet judged. Refused: host_document_invalid."""
    try:
        refuse_private_parts(strictjson.parse(data))
        document = strictjson.decode(data, Discovery)
        _check_values(document)
    except Refused as error:
        found = error.refusal
        raise refused("host_document_invalid", f"{domain}: {found.message}", place=found.place) from None
    return document


def _check_values(document: Discovery) -> None:
    if VERSION not in document.versions:
        raise _invalid(f"version {VERSION} is not served", "$.versions")
    find_zone(document.timezone)
    _check_unique((key.kid for key in document.keys), "$.keys")
    _check_unique((service.id for service in document.services), "$.services")
    for key in document.keys:
        public_key(key.jwk)
    _check_unique((attester.iss for attester in document.trust.attesters), "$.trust.attesters")
    for attester in document.trust.attesters:
        for key in attester.keys:
            public_key(key.jwk)
    contact = document.contact
    if not (contact.phone or contact.email or contact.url or contact.words):
        raise _invalid("no way to reach the host without an agent", "$.contact")
    policies = document.policies
    if (policies.confirmation.mode == "approval") != (policies.confirmation.answer_within is not None):
        raise _invalid("answer_within stands with approval and only there", "$.policies.confirmation")
    holds = policies.holds
    for duration in (
        policies.retention,
        policies.horizon,
        policies.slot_step,
        policies.replay_window,
        holds.ttl_max,
        holds.ttl_min,
        policies.confirmation.answer_within,
    ):
        if duration is not None:
            parse_duration(duration)
    _check_reconfirm(policies.reconfirm)
    _check_kind(document)
    selectable = {resource.id for resource in document.resources}
    for service in document.services:
        _check_service(service, selectable)


def _check_kind(document: Discovery) -> None:
    """A person is asked for every yes, and only by people they know (SCH-187, SCH-262)."""
    policies = document.policies
    if document.kind == "person" and (policies.access != "contacts" or policies.confirmation.mode != "approval"):
        raise _invalid("a person's calendar is open to contacts only, and answers each request", "$.policies")


def _check_reconfirm(policy: ReconfirmPolicy | None) -> None:
    if policy is not None and parse_duration(policy.opens) <= parse_duration(policy.due):
        raise _invalid("reconfirming opens before it is due", "$.policies.reconfirm")


def _check_service(service: Service, selectable: set[str]) -> None:
    place = f"$.services[{service.id}]"
    if service.duration != "open":
        parse_duration(service.duration)
        if service.set_aside is not None:
            raise _invalid("set_aside is for open-ended services", place)
    for duration in (service.buffer, service.set_aside):
        if duration is not None:
            parse_duration(duration)
    if service.price is not None:
        read_money(service.price)
    if not selectable.issuperset(service.choose_from):
        raise _invalid("choose_from names a resource that is not listed", place)


def _check_unique(names: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _invalid(f"{name} stands there twice", place)
        seen.add(name)


def _check_endpoint(document: Discovery, domain: str) -> None:
    endpoint = urlsplit(document.endpoint)
    # Exactly this origin: a subdomain is another host (SCH-045). Anything beside scheme, host and path is refused.
    if endpoint.netloc != domain or endpoint.query or endpoint.fragment or document.endpoint.endswith("/"):
        raise _unauthorised(
            f"{domain} names an endpoint at {endpoint.netloc or 'no host'}, which nothing authorises.", "$.endpoint"
        )


def _unauthorised(message: str, place: str) -> Refused:
    return refused("host_not_authorised", message, place=place)


def published_key(document: Discovery, kid: str | None) -> PublicKey:
    """The key a document names, signing or retired; never another that happens to fit (SCH-018).

    Refused: unknown_key.
    """
    for key in document.keys:
        if key.kid == kid:
            return public_key(key.jwk)
    raise refused("unknown_key", f"{document.host} publishes no key called {kid}.")


def signing_key(document: Discovery, kid: str | None) -> PublicKey:
    """The same, but only a key that may still sign: what is new must be signed with one (SCH-027)."""
    if any(key.kid == kid and key.use == "verify" for key in document.keys):
        raise refused("unknown_key", f"{document.host} retired the key called {kid}.")
    return published_key(document, kid)


def _invalid(message: str, place: str) -> Refused:
    return refused("host_document_invalid", message, place=place)
