"""How a run of an act can end, in words that people and agents both read (GTW-033).

A failure whose `reason` is `unknown` is one nobody can tell the effect of: the act had begun, and whether it got as far
as its effect is not known here. It is never run again by itself; a person looks.
"""

from __future__ import annotations

import msgspec

from sayso.core.refusal import PeerUnreachable, Refusal
from sayso.governance.kernel import PEER_UNREACHABLE

__all__ = ("APPROVAL_MISMATCH", "INTERNAL_ERROR", "OUTCOME_UNKNOWN", "SAID_NO", "TIME_LIMIT", "UNKNOWN", "broken",
           "interrupted", "mismatch", "out_of_time", "said_no", "unknowable", "unreachable")  # fmt: skip

OUTCOME_UNKNOWN = "outcome_unknown"
TIME_LIMIT = "time_limit"
APPROVAL_MISMATCH = "approval_mismatch"
INTERNAL_ERROR = "internal_error"
SAID_NO = "consent_refused"
UNKNOWN = "unknown"

_LOOK = "Look at the other side whether it took effect, and propose it again only if it did not."


def interrupted(title: str) -> Refusal:
    """The process died between intent and outcome, and the act must not run twice; or it died there too often."""
    return Refusal(
        code=OUTCOME_UNKNOWN,
        message=f"{title} was interrupted after it began, and nobody can tell whether it took effect",
        reason=UNKNOWN,
        help=_LOOK,
    )


def out_of_time(title: str, seconds: int) -> Refusal:
    """The act ran longer than it may (Article VII) and was stopped."""
    return Refusal(
        code=TIME_LIMIT,
        message=f"{title} took longer than {seconds} s and was stopped",
        reason=UNKNOWN,
        help=_LOOK,
        details={"article": "VII"},
    )


def broken(title: str) -> Refusal:
    """The act's own code failed; the operator sees why, the agent does not."""
    return Refusal(
        code=INTERNAL_ERROR, message=f"{title} failed inside this house", reason=UNKNOWN, help=_LOOK
    )  # fmt: skip


def mismatch(title: str) -> Refusal:
    """What is stored is not what was approved."""
    return Refusal(
        code=APPROVAL_MISMATCH,
        message=f"What is stored for {title} is not what was approved",
        help="It was changed after the decision. Verify the receipts, and propose it again.",
        details={"article": "IX"},
    )


def unreachable(peer: PeerUnreachable) -> Refusal:
    """Another party did not answer, before anything was begun."""
    return Refusal(code=PEER_UNREACHABLE, message=str(peer), help="Propose it again later.", details={"by": peer.peer})


def said_no(title: str) -> Refusal:
    """The person's answer to the question asked midway was a no."""
    return Refusal(code=SAID_NO, message=f"The person said no to what {title} still needed")


def unknowable(refusal: Refusal) -> Refusal:
    """The same refusal, of an act that an earlier attempt had begun: its effect may be there all the same."""
    return msgspec.structs.replace(refusal, reason=UNKNOWN, help=_LOOK)
