"""Which version a request speaks: the header `A2A-Version`, or else the query parameter; neither means 0.3.

Only Major.Minor counts (A2A 1.0 section 3.6.1). Two values are refused, never guessed.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.a2a.codes import invalid_request, version_not_supported
from sayso.gateway.doors.a2a.values import Version

__all__ = ("PREFIX", "read_path", "read_query", "read_version")

PREFIX = "/api/protocols/a2a"
_HEADER = b"a2a-version"
_SHAPE = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})(?:\.[0-9]{1,3})?")
_MOST_PARAMETERS = 32


def read_version(crossing: Crossing) -> Version:
    """Refused: `version_not_supported`; `invalid_request` where two are given."""
    headers = [value for name, value in crossing.headers if name == _HEADER]
    if len(headers) > 1:
        raise invalid_request("A2A-Version stands more than once", "A2A-Version")
    queried = read_query(crossing).get("A2A-Version")
    said = headers[0].decode("latin-1").strip(" \t") if headers else queried
    if headers and queried is not None and queried != said:
        raise invalid_request("The header and the query name two versions", "A2A-Version")
    if not said:
        return "0.3"
    shape = _SHAPE.fullmatch(said)
    if shape is None or shape[1] not in ("0.3", "1.0"):
        raise version_not_supported("This version of A2A is not spoken here")
    return "1.0" if shape[1] == "1.0" else "0.3"


def read_path(crossing: Crossing) -> str:
    """The path below the door's prefix, with its percent signs as they came."""
    path = crossing.target.partition(b"?")[0].decode("latin-1")
    return path.removeprefix(PREFIX)


def read_query(crossing: Crossing) -> dict[str, str]:
    """The query's parameters. Refused: `invalid_request` for one that stands twice, or too many."""
    raw = crossing.target.partition(b"?")[2]
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS, errors="strict")
    except ValueError:
        raise invalid_request("The query cannot be read", "query") from None
    if len({name for name, _ in pairs}) != len(pairs):
        raise invalid_request("A parameter stands twice", "query")
    return dict(pairs)
