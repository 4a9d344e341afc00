"""The host as its decisions know it: who it is, what it offers, within which limits. Built once from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal

from sayso.core.durations import parse_duration
from sayso.core.instants import write_local
from sayso.core.refusal import Misuse
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.rules.limits import Ceilings
from sayso.scheduling.rules.premises import BookableService, Premises
from sayso.scheduling.rules.price import Quote, quote
from sayso.scheduling.terms.claim import CLAIM_REQUEST_TYP, ClaimRequestClaims
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Notes
from sayso.scheduling.terms.events import EVENT_TYP, EventClaims
from sayso.scheduling.terms.offer import OFFER_TYP, OfferClaims
from sayso.scheduling.terms.receipt import RECEIPT_TYP, ReceiptClaims
from sayso.scheduling.terms.reconfirm import Reconfirmation, ReconfirmPolicy

__all__ = ("HostPen", "HostProfile", "Signed")


@dataclass(frozen=True, slots=True)
class Signed:
    """A document of the host: its compact token and the hash others agree to it by."""

    token: str
    sha256: str


class HostPen:
    """The host's signature, under the name its discovery document gives the key (SCH-018)."""

    def __init__(self, key: PrivateKey, kid: str) -> None:
        self._key = key
        self.kid = kid

    def sign_offer(self, claims: OfferClaims) -> Signed:
        """The offer's token. Signed once and stored: everybody afterwards sees these bytes (SCH-150)."""
        token = sign_jws(claims, self._key, typ=OFFER_TYP, kid=self.kid)
        return Signed(token, sha256_b64u(token))

    def sign_receipt(self, claims: ReceiptClaims) -> Signed:
        """The receipt's token."""
        token = sign_jws(claims, self._key, typ=RECEIPT_TYP, kid=self.kid)
        return Signed(token, sha256_b64u(token))

    def sign_claim(self, claims: ClaimRequestClaims) -> str:
        """A request for a unit of a shared limit, or for its return."""
        return sign_jws(claims, self._key, typ=CLAIM_REQUEST_TYP, kid=self.kid)

    def sign_event(self, claims: EventClaims) -> str:
        """The event's token, the whole body of its delivery."""
        return sign_jws(claims, self._key, typ=EVENT_TYP, kid=self.kid)


@dataclass(frozen=True, kw_only=True)
class HostProfile:
    """`host` is the global name, `retention` as the host declares it, in whole days (SCH-172).

    `waitlist_entries` is how many an agent may have waiting; None where no waitlist is kept.
    """

    host: str
    title: str
    premises: Premises
    ceilings: Ceilings
    retention: str
    closed_mandate: Literal["never", "always"]
    access: Literal["anyone", "contacts"] = "anyone"
    owner: str | None = None
    """Whose calendar it is, at a person's; None at a business (SCH-021)."""
    waitlist_entries: int | None = None
    answer_within: timedelta | None = None
    """How long the host takes to answer a request; None where a confirm is final at once (SCH-176)."""
    reconfirming: ReconfirmPolicy | None = None
    notes: Notes = field(default_factory=lambda: Notes(accepted=False))

    def __post_init__(self) -> None:
        if not self.premises.services:
            raise Misuse("a host offers at least one service")

    @property
    def is_person(self) -> bool:
        """Whether it is a person's calendar: nothing is confirmed there without its owner's signature (SCH-187)."""
        return self.owner is not None

    def answer_by(self, expires_at: datetime, *starts: datetime, guest: str) -> datetime | None:
        """The deadline of an offer that can be accepted until `expires_at`: the host has its whole time after the last
        moment to accept, and never longer than until the earliest of `starts` (SCH-177, SCH-225). Owners need nobody's
        yes on their own calendar (SCH-228).
        """
        if self.answer_within is None or guest == self.owner:
            return None
        return min(expires_at + self.answer_within, *starts)

    def reconfirmation(self, start: datetime, settled_by: datetime) -> Reconfirmation | None:
        """What an offer of `start` binds its booker to; nothing where they would be asked before the booking is
        settled, because a yes that late has been said already (SCH-248).
        """
        policy = self.reconfirming
        if policy is None:
            return None
        opens, by = start - parse_duration(policy.opens), start - parse_duration(policy.due)
        if opens <= settled_by:
            return None
        zone = self.premises.zone
        return Reconfirmation(opens=write_local(opens, zone), by=write_local(by, zone), silence=policy.silence)

    def check_note(self, note: str | None) -> None:
        """Refused: notes_not_accepted, saying what to use instead where the host says so (SCH-207)."""
        if note is not None and not self.notes.accepted:
            instead = f" {self.notes.instead}" if self.notes.instead else ""
            raise refused("notes_not_accepted", f"This host takes no notes from agents.{instead}", place="$.note")

    def service(self, service_id: str) -> BookableService:
        """The service by its exact id. Refused: unknown_service."""
        found = self.premises.services.get(service_id)
        if found is None:
            raise refused("unknown_service", place="$.service_id")
        return found

    @cached_property
    def quotes(self) -> Mapping[str, Quote | None]:
        """What each service costs all in; None where no price is stated."""
        return {name: quote(service, self.premises.taxes) for name, service in self.premises.services.items()}
