"""The one registry of codes and reasons (spec section 14.3; SCH-336 to SCH-342).

Each reason stands once and names its code, its HTTP status, whether the answer is kept for a repeated idempotency key,
and what would help. Hosts, guests and the key app all refuse through `refused`; the spec's table is printed from
`ROWS`. A status of 0 marks a refusal that is made on the guest's side and never travels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("BY_REASON", "LOWER_FLOORS", "ROWS", "Row", "refused", "registered")


@dataclass(frozen=True, slots=True)
class Row:
    """One registered way to say no. `stored`: a retry with the same idempotency key gets this very answer again."""

    reason: str
    code: str
    status: int
    stored: bool
    message: str
    help: str
    section: str


_KEPT, _FRESH = True, False
# fmt: off
# reason, code, HTTP status, stored, spec section, message, what would help
_TABLE = (
    ("malformed_json", "MALFORMED", 400, _FRESH, "2.2",
     "The body is not JSON as this protocol reads it.", "Send UTF-8 JSON without repeated members."),
    ("schema_invalid", "MALFORMED", 400, _FRESH, "2.1",
     "A member is missing, unknown or of the wrong form.",
     "Compare the message with the closed schema; the place is named."),
    ("malformed_value", "MALFORMED", 400, _FRESH, "2.3",
     "A value is not an instant, duration, amount or zone of this protocol.",
     "Instants carry an offset, durations are exact, amounts have the currency's own digits."),
    ("header_invalid", "MALFORMED", 400, _FRESH, "5.1",
     "A header is missing, repeated or malformed.", "Send each header of section 5 exactly once."),
    ("too_large", "TOO_LARGE", 413, _FRESH, "5.1",
     "The body is larger than this endpoint reads.", "Send at most 16,384 bytes."),
    ("unknown_version", "UNSUPPORTED_VERSION", 400, _FRESH, "5.2",
     "This version of the protocol is not served here.", "Use one of the versions listed."),
    ("no_such_path", "NOT_FOUND", 404, _FRESH, "5.4",
     "There is nothing here by that name.", "Compare the path with the routes of section 5."),
    ("no_such_hold", "NOT_FOUND", 404, _FRESH, "8.4",
     "There is no such hold for this agent.", "Place a hold first."),
    ("no_such_booking", "NOT_FOUND", 404, _FRESH, "11.3",
     "There is no such booking for this guest.", "Name a booking made by this principal."),
    ("no_such_walk_in", "NOT_FOUND", 404, _FRESH, "7.4",
     "There is no such walk-in.", "Name one that stands: it ends by itself."),
    ("no_such_offer", "NOT_FOUND", 404, _FRESH, "13.2",
     "There is no such change offer on this booking.", "Ask for a change offer first."),
    ("method_not_allowed", "NOT_FOUND", 405, _FRESH, "5.4",
     "That path does not take this method.", "Compare the method with the routes of section 5."),
    ("signature_invalid", "SIGNATURE_INVALID", 401, _FRESH, "5.1",
     "The request signature does not verify.", "Sign exactly as section 5.1 states."),
    ("digest_mismatch", "SIGNATURE_INVALID", 401, _FRESH, "5.1",
     "The content digest is not that of the body received.", "Hash the bytes as they are sent."),
    ("signature_stale", "SIGNATURE_INVALID", 401, _FRESH, "5.1",
     "The signature is too old or dated in the future.", "Set the clock and sign again."),
    ("replayed_nonce", "SIGNATURE_REPLAYED", 401, _FRESH, "5.1",
     "This nonce was already used by this key.", "Sign every attempt with a new nonce."),
    ("private_key_received", "MALFORMED", 400, _FRESH, "3.4",
     "A key arrived with its private part.", "Replace that key: it is no longer secret."),
    ("key_reused", "IDEMPOTENCY_CONFLICT", 409, _FRESH, "5.6",
     "This idempotency key was used with another body.", "Use a new key for a new intent."),
    ("rate_limited", "RATE_LIMITED", 429, _FRESH, "5.7",
     "Too many requests from this key.", "Wait for Retry-After seconds."),
    ("unavailable", "UNAVAILABLE", 503, _FRESH, "5.5",
     "The endpoint cannot answer just now.", "Try again with the same idempotency key."),
    ("internal", "INTERNAL", 500, _FRESH, "5.5",
     "The endpoint failed.", "Try again with the same idempotency key."),
    ("mandate_missing", "MANDATE_REQUIRED", 403, _FRESH, "6.1",
     "This needs a mandate from the person.", "Present one in SchCP-Mandate."),
    ("mandate_malformed", "MANDATE_INVALID", 403, _FRESH, "6.2",
     "The mandate is not a mandate of this protocol.", "Ask the person's key app for one."),
    ("mandate_signature", "MANDATE_INVALID", 403, _FRESH, "6.2",
     "The mandate's signature does not verify.", "Ask the person's key app for one."),
    ("issuer_mismatch", "MANDATE_INVALID", 403, _FRESH, "6.2",
     "The mandate's issuer is not the key it carries.", "iss is the thumbprint of principal_jwk."),
    ("not_yet_valid", "MANDATE_INVALID", 403, _FRESH, "6.2",
     "The mandate is dated in the future.", "Wait, or set the clock of the key app."),
    ("lifetime_too_long", "MANDATE_INVALID", 403, _FRESH, "6.2",
     "The mandate is made to live longer than allowed.", "A mandate to hold or book lives at most 31 days."),
    ("chain_too_long", "MANDATE_INVALID", 403, _FRESH, "6.8",
     "The chain has more than three links.", "Present the person's own mandate, or one passed on twice at most."),
    ("chain_broken", "MANDATE_INVALID", 403, _FRESH, "6.8",
     "A link does not follow from the one before it.", "Ask the agent that passed it on for another."),
    ("chain_widens", "MANDATE_INVALID", 403, _FRESH, "6.8",
     "A link allows more than the one before it.", "Ask the agent that passed it on for one within its own."),
    ("mandate_expired", "MANDATE_EXPIRED", 403, _FRESH, "6.2",
     "The mandate has expired.", "Ask the person for a fresh one."),
    ("wrong_audience", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate is for another host.", "Ask the person for one that names this host."),
    ("agent_mismatch", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate is bound to another agent key.", "Sign with the key named in cnf."),
    ("wrong_principal", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate is another person's than the one this was begun for.", "Present a mandate of the same principal."),
    ("scope_missing", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate does not allow this action.", "Ask the person for a mandate with this scope."),
    ("service_not_covered", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate does not cover this service.", "Ask the person for a mandate that lists it."),
    ("outside_window", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The time is outside the mandate's window.", "Choose a time inside, or ask the person for another window."),
    ("above_price", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The all-in total is above the mandate's ceiling.",
     "Choose something cheaper, or ask the person for a higher ceiling."),
    ("wrong_currency", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate's ceiling is in another currency.", "Ask the person for a ceiling in this currency."),
    ("price_not_covered", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate states no ceiling, so it covers nothing with a price.",
     "Ask the person for a mandate with a ceiling."),
    ("booking_not_covered", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The mandate does not cover this booking.", "Present the management mandate for it."),
    ("management_only", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "A mandate that names bookings can do nothing else.", "Present a buying mandate."),
    ("closed_elsewhere", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "The closed mandate approves another offer.", "Ask the person to approve this offer."),
    ("closed_mandate_required", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "Here the person approves the exact offer.", "Ask the person to approve the offer, and present that mandate."),
    ("mode_not_accepted", "NOT_PERMITTED", 403, _FRESH, "6.3",
     "Here the person must have been present to approve.", "Ask the person to approve the offer themselves."),
    ("limit_reached", "MANDATE_LIMIT", 403, _FRESH, "6.3",
     "The mandate's number of bookings is used up.", "Release or cancel one, or ask the person for another mandate."),
    ("not_a_contact", "NOT_PERMITTED", 403, _FRESH, "6.10",
     "This calendar is open to its contacts only.", "Reach the host without an agent, and ask to be added."),
    ("revoked", "NOT_PERMITTED", 403, _FRESH, "6.9",
     "The person took the mandate back.", "Ask the person."),
    ("status_unavailable", "NOT_PERMITTED", 403, _FRESH, "6.9",
     "Whether the mandate was revoked cannot be learned.", "Try again later, or present a mandate without a status."),
    ("claim_unavailable", "NOT_PERMITTED", 403, _FRESH, "6.11",
     "The shared limit's claim cannot be obtained.", "Present a mandate for this host alone."),
    ("unknown_service", "NOT_OFFERED", 404, _KEPT, "7.2",
     "This host does not offer that service.", "Read the services in the discovery document."),
    ("unknown_resource", "NOT_OFFERED", 404, _KEPT, "7.2",
     "Nobody by that id can be asked for here.", "Read choose_from in the discovery document."),
    ("window_invalid", "MALFORMED", 400, _FRESH, "7.1",
     "The window is empty, reversed or too long.", "Ask for at most 31 days, the end after the start."),
    ("window_too_short", "NOT_OFFERED", 409, _KEPT, "7.1",
     "The window is shorter than the appointment.", "Widen the window."),
    ("slot_taken", "SLOT_TAKEN", 409, _KEPT, "8.2",
     "That time is not free.", "Choose one of the alternatives."),
    ("not_bookable", "NOT_OFFERED", 409, _KEPT, "8.2",
     "That time cannot be booked here.", "Ask for availability and choose a slot from the answer."),
    ("not_released", "NOT_OFFERED", 409, _FRESH, "7.3",
     "That day has not opened for booking yet.", "Read policies.release: it says when the day opens."),
    ("not_eligible", "NOT_OFFERED", 409, _FRESH, "7.5",
     "This service is for guests who have kept an appointment here.",
     "Book another service first, or reach the host without an agent."),
    ("outside_area", "NOT_OFFERED", 409, _KEPT, "7.5",
     "The host does not come to that place.", "Read areas in the discovery document."),
    ("place_required", "NOT_OFFERED", 409, _KEPT, "8.2",
     "The guest names the place of this service.", "Send place."),
    ("ttl_too_short", "NOT_OFFERED", 409, _KEPT, "8.2",
     "A hold that short is not placed here.", "Ask for at least ttl_min."),
    ("too_many_holds", "HOLD_LIMIT", 409, _FRESH, "8.3",
     "This agent has as many live holds here as are allowed.", "Confirm or release one."),
    ("newcomers_full", "HOLD_LIMIT", 409, _FRESH, "8.3",
     "All holds for newcomers are in use.", "Try again in a few minutes."),
    ("suspended", "SUSPENDED", 429, _FRESH, "8.6",
     "Too many holds of this agent or person were left to run out here.",
     "Wait for Retry-After seconds: it fades by itself."),
    ("no_waitlist", "NOT_OFFERED", 409, _KEPT, "20.1",
     "This host keeps no waitlist.", "Ask for availability again later."),
    ("slot_free", "NOT_OFFERED", 409, _FRESH, "20.2",
     "There is free time in that window already.", "Hold one of the alternatives: waiting is for what is taken."),
    ("too_many_entries", "WAITLIST_LIMIT", 409, _FRESH, "20.2",
     "This agent waits here for as much as is allowed.", "Leave one of the entries."),
    ("no_such_entry", "NOT_FOUND", 404, _FRESH, "20.4",
     "There is no such waitlist entry for this agent.", "Join the waitlist first."),
    ("entry_taken", "ENTRY_GONE", 409, _KEPT, "20.4",
     "What the entry waited for is booked.", "Read the entry: its hold names the booking."),
    ("hold_expired", "HOLD_GONE", 409, _KEPT, "10.2",
     "The hold has expired.", "Place a new hold."),
    ("hold_released", "HOLD_GONE", 409, _KEPT, "10.2",
     "The hold was released.", "Place a new hold."),
    ("hold_confirmed", "HOLD_GONE", 409, _KEPT, "10.2",
     "The hold was already confirmed.", "Read the hold: it names its booking."),
    ("contract_mismatch", "CONTRACT_MISMATCH", 409, _KEPT, "10.2",
     "The hash is not that of the offer on the table.", "Hash the offer's compact token as received."),
    ("already_cancelled", "BOOKING_SETTLED", 409, _KEPT, "11.4",
     "The booking is already cancelled.", "Nothing is left to do."),
    ("already_started", "BOOKING_SETTLED", 409, _KEPT, "11.4",
     "The appointment has begun.", "Speak to the host."),
    ("not_changeable", "BOOKING_SETTLED", 409, _KEPT, "13.1",
     "A booking in this state cannot be moved.", "Make a new booking."),
    ("offer_expired", "OFFER_GONE", 409, _KEPT, "13.2",
     "The change offer has expired.", "Ask for a new one; the booking stands as it was."),
    ("offer_dropped", "OFFER_GONE", 409, _KEPT, "13.2",
     "The change offer was dropped.", "Ask for a new one; the booking stands as it was."),
    ("move_awaits_host", "BOOKING_SETTLED", 409, _FRESH, "13.4",
     "A move of this booking waits for the host's answer.", "Wait for the answer, or cancel the booking."),
    ("offer_outstanding", "BOOKING_SETTLED", 409, _FRESH, "21.7",
     "The guest has a change offer of their own open.", "Wait until they accepted it or it ran out."),
    ("not_staff", "NOT_PERMITTED", 403, _FRESH, "21.1",
     "This key does not answer for the host.", "Sign with a key that the host's settings list under staff."),
    ("person_must_answer", "NOT_PERMITTED", 403, _FRESH, "25.2",
     "At this calendar the person answers, with their own signature.",
     "Have the owner sign the answer with sayso keyapp approve."),
    ("acceptance_invalid", "NOT_PERMITTED", 403, _FRESH, "25.3",
     "The signed answer does not answer this.", "Have the owner sign the answer to exactly this offer, now."),
    ("rule_invalid", "NOT_PERMITTED", 403, _FRESH, "25.5",
     "The rule is none of this calendar's owner.", "Have the owner sign it for this calendar."),
    ("rule_not_in_force", "NOT_PERMITTED", 403, _FRESH, "25.6",
     "The rule has ended, was withdrawn, or is not kept here.", "Have the owner answer."),
    ("rule_not_covering", "NOT_PERMITTED", 403, _FRESH, "25.6",
     "The rule does not cover this.", "Have the owner answer."),
    ("no_such_rule", "NOT_FOUND", 404, _FRESH, "25.7",
     "No such rule is kept here.", "Read the rules that are kept."),
    ("no_counter", "NOT_PERMITTED", 403, _FRESH, "25.8",
     "A person's calendar counters nothing: yes and no are the person's.", "Decline it, or propose once it is booked."),
    ("nothing_to_answer", "BOOKING_SETTLED", 409, _KEPT, "21.3",
     "Nothing on this booking waits for the host's answer.", "Read the booking: it was answered, or its time ran out."),
    ("not_open_ended", "BOOKING_SETTLED", 409, _KEPT, "21.6",
     "Only a running booking without an agreed end is ended.", "A booking with an agreed end completes by itself."),
    ("not_over", "BOOKING_SETTLED", 409, _FRESH, "21.5",
     "The appointment is not over.", "Mark it when its end has passed."),
    ("mark_too_late", "BOOKING_SETTLED", 409, _KEPT, "21.5",
     "A mark can be set or corrected for 7 days after the end.", "Nothing changes any more."),
    ("invitation_invalid", "MALFORMED", 400, _FRESH, "24.1",
     "Who is asked along, or on which terms, does not make sense.",
     "Name others than the booker, each once, and give them a minute or more."),
    ("no_person_answers", "NOT_OFFERED", 409, _KEPT, "24.8",
     "Nobody answers in person here.", "Leave answers out: the published terms, or the host, answer."),
    ("nothing_to_accept", "BOOKING_SETTLED", 409, _FRESH, "24.4",
     "Nothing on this booking waits for this participant.",
     "Read the invitation: it was answered, it changed, or its time ran out."),
    ("notes_not_accepted", "NOT_OFFERED", 409, _FRESH, "10.6",
     "This host takes no notes from agents.", "Confirm without the note; policies.notes says what to use instead."),
    ("nothing_to_reconfirm", "BOOKING_SETTLED", 409, _KEPT, "23.3",
     "Nothing on this booking waits for its booker's word.",
     "Read the booking: it asks for none, has it already, or its time ran out."),
    ("reconfirm_early", "BOOKING_SETTLED", 409, _FRESH, "23.3",
     "The booker is not asked yet.", "Answer from reconfirm.opens on, and before reconfirm.by."),
    ("declined_by_host", "HOST_DECLINED", 0, _FRESH, "13.4",
     "The host said no to this move.", "The booking stands as it was."),
    ("not_answered", "HOST_DECLINED", 0, _FRESH, "13.4",
     "The host did not answer this move in time.", "The booking stands as it was."),
    ("no_hosts", "NO_HOST", 0, _FRESH, "4.4",
     "No host is known yet.", "Add one with `sayso guest add URL`."),
    ("host_unknown", "NO_HOST", 0, _FRESH, "4.4",
     "That host is not among the known ones.", "Use a name from discover_host, or add it with `sayso guest add URL`."),
    ("not_introduced", "NOT_POSSIBLE", 0, _FRESH, "6.10",
     "This host tells its contacts alone when it is free.",
     "Use hold_slot at a time the person named: what they sign introduces them."),
    ("host_not_authorised", "HOST_NOT_AUTHORISED", 0, _FRESH, "4.3",
     "The host's document does not authorise that endpoint.", "Do not send it anything."),
    ("host_document_invalid", "HOST_NOT_AUTHORISED", 0, _FRESH, "4.2",
     "The host's document is not one of this protocol.", "Tell the host."),
    ("operator_document_invalid", "HOST_NOT_AUTHORISED", 0, _FRESH, "4.7",
     "The operator's list is not one of this protocol.", "Tell the operator; do not send its hosts anything."),
    ("answer_invalid", "HOST_MISBEHAVES", 0, _FRESH, "15.4",
     "The host's answer is not one of this protocol.", "Nothing was agreed by it; reach the host without an agent."),
    ("offer_invalid", "HOST_MISBEHAVES", 0, _FRESH, "9.6",
     "The host's offer does not stand up to checking.", "Nothing was approved; reach the host without an agent."),
    ("receipt_invalid", "HOST_MISBEHAVES", 0, _FRESH, "12.3",
     "The host's receipt does not stand up to checking.",
     "Do not rely on this booking; reach the host without an agent."),
    ("event_invalid", "HOST_MISBEHAVES", 0, _FRESH, "22.4",
     "What was delivered is not an event of this host for this agent.", "Nothing was done; read what it is about."),
    ("unknown_key", "HOST_MISBEHAVES", 0, _FRESH, "4.5",
     "The document is signed with a key the host does not publish.",
     "Do not rely on it; reach the host without an agent."),
    ("host_unreachable", "UNREACHABLE", 0, _FRESH, "15.4",
     "The host does not answer.", "Try again later, or reach it without an agent."),
    ("outside_request", "NOT_POSSIBLE", 0, _FRESH, "16.2",
     "What was asked for cannot be done.", "Change the request."),
    ("in_the_past", "NOT_POSSIBLE", 0, _FRESH, "16.2",
     "That time has passed.", "Name a later time."),
    ("no_hold", "NOT_POSSIBLE", 0, _FRESH, "16.2",
     "There is no live hold to confirm.", "Hold a slot first."),
    ("consent_refused", "CONSENT_REFUSED", 0, _FRESH, "15.3",
     "The person said no.", "Nothing was booked."),
    ("consent_unsigned", "CONSENT_REFUSED", 0, _FRESH, "15.3",
     "A yes without the person's signature is no yes.", "The key app has to sign."),
    ("consent_mismatch", "CONSENT_REFUSED", 0, _FRESH, "15.3",
     "What was signed is not what was asked.", "Ask again."),
    ("locked", "LOCKED", 0, _FRESH, "15.2",
     "The key app is locked.", "Unlock it with its passphrase."),
    ("not_ours", "NOT_SIGNED", 0, _FRESH, "15.2",
     "The document is not addressed to this person.", "Nothing was signed."),
    ("unverified", "NOT_SIGNED", 0, _FRESH, "15.2",
     "Who the host is could not be verified, so nothing is signed.", "Try again when the host's document can be read."),
    ("document_invalid", "NOT_SIGNED", 0, _FRESH, "15.2",
     "The document does not stand up to checking.", "Nothing was signed."),
)
# fmt: on

ROWS = tuple(
    Row(reason, code, status, stored, message, help_, section)
    for reason, code, status, stored, section, message, help_ in _TABLE
)
BY_REASON: Mapping[str, Row] = {row.reason: row for row in ROWS}

LOWER_FLOORS: Mapping[str, str] = {
    "malformed_json": "malformed_json",
    "schema_invalid": "schema_invalid",
    "malformed_base64url": "schema_invalid",
    "malformed_instant": "malformed_value",
    "malformed_duration": "malformed_value",
    "malformed_money": "malformed_value",
    "mixed_currency": "malformed_value",
    "unknown_zone": "malformed_value",
    "nonexistent_local_time": "malformed_value",
    "private_key_received": "private_key_received",
}
"""How a refusal of `core` or `proof` is said in this protocol; whatever is not listed is `schema_invalid`.

The codes of request signatures and of the edge are the endpoint's to say in these words."""


def refused(
    reason: str, message: str | None = None, *, place: str | None = None, details: Mapping[str, Any] | None = None
) -> Refused:
    """A refusal by its registered reason. Misuse when nobody registered it."""
    row = BY_REASON.get(reason)
    if row is None:
        raise Misuse(f"no such reason is registered: {reason}")
    return Refused(
        Refusal(
            code=row.code,
            reason=row.reason,
            message=message or row.message,
            place=place,
            help=row.help,
            details=details or {},
        )
    )


def registered(refusal: Refusal) -> Refusal:
    """The same refusal under a registered code and reason: what a lower floor said, said in this protocol's words."""
    known = BY_REASON.get(refusal.reason or "")
    if known is not None and known.code == refusal.code:
        return refusal
    row = BY_REASON[LOWER_FLOORS.get(refusal.code, "schema_invalid")]
    return Refusal(
        code=row.code,
        reason=row.reason,
        message=f"{row.message} {refusal.message}",
        place=refusal.place,
        help=row.help,
    )
