"""Instants as RFC 3339 text and as seconds since 1970 (SCH-275, SCH-276).

Read by grammar first, because the library's own reader takes far more than RFC 3339 allows. Decided here: the offset
must be there and must be known (`-00:00` says it is not); lower-case `t` and `z` are allowed, as in the RFC; fractions
have one to six digits, since the seventh would be lost; a leap second `:60` is read only where one can be, at 23:59 UTC
on the last day of June or December, and means the second that follows. Values are aware and in UTC; text is written in
UTC with upper-case letters, or with the offset that a zone has at that very instant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sayso.core.refusal import Misuse, Refused

__all__ = ("epoch", "from_epoch", "parse_instant", "write_instant", "write_local")

_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_GRAMMAR = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt]{_TIME}:([0-5][0-9]|60)(?:\.[0-9]{{1,6}})?(?:[Zz]|[+-]{_TIME})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_SECONDS = len("2026-10-13T13:05:00")
_WITH_OFFSET = len("2026-10-15T13:00:00-04:00")
_LEAP_DAYS = ((6, 30), (12, 31))


def parse_instant(text: str) -> datetime:
    """Raises `Refused("malformed_instant")` for anything but an RFC 3339 date-time with a known offset."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise _malformed("an instant is written like 2026-10-13T13:05:00Z, with its offset")
    if text.endswith("-00:00"):
        raise _malformed("the offset -00:00 means that the offset is not known")
    is_leap = found.group(1) == "60"
    if is_leap:
        text = f"{text[:17]}59{text[19:]}"
    try:
        instant = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _malformed("there is no such date, time or offset") from None
    return _after_leap(instant) if is_leap else instant


def epoch(instant: datetime) -> int:
    """Whole seconds since 1970, rounded down; the instant must be aware."""
    return (_aware(instant) - _EPOCH) // _SECOND


def from_epoch(seconds: int) -> datetime:
    """The instant of a NumericDate; raises `Refused("malformed_instant")` outside the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise _malformed("this number of seconds is in no calendar year") from None


def write_instant(instant: datetime) -> str:
    """In UTC, `2026-10-13T13:05:00Z`; a fraction only where there is one, without trailing zeros."""
    moment = _aware(instant).astimezone(UTC)
    if not moment.microsecond:
        return f"{moment.isoformat()[:_SECONDS]}Z"
    fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"


def write_local(instant: datetime, zone: ZoneInfo) -> str:
    """With the offset the zone has at that instant, `2026-10-15T13:00:00-04:00`.

    RFC 3339 offsets are whole minutes; where a zone's is not (local mean time before 1900 or so) the same instant is
    written in UTC.
    """
    moment = _aware(instant).astimezone(zone)
    text = moment.isoformat()
    if len(text) == _WITH_OFFSET:
        return text  # neither a fraction nor seconds in the offset: nearly always
    offset = moment.utcoffset()
    if offset is None or offset % timedelta(minutes=1):
        return write_instant(instant)
    fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
    minutes = offset // timedelta(minutes=1)
    sign = "-" if minutes < 0 else "+"
    hours, minutes = divmod(abs(minutes), 60)
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}{sign}{hours:02d}:{minutes:02d}"


def _after_leap(instant: datetime) -> datetime:
    is_possible = (instant.month, instant.day) in _LEAP_DAYS and (instant.hour, instant.minute) == (23, 59)
    if not is_possible:
        raise _malformed("there is no leap second at this time")
    try:
        return instant + _SECOND
    except OverflowError:
        raise _malformed("there is no leap second at this time") from None


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise Misuse("an instant is always aware")
    return instant


def _malformed(message: str) -> Refused:
    return Refused.because("malformed_instant", message)
