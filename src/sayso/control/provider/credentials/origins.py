"""Where a credential may be sent (OAP-153). Pure: a yes, or a refusal that names the origin and never the credential.

A key goes to its own row's endpoints or to where the operator's environment moved that row. An OAuth token goes only
to an origin that its row lists, that stands under its row's domain, that the token's own answer declared where the row
allows that, or that the operator names in `SAYSO_OAUTH_ORIGINS` (`ID=ORIGIN`, comma-separated).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from sayso.control.provider.catalog.addresses import is_host
from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.values import Credential, OAuthToken
from sayso.core.refusal import Refused

__all__ = ("ORIGINS_VARIABLE", "origin", "verify_destination")

ORIGINS_VARIABLE = "SAYSO_OAUTH_ORIGINS"
_PORTS = {"http": 80, "https": 443}
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))

Origin = tuple[str, str, int]


def verify_destination(row: Row, credential: Credential, base_url: str, environ: Mapping[str, str]) -> None:
    """Refused `credential_missing`, reason `origin_not_allowed`, where this credential may not go to that URL."""
    there = origin(base_url)
    if there is None or (there[0] == "http" and there[1] not in _LOCAL):
        raise _no(row, base_url, "a credential goes over https, or over plain http to this machine")
    if isinstance(credential, OAuthToken) and there not in _allowed(row, credential, environ):
        domain = row.oauth_origin.domain if row.oauth_origin else None
        if domain is None or there[0] != "https" or there[2] != _PORTS["https"] or not _is_under(there[1], domain):
            raise _no(row, base_url, "its token is for another origin")


def origin(url: str) -> Origin | None:
    """Scheme, host and port of a URL; None for one that has none, that hides a user in front of its host, or whose
    host another reader could take for a different one.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    is_plain = url.isascii() and url.isprintable() and not {" ", "\\"} & set(url) and "@" not in parts.netloc
    if scheme not in _PORTS or not is_plain or not is_host(host):
        return None
    return scheme, host, port if port is not None else _PORTS[scheme]


def _allowed(row: Row, token: OAuthToken, environ: Mapping[str, str]) -> set[Origin]:
    rule = row.oauth_origin
    listed = list(rule.exact) if rule is not None else []
    if rule is not None and rule.credential_declares_origin and token.base_url is not None:
        listed.append(token.base_url)
    for entry in environ.get(ORIGINS_VARIABLE, "").split(","):
        name, _, allowed = entry.strip().partition("=")
        if name == row.id:
            listed.append(allowed)
    return {found for each in listed if (found := origin(each)) is not None}


def _is_under(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _no(row: Row, base_url: str, why: str) -> Refused:
    there = origin(base_url)
    shown = f"{there[0]}://{there[1]}:{there[2]}" if there else "an address that is none"
    return Refused.because(
        "credential_missing",
        f"The credential of {row.id} is not sent to {shown}: {why}",
        reason="origin_not_allowed",
        help=f"If that is meant, allow it: {ORIGINS_VARIABLE}={row.id}=ORIGIN",
    )
