"""The one spelling of a URL that is signed as `@target-uri` (RFC 9421 2.2.2, SCH-055).

Decided here, normalised: scheme and host in lower case, port 443 dropped, an empty path becomes `/`. Kept as it is:
path and query, percent signs, `+`, order, an empty query's `?`. Refused, because two parties would read them
differently: any scheme but https, user information, a fragment, IPv6 literals, a host that is not in ASCII, dot
segments, and characters that no URL may hold. Whether the host may be called is decided in `net`.
"""

from __future__ import annotations

import re

from sayso.core.refusal import Refused

__all__ = ("MAX_TARGET", "target_uri")

MAX_TARGET = 8192

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PLAIN = r"A-Za-z0-9\-._~!$&'()*+,;=:@/"
_PATH = rf"/[{_PLAIN}]*(?:%[0-9A-Fa-f]{{2}}[{_PLAIN}]*)*"
_QUERY = rf"\?[{_PLAIN}?]*(?:%[0-9A-Fa-f]{{2}}[{_PLAIN}?]*)*"
_URL = re.compile(
    rf"https://({_LABEL}(?:\.{_LABEL})*)(?::([1-9][0-9]{{0,4}}))?((?:{_PATH})?)((?:{_QUERY})?)",
    re.IGNORECASE | re.ASCII,
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


def target_uri(url: str) -> str:
    """Raises `Refused("malformed_target")`: reason scheme, user_information, fragment, host, dot_segment or syntax."""
    found = _URL.fullmatch(url) if len(url) <= MAX_TARGET else None
    if found is None:
        raise _explain(url)
    host, port, path, query = found.groups()
    if port is not None and int(port) > 65535:
        raise _malformed("syntax", "a port is at most 65535")
    if "." in path or "%2" in path:
        _refuse_dot_segments(path)
    where = "" if port in (None, "443") else f":{port}"
    return f"https://{host.lower()}{where}{path or '/'}{query}"


def _refuse_dot_segments(path: str) -> None:
    if _DOT_SEGMENT.search(path):
        raise _malformed("dot_segment", "a path with . or .. in it would be read in two ways")


def _explain(url: str) -> Refused:
    """Names the fault as well as it can be told; all of them are refused alike."""
    if not url[:8].lower().startswith("https://"):
        return _malformed("scheme", "requests are signed for https URLs only")
    authority = re.split(r"[/?#]", url[8:], maxsplit=1)[0]
    if "@" in authority:
        return _malformed("user_information", "a URL with user information is never signed")
    if "#" in url:
        return _malformed("fragment", "a fragment is never sent, so it is never signed")
    if not re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]*)?", authority):
        return _malformed("host", "a host is an ASCII name; other scripts are written as xn-- labels")
    return _malformed("syntax", "this is no URL in the form that is signed")


def _malformed(reason: str, message: str) -> Refused:
    return Refused.because("malformed_target", message, reason=reason)
