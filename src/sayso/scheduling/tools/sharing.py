"""Asking a person for limits over several hosts at once: one appointment, wherever it comes to be (spec section 6.12).

SCH-092. The limits are asked for by an act of their own, before anything is held; `hold_slot` at any of the hosts is
then covered by them, as by any limits signed in this session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sayso.core import strictjson
from sayso.core.instants import from_epoch, parse_instant, write_local
from sayso.core.money import read_money, write_money
from sayso.core.zones import find_zone
from sayso.governance.consent import Answer, Consent, Question
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptMandate
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate import TimeWindow
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.shared_limits import (
    SHARED_MEDIA_TYPE,
    SharedLimitsDraft,
    shared_constraints,
    shared_limits_text,
)
from sayso.scheduling.terms.spoken import spoken_money, spoken_span
from sayso.scheduling.tools.arguments import RequestLimits
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.evidence import Expected, consent_of
from sayso.scheduling.tools.moments import read_moment, said_until
from sayso.scheduling.tools.wanted import LIFETIME, all_in, named_service, read_ceiling, span_of

__all__ = ("SharingOperations", "to_share")

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    documents: Sequence[Discovery]
    draft: SharedLimitsDraft

    @property
    def document(self) -> bytes:
        return strictjson.encode(self.draft)

    @property
    def subject(self) -> str:
        return sha256_b64u(self.document)

    @property
    def expected(self) -> Expected:
        hosts = " ".join(self.draft.hosts)
        return Expected("buying", self.subject, hosts, self.draft.scope, shared_constraints(self.draft))


class SharingOperations:
    """The operation of one assistant."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant

    async def request(self, ask: RequestLimits, consent: Consent | None) -> Result:
        """What the person now allows, and where. Refused: as the reading; consent_unsigned."""
        shared = await _read(self._assistant, ask)
        kept = await self._assistant.signed(consent)
        draft, zone = shared.draft, find_zone(shared.documents[0].timezone)
        opens, closes = parse_instant(draft.window.not_before), parse_instant(draft.window.not_after)
        expires = from_epoch(verify_mandate(kept.token).claims.exp)
        return {
            "outcome": "allowed",
            "hosts": [
                {"host": each.host, "name": verified_identity(each).said, "service_ids": _offered(each, draft)}
                for each in shared.documents
            ],
            "bookings": draft.max_bookings,
            "window": spoken_span(opens, closes, zone, joint=("between", "and")),
            **({} if draft.max_price is None else {"at_most": spoken_money(read_money(draft.max_price))}),
            "until": said_until(expires, zone, self._assistant.guest.clock.now()),
            "next": "hold_slot at any of these hosts, within these limits; only one of them can be booked.",
        }


def _offered(document: Discovery, draft: SharedLimitsDraft) -> list[str]:
    return [each.id for each in document.services if each.id in draft.services]


async def to_share(assistant: Assistant, ask: RequestLimits, answer: Answer | None) -> Consent | Question:
    """Evidence, or the question. Refused: as the reading, and as `evidence.taken`."""
    shared = await _read(assistant, ask)
    kept = await _signed_before(assistant, shared)
    if kept is not None:
        return consent_of(kept)
    if answer is not None:
        return consent_of(await assistant.keep(answer, shared.expected))
    return Question(
        kind="shared_limits",
        title="Let your assistant book at one of several hosts, within limits?",
        text=shared_limits_text(shared.draft, shared.documents),
        document=shared.document,
        media_type=SHARED_MEDIA_TYPE,
    )


async def _signed_before(assistant: Assistant, shared: _Shared) -> KeptMandate | None:
    """The same limits, signed in this session and not used up."""
    for kept in await assistant.guest.book.mandates("buying", shared.draft.hosts[0], shared.subject):
        if kept.jti in assistant.signed_here and await assistant.used_under(kept.jti) < shared.draft.max_bookings:
            return kept
    return None


async def _read(assistant: Assistant, ask: RequestLimits) -> _Shared:
    """Refused: host_unknown, unknown_service, outside_request, in_the_past, wrong_currency."""
    guest = assistant.guest
    documents = [await guest.document(each.host) for each in ask.hosts]
    if len({each.host for each in documents}) < len(documents):
        raise refused("outside_request", "A host is named twice.", place="$.hosts")
    services = [named_service(document, each.service_id) for document, each in zip(documents, ask.hosts, strict=True)]
    zone = find_zone(documents[0].timezone)
    earliest, latest = _range(ask, documents, guest.clock.now())
    closes = latest + max([span_of(each) for each in services] + [timedelta(minutes=1)])
    return _Shared(
        documents=documents,
        draft=SharedLimitsDraft(
            hosts=tuple(each.host for each in documents),
            agent=guest.agent,
            scope=("hold", "book", "cancel", "reschedule"),
            services=tuple(dict.fromkeys(each.id for each in services)),
            window=TimeWindow(not_before=write_local(earliest, zone), not_after=write_local(closes, zone)),
            max_bookings=1,
            lifetime=LIFETIME,
            max_price=_ceiling(ask, documents, services),
        ),
    )


def _range(ask: RequestLimits, documents: Sequence[Discovery], now: datetime) -> tuple[datetime, datetime]:
    """The range meant; a local time is one only where all the hosts have the same."""
    zone = find_zone(documents[0].timezone)
    earliest = read_moment(ask.earliest_start, zone, "earliest_start")
    latest = read_moment(ask.latest_start, zone, "latest_start")
    for document in documents[1:]:
        other = find_zone(document.timezone)
        if (read_moment(ask.earliest_start, other, "earliest_start"), read_moment(ask.latest_start, other, "")) != (
            earliest,
            latest,
        ):
            raise refused("outside_request", "These hosts have different clocks: write the times with an offset.")
    if latest <= now:
        raise refused("in_the_past")
    if latest < earliest:
        raise refused("outside_request", "latest_start is before earliest_start.", place="$.latest_start")
    return earliest, latest


def _ceiling(ask: RequestLimits, documents: Sequence[Discovery], services: Sequence[Any]) -> Any:
    """The most the person would pay, all in: as they said it, else the dearest of the stated totals."""
    totals = [all_in(service, document.taxes) for service, document in zip(services, documents, strict=True)]
    stated = [total for total in totals if total is not None]
    if len({total.currency for total in stated}) > 1:
        raise refused("wrong_currency", "These hosts charge in different currencies: ask for limits one by one.")
    if ask.max_price is not None:
        return write_money(read_ceiling(ask.max_price, stated[0].currency if stated else None))
    return write_money(max(stated, key=lambda total: total.minor)) if stated else None
