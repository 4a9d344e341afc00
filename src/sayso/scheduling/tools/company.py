"""Who comes along, between an assistant's arguments, a hold's request and the words about a booking (spec section 24).

Pure. SCH-251. What was not said is the careful reading: a day to answer, and silence is a no.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from sayso.core.durations import parse_duration, write_duration
from sayso.core.instants import parse_instant
from sayso.core.refusal import Refused
from sayso.scheduling.terms.booking import Booking
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import Answers, BookedParticipant, Company, InvitationTerms, Participant
from sayso.scheduling.terms.quoted import named
from sayso.scheduling.terms.spoken import either, spoken_clock, spoken_day
from sayso.scheduling.tools.arguments import HoldSlot

__all__ = ("company_words", "people", "wanted_company")

_DAY = "P1D"


def wanted_company(ask: HoldSlot, document: Discovery) -> Company:
    """What the request asks along. Refused: outside_request, for terms without anybody and durations that are none;
    no_person_answers, where the host is nobody's own calendar.
    """
    answers: Answers | None = "person" if ask.in_person else None
    if ask.in_person and document.kind != "person":
        raise refused(
            "no_person_answers", f"{named(document.title)} answers for itself, nobody in person.", place="$.in_person"
        )
    if not ask.participants:
        if ask.answer_within is not None or ask.silence is not None:
            raise refused("outside_request", "Terms to answer on are for participants.", place="$.participants")
        return Company(answers=answers)
    try:
        within = write_duration(parse_duration(ask.answer_within or _DAY))
    except Refused as error:
        raise refused("outside_request", error.refusal.message, place="$.answer_within") from None
    return Company(
        participants=tuple(
            Participant(principal=each.principal, name=each.name, required=each.required, attendee=each.attendee)
            for each in ask.participants
        ),
        invitation=InvitationTerms(answer_within=within, silence=ask.silence or "no"),
        answers=answers,
    )


def people(participants: tuple[BookedParticipant, ...]) -> list[str]:
    """Each participant with what they answered: `Lee: yes`, `Ines: yes, by saying nothing`, `Tom: not yet`."""
    return [f"{named(each.name)}: {_said(each)}" for each in participants]


def _said(entry: BookedParticipant) -> str:
    if entry.answer is None:
        return "not yet" if entry.required else "not yet, and need not"
    return f"{entry.answer.said}, by saying nothing" if entry.answer.by_default else entry.answer.said


def company_words(inside: Booking, claims: OfferClaims, host: str, zone: ZoneInfo) -> dict[str, Any]:
    """Who comes along, whose answer is waited for, and how it ended where theirs ended it; nothing for one alone."""
    if not inside.participants:
        return {}
    words: dict[str, Any] = {"participants": people(inside.participants)}
    required = [each for each in inside.participants if each.required]
    if inside.status == "tentative" and claims.invitation is not None:
        waited = _names([each for each in required if each.answer is None])
        at = parse_instant(claims.invitation.answer_by)
        until = f"{spoken_day(at, zone)} at {spoken_clock(at, zone)}"
        counts = "a yes" if claims.invitation.silence == "yes" else "a no"
        words["waits"] = (
            f"It waits for {waited} until {until}; no answer counts as {counts}. "
            f"They answer with: sayso guest answer {inside.host} {inside.booking_id}"
        )
    if inside.declined is not None and inside.declined.by == "participant":
        no = _names([each for each in required if each.answer is not None and each.answer.said == "no"])
        words["note"] = f"{no} said no, so nothing is booked."
    if inside.status == "expired" and any(each.answer is not None and each.answer.said == "no" for each in required):
        silent = _names([each for each in required if each.answer is not None and each.answer.by_default])
        words["note"] = f"{silent} did not answer in time, so nothing is booked. It counts as a lapse at {host}."
    return words


def _names(participants: Iterable[BookedParticipant]) -> str:
    return either([named(each.name) for each in participants], "and")
