"""Base URLs: what one may look like, and where a version goes before a wire's path (OAP-144, OAP-148). Pure."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from sayso.control.provider.catalog.rows import WireName
from sayso.core.refusal import Refused

__all__ = ("is_host", "is_versioned", "read_base_url", "versioned")

_VERSION = re.compile(r"v[0-9]+[a-z0-9]*")
_PREFIXES: dict[WireName, str] = {"google-generate-content": "/v1beta"}
_PREFIX = "/v1"
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_WIRE_PATHS = ("/chat/completions", "/messages", "/responses")


def read_base_url(text: str) -> str:
    """A base URL that a person wrote, without slashes at its end.

    Refused `config_invalid`, reason `base_url`: no http or https URL with a host, one with a user, a query or a
    fragment, one that goes on into a wire's own path, or plain http beyond this machine. The refusal never repeats it:
    what was written may hold a secret.
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise _bad("this is no URL") from None
    is_plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
    if parts.scheme not in ("http", "https") or not host or not is_plain:
        raise _bad("a base URL begins with http:// or https:// and a host")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise _bad("a base URL has no user, query or fragment")
    if not is_host(host):
        raise _bad("its host is neither a name nor an address; variables are not filled in here")
    if parts.scheme == "http" and host not in _LOCAL:
        raise _bad("plain http goes to this machine only")
    base_url = text.rstrip("/")
    for path in _WIRE_PATHS:
        if base_url.endswith(path):
            raise _bad(f"a base URL ends before {path}, which is added to it")
    return base_url


def is_host(host: str) -> bool:
    """Whether a host, in lower case, is a name or an address that every reader of URLs reads alike."""
    if ":" not in host:
        return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in host.split("."))
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def is_versioned(base_url: str, wire: WireName) -> bool:
    """Whether a base URL already ends where the wire's own path begins, as people write them: any path at all for the
    OpenAI wires; for the others a path whose last segment is a version.
    """
    path = urlsplit(base_url).path.strip("/")
    if wire.startswith("openai-"):
        return bool(path)
    return bool(_VERSION.fullmatch(path.rpartition("/")[2]))


def versioned(base_url: str, wire: WireName, *, carries_version: bool) -> str:
    """The base URL behind which a wire's path comes at once: `/chat/completions`, `/messages`, `/models/...`."""
    return base_url if carries_version else f"{base_url}{_PREFIXES.get(wire, _PREFIX)}"


def _bad(message: str) -> Refused:
    return Refused.because("config_invalid", message, reason="base_url", place="$.base_url")
