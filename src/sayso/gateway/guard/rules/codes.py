"""Every code a door answers with: its HTTP status, its JSON-RPC number, whether it counts as a violation (GTW-022).

JSON-RPC numbers are the status followed by two digits, far outside the range that JSON-RPC, MCP and A2A keep for
themselves (GTW-021a). What counts is only what the true key's holder can cause (GTW-013). The specification's table is
printed from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from sayso.core.refusal import Misuse, Refusal

__all__ = ("CODES", "UNLISTED", "Code", "declare", "find_code", "refusal")


class Code(msgspec.Struct, frozen=True):
    """One row. `title` says what went wrong, `help` what would help; both are what callers read by default."""

    code: str
    status: int
    rpc: int
    title: str
    help: str
    counts: bool = False


_codes: dict[str, Code] = {}
CODES: Mapping[str, Code] = MappingProxyType(_codes)
"""Every declared code."""

UNLISTED = Code("", 400, 40000, "The request was refused", "")
"""How a code that an act or a peer brought along is answered: the caller's to correct, and never counted."""


def declare(code: Code) -> Code:
    """Adds a row at import. `Misuse`: the code or its number is taken, or the number does not begin with the status."""
    if code.code in _codes or any(code.rpc == each.rpc for each in _codes.values()):
        raise Misuse(f"the code {code.code} ({code.rpc}) is declared twice")
    if code.rpc // 100 != code.status:
        raise Misuse(f"the number of {code.code} does not begin with its status")
    _codes[code.code] = code
    return code


def find_code(code: str) -> Code:
    """The row of a code, or `UNLISTED`."""
    return _codes.get(code, UNLISTED)


def refusal(
    code: str, message: str | None = None, *, reason: str | None = None, place: str | None = None, **details: object
) -> Refusal:
    """A refusal with the code's own words where the caller has none."""
    row = _codes[code]
    return Refusal(
        code=code, message=message or row.title, reason=reason, place=place, help=row.help or None, details=details
    )


def _plain(*rows: tuple[str, int, int, str, str]) -> None:
    for code, status, number, title, help_ in rows:
        declare(Code(code, status, status * 100 + number, title, help_))


def _counted(*rows: tuple[str, int, int, str, str]) -> None:
    for code, status, number, title, help_ in rows:
        declare(Code(code, status, status * 100 + number, title, help_, counts=True))


_plain(
    ("repeated_header", 400, 1, "A header that may stand once stands twice", "Send it once."),
    ("malformed_header", 400, 2, "A header holds something it cannot hold", "Send visible ASCII characters only."),
    (
        "malformed_timestamp", 400, 3, "X-OSz-Timestamp is not 13 ASCII digits",
        "Send milliseconds since 1970, in digits alone.",
    ),
    ("malformed_length", 400, 4, "The request does not say plainly where its body ends", "Send one framing."),
    ("content_encoding_refused", 400, 5, "The body is packed", "Send it as it is: the signature covers its bytes."),
    ("malformed_json", 400, 6, "The body is not JSON as it is read here", "Send one JSON document in UTF-8."),
    ("schema_invalid", 400, 7, "A member has the wrong shape", "Compare with the schema of the operation."),
    ("too_many_calls", 400, 8, "One request asks for more calls than a burst holds", "Send them in several."),
    ("malformed_request", 400, 9, "The request is not one that this door reads", "Compare with the protocol."),
    ("not_a_disclosure", 400, 10, "That changes something", "Propose it."),
    ("not_an_execution", 400, 11, "That changes nothing", "Call it."),
    ("already_decided", 400, 12, "That was decided already", "Read it again."),
    ("proposal_expired", 400, 13, "Nobody decided in time", "Propose it again."),
    ("proposal_moved", 400, 14, "The proposal has moved on", "Read it again."),
    ("nothing_asked", 400, 15, "Nothing was asked there", "Read it again."),
    ("not_canonical", 400, 16, "The arguments hold a number that has no exact form", "Send integers within 2^53."),
    ("missing_key", 401, 1, "X-OSz-Agent-Key is missing", "Send the key that the owner issued."),
    ("unknown_key", 401, 2, "That key is not known here", "Ask the owner for a key."),
    ("agent_suspended", 403, 1, "This agent is suspended", "Ask the owner to reissue its key."),
    ("missing_signature", 403, 5, "The request is not signed", "Send X-OSz-Timestamp and X-OSz-Signature."),
    ("malformed_signature", 403, 6, "The signature is not 64 hex digits", "Send the HMAC-SHA256 in hex."),
    ("missing_scope", 403, 7, "This key may not do that", "Ask the owner for the scope."),
    ("refused_by_constitution", 403, 8, "The constitution forbids that", "The article says why."),
    ("cross_origin_request", 403, 9, "Requests that a web page makes are not served here", "Send no Origin."),
    ("foreign_host", 403, 10, "This server does not answer to that Host", "Use its public name."),
    ("consent_required", 403, 11, "The person's agreement is missing", "Ask the person."),
    ("unclassified_act", 404, 1, "There is no such operation", "List the operations."),
    ("unknown_proposal", 404, 2, "There is no such proposal of yours", "Look at the id."),
    ("run_not_found_for_agent", 404, 3, "There is no such run of yours", "Look at the id."),
    ("no_such_path", 404, 4, "There is nothing at that address", "Compare with the protocol."),
    ("unknown_entity", 404, 5, "There is no such thing here", "Look at the name."),
    ("method_not_allowed", 405, 1, "That address does not take this method", "Compare with the protocol."),
    ("body_too_large", 413, 1, "The body is too large", "Send less at once."),
    ("too_many_requests", 429, 1, "Too many requests", "Wait as long as Retry-After says."),
    ("too_many_attempts", 429, 2, "Too many attempts without a known key", "Wait as long as Retry-After says."),
    ("internal_error", 500, 1, "Something went wrong on our side", "Try again later."),
    ("unavailable", 503, 1, "The house cannot take this just now", "Try again later."),
    ("took_too_long", 503, 2, "The answer took too long to find, and nothing was changed", "Try again."),
)  # fmt: skip
_counted(
    ("bad_signature", 403, 2, "The signature does not fit this request and key", "Sign the bytes that are sent."),
    (
        "stale_timestamp", 403, 3, "The timestamp is too far from the server's clock",
        "Set the clock, and sign each request when it is sent.",
    ),
    (
        "replayed_signature", 403, 4, "This signature was used before",
        "Sign each request anew, with a timestamp of its own.",
    ),
    ("payload_limits", 413, 2, "The payload passes a limit", "Send shorter texts in fewer levels."),
)  # fmt: skip
