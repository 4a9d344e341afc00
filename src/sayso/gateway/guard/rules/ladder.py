"""The order of admission, one rung after another; the first that refuses answers (GTW-013).

`LADDER` is every rung from the socket to the act, as the documents print it. Those between `key` and `scope` are judged
here, over one row that the store read (`Standing`) and the request itself (`Knock`): once when it comes, and the
decisive ones again in the unit of work that answers. The rungs above them are `net.edge`'s and the body's reader's, the
ones below the door's, the constitution's and the unit's.

A cheap rung stands before a dear one, and one that a stranger can fail before one that only the true key's holder can:
nobody else can bring an agent nearer to its suspension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256

from msgspec.structs import replace

from sayso.core.refusal import Refused
from sayso.gateway.crossing import Crossing, Denial
from sayso.gateway.guard.rules.codes import find_code, refusal
from sayso.gateway.guard.rules.headers import Presented, is_signed
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.guard.rules.standing import SUSPENDED, Standing, is_coarse_spent, judge_rates, read_scopes
from sayso.proof.requestmac import read_mac, verify_request_mac, verify_request_mac_v2

__all__ = ("ADMISSION", "AT_REFUSAL", "DECISIVE", "LADDER", "Knock", "Rung", "denied", "judge", "judge_class_rate",
           "read_knock")  # fmt: skip

_TICK = timedelta(microseconds=1)
_DIGITS = 13
_MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Knock:
    """A request as it is judged: what it presents, and what is reckoned from that once.

    `signature` is the 32 bytes it claims (empty for a method that is not signed, and where it has no such form),
    `fingerprint` names the signature as it was sent, `keep_until_us` is when its replay can do nothing any more.
    """

    crossing: Crossing
    presented: Presented
    key_sha256: bytes
    is_signed: bool
    signature: bytes
    fingerprint: bytes
    timestamp_us: int | None


def read_knock(crossing: Crossing, presented: Presented) -> Knock:
    """A request made ready to be judged; nothing of it is believed yet."""
    signed = is_signed(crossing.method)
    signature = (read_mac(presented.signature) if presented.signature else None) or b""
    stamp = presented.timestamp
    return Knock(
        crossing,
        presented,
        sha256(presented.key or b"").digest(),
        signed,
        signature if signed else b"",
        sha256(presented.signature or b"").digest(),
        int(stamp) * _MILLISECOND if stamp is not None and len(stamp) == _DIGITS and stamp.isdigit() else None,
    )


Judge = Callable[[Knock, Standing, int, Limits], Denial | None]


@dataclass(frozen=True, slots=True)
class Rung:
    """One step. `codes` are what it refuses with; `judge` is set where it is judged in here."""

    name: str
    says: str
    codes: tuple[str, ...]
    judge: Judge | None = None


def denied(code: str, message: str | None = None, *, retry_after: int | None = None, **more: str) -> Denial:
    """A denial under a declared code."""
    return Denial(refusal=refusal(code, message, **more), status=find_code(code).status, retry_after=retry_after)


def _key(knock: Knock, standing: Standing, _now_us: int, _limits: Limits) -> Denial | None:
    if knock.presented.key is None:
        return denied("missing_key", place="X-OSz-Agent-Key")
    return denied("unknown_key", place="X-OSz-Agent-Key") if standing.revoked_us is not None else None


def _suspended(_knock: Knock, standing: Standing, _now_us: int, _limits: Limits) -> Denial | None:
    return denied("agent_suspended") if standing.state == SUSPENDED else None


def _coarse(_knock: Knock, standing: Standing, now_us: int, limits: Limits) -> Denial | None:
    if not is_coarse_spent(limits, standing, now_us):
        return None
    return judge_class_rate(standing, now_us, limits, 1)


def _timestamp(knock: Knock, _standing: Standing, now_us: int, limits: Limits) -> Denial | None:
    if not knock.is_signed:
        return None
    stamp = knock.presented.timestamp
    if stamp is None or knock.presented.signature is None:
        place = "X-OSz-Timestamp" if stamp is None else "X-OSz-Signature"
        return denied("missing_signature", place=place)
    if knock.timestamp_us is None:
        looks_like_seconds = stamp.isdigit() and len(stamp) == 10  # as seconds since 1970 are written
        return denied(
            "malformed_timestamp",
            "X-OSz-Timestamp is in seconds; it takes milliseconds" if looks_like_seconds else None,
            place="X-OSz-Timestamp",
        )
    behind = now_us - knock.timestamp_us
    if abs(behind) <= limits.signature_age // _TICK:
        return None
    seconds = limits.signature_age // timedelta(seconds=1)
    return denied(
        "stale_timestamp",
        f"The timestamp is more than {seconds} s {'behind' if behind > 0 else 'ahead of'} the server's clock",
        reason="past" if behind > 0 else "future",
        place="X-OSz-Timestamp",
    )


def _signature(knock: Knock, _standing: Standing, _now_us: int, _limits: Limits) -> Denial | None:
    if not knock.is_signed:
        return None
    if not knock.signature:
        return denied("malformed_signature", place="X-OSz-Signature")
    crossing, presented = knock.crossing, knock.presented
    key, stamp = presented.key or b"", presented.timestamp or b""
    try:
        verify_request_mac(key, stamp, crossing.body, knock.signature)
    except Refused:
        return denied("bad_signature", place="X-OSz-Signature")
    if presented.signature_v2 is None:
        return None
    second = read_mac(presented.signature_v2)
    if second is None:
        return denied("malformed_signature", place="X-OSz-Signature-V2")
    try:
        verify_request_mac_v2(key, crossing.method, crossing.target, stamp, crossing.body, second)
    except Refused:
        return denied("bad_signature", place="X-OSz-Signature-V2")
    return None


def _replay(_knock: Knock, standing: Standing, _now_us: int, _limits: Limits) -> Denial | None:
    return denied("replayed_signature", place="X-OSz-Signature") if standing.spent_us is not None else None


def _scope(knock: Knock, standing: Standing, _now_us: int, _limits: Limits) -> Denial | None:
    if knock.crossing.door in read_scopes(standing.scopes):
        return None
    return denied("missing_scope", "This key does not open this door", place=knock.crossing.door)


def judge_class_rate(standing: Standing, now_us: int, limits: Limits, charges: int) -> Denial | None:
    """All three limiters at once, before an act is run; the unit that answers judges them again and charges them.

    The denial says how long to wait, its refusal too.
    """
    judged = judge_rates(limits, standing, now_us, charges)
    if not isinstance(judged, int):
        return None
    denial = denied("too_many_requests", retry_after=judged)
    return replace(denial, refusal=replace(denial.refusal, details={"retry_after": judged}))


ADMISSION: Sequence[Rung] = (
    Rung("key", "a key that was issued and not revoked", ("missing_key", "unknown_key", "too_many_attempts"), _key),
    Rung("suspended", "an agent that is not suspended", ("agent_suspended",), _suspended),
    Rung("coarse", "10 requests a second of any kind", ("too_many_requests",), _coarse),
    Rung(
        "timestamp",
        "13 digits of milliseconds, within 60 s of the clock either way (not for GET and HEAD)",
        ("missing_signature", "malformed_timestamp", "stale_timestamp"),
        _timestamp,
    ),
    Rung(
        "signature",
        "V1, and V2 where it is given (not for GET and HEAD)",
        ("malformed_signature", "bad_signature"),
        _signature,
    ),
    Rung("replay", "a signature that was not used before", ("replayed_signature",), _replay),
    Rung("scope", "a key that opens this door", ("missing_scope",), _scope),
)
"""What is judged when a request comes, on one snapshot of the store."""

LADDER: Sequence[Rung] = (
    Rung("origin", "no Origin: a web page is not an agent", ("cross_origin_request",)),
    Rung("host", "a Host that is ours", ("foreign_host",)),
    Rung("headers", "each header once where it may stand once, in ASCII, one framing",
         ("repeated_header", "malformed_header", "malformed_length")),
    Rung("encoding", "no Content-Encoding: the signature covers the bytes as sent", ("content_encoding_refused",)),
    Rung("size", "8,192 bytes, counted as they come", ("body_too_large",)),
    *ADMISSION,
    Rung("parse", "a message of the door's protocol, 12 levels at most", ("malformed_json", "schema_invalid",
                                                                         "payload_limits")),
    Rung("payload", "texts of 2,000 characters and 4 levels in what is handed to an act", ("payload_limits",)),
    Rung("room", "room in the rate before an act runs: a burst in one request, a minute's worth at once",
         ("too_many_requests", "too_many_calls", "unavailable")),
    Rung("act", "an act that is classified, in the key's scope, allowed by the constitution",
         ("unclassified_act", "missing_scope", "refused_by_constitution")),
    Rung("again", "key, suspension, coarse rate and replay, judged again in the unit that answers",
         ("unknown_key", "agent_suspended", "too_many_requests", "replayed_signature", "took_too_long")),
    Rung("rate", "20 calls a minute and 3 a second; handshakes and notifications are not charged",
         ("too_many_requests",)),
    Rung("receipt", "the signature is spent, proposals are filed and the receipt is durable; then the answer is sent",
         ()),
)  # fmt: skip
"""Every rung, from the socket to the act."""

_BY_NAME = {rung.name: rung for rung in ADMISSION}
AT_REFUSAL: Sequence[Rung] = tuple(_BY_NAME[name] for name in ("key", "suspended", "coarse"))
"""What comes before any other refusal when it is written down."""
DECISIVE: Sequence[Rung] = (*AT_REFUSAL, _BY_NAME["replay"])
"""What is judged again in the unit of work that answers, where nothing can change any more."""


def judge(rungs: Sequence[Rung], knock: Knock, standing: Standing, now_us: int, limits: Limits) -> Denial | None:
    """The first rung's denial, or None where all let the request pass."""
    for rung in rungs:
        if rung.judge is not None:
            denial = rung.judge(knock, standing, now_us, limits)
            if denial is not None:
                return denial
    return None
