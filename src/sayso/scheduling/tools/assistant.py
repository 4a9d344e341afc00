"""An assistant acting for one person: its agent, and whose signature counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sayso.core import strictjson
from sayso.core.refusal import Corrupt, Refused
from sayso.governance.consent import Answer, Consent
from sayso.proof.jws import read_jws
from sayso.scheduling.guest.kept import KeptBooking, KeptMandate
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.scheduling.terms.mandate import Constraints
from sayso.scheduling.terms.mandate_checks import Action, Ask, check_mandate, verify_mandate
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.tools.evidence import Expected, taken

__all__ = ("Assistant", "kept_terms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """`principal` is the person's id, the only one whose signature counts. `limits_only` is the person's wish to be
    asked once, for the limits, wherever the host allows it; it is never an argument that an assistant could set.
    Nor are `details`, what hosts may be told of the person under limits that say so, and `said`, what the person typed
    with a confirm of their own (SCH-208).
    """

    guest: Guest
    principal: str
    limits_only: bool = False
    details: GuestDetails | None = None
    said: GuestDetails | None = None
    signed_here: set[str] = field(default_factory=set)
    """The limits signed since this assistant was opened, and not taken back by a no. Only these are used again without
    asking: whoever opens another one, with whatever wishes, asks the person anew.
    """

    async def keep(self, answer: Answer, expected: Expected) -> KeptMandate:
        """The mandate an answer carries, kept and receipted once. Refused as `evidence.taken`."""
        guest = self.guest
        kept, mandate = taken(answer, expected, principal=self.principal, agent=guest.agent, now=guest.clock.now())
        if await guest.book.mandate(kept.jti) is None:
            await guest.book.keep_mandate(kept, guest.notes.mandate(kept, mandate.claims))
        self.signed_here.add(kept.jti)
        return kept

    async def signed(self, consent: Consent | None) -> KeptMandate:
        """The kept mandate that a consent rests on. Refused: consent_unsigned."""
        document = None if consent is None else consent.document
        if document is not None:
            kept = await self.guest.book.mandate(verify_mandate(document).claims.jti)
            if kept is not None and kept.token == document:
                return kept
        raise refused("consent_unsigned")

    async def used_under(self, jti: str) -> int:
        """How many units of a mandate are in use, as far as we know: holds, bookings and entries that wait."""
        return await self.guest.book.used_under(jti) + await self.guest.entries.waiting_under(jti)

    async def was_kept(self, answer: Answer) -> bool:
        """Whether an answer's mandate is one we have: then it answered an earlier question of the same call."""
        return answer.document is not None and await self.kept(answer.document) is not None

    async def kept(self, token: str) -> KeptMandate | None:
        """The mandate that was kept as exactly this token."""
        try:
            jti = verify_mandate(token).claims.jti
        except Refused:
            return None
        kept = await self.guest.book.mandate(jti)
        return kept if kept is not None and kept.token == token else None

    async def buying(self, booking: KeptBooking) -> KeptMandate:
        """The limits a booking was made under, expired or not."""
        kept = await self.guest.book.mandate(booking.limits)
        if kept is None:
            raise Corrupt("a booking without the mandate it was made under", booking.booking_id)
        return kept

    async def limits_of(self, booking: KeptBooking) -> Constraints:
        """The window and ceiling that bound later moves of a booking."""
        return verify_mandate((await self.buying(booking)).token).claims.constraints

    async def managing(self, booking: KeptBooking, action: Action) -> KeptMandate | None:
        """A live mandate that covers this act on the booking: the management mandate, else the limits themselves."""
        book, now = self.guest.book, self.guest.clock.now()
        management = await book.mandates("management", booking.host, booking.booking_id)
        buying = [kept for kept in await book.mandates("buying", booking.host) if kept.jti == booking.limits]
        for kept in (*management, *buying):
            ask = Ask(
                action=action,
                host=booking.host,
                agent=self.guest.agent,
                principal=self.principal,
                booking_id=booking.booking_id,
                booked_under=booking.limits,
            )
            try:
                check_mandate(replace(verify_mandate(kept.token), standing="not_asked"), ask, now)
            except Refused:
                continue
            return kept
        return None

    async def booking(self, booking_id: str) -> KeptBooking:
        """Refused: no_such_booking."""
        booking = await self.guest.book.booking(booking_id)
        if booking is None:
            raise refused("no_such_booking")
        return booking


def kept_terms(token: str) -> OfferClaims:
    """The claims of an offer that was verified when it was kept."""
    return strictjson.decode(read_jws(token).payload, OfferClaims)
