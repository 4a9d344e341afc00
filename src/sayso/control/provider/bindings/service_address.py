"""Where a remote provider service is, and why its transport can be trusted (OAP-138).

    loopback      http, to this machine alone
    tls           https, its certificate checked against its name
    mesh_proxy    http to anywhere: the operator says that a proxy here encrypts what leaves

Both variables or neither, and a mode that fits the address: anything else is refused, because whoever set half of it
meant something.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Literal, cast, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec

from sayso.core.refusal import Refused

__all__ = (
    "PATH",
    "SECURITY_VARIABLE",
    "URL_VARIABLE",
    "Security",
    "ServiceAddress",
    "is_literal_loopback",
    "read_service",
    "service_address",
)

PATH = "/oap/v0.1/provider"
"""Where a provider service takes its one kind of request."""

URL_VARIABLE = "SAYSO_PROVIDER_SERVICE_URL"
SECURITY_VARIABLE = "SAYSO_PROVIDER_SERVICE_SECURITY"
Security = Literal["loopback", "tls", "mesh_proxy"]


class ServiceAddress(msgspec.Struct, frozen=True, kw_only=True):
    """`url` is the whole address that envelopes are posted to."""

    url: str
    security: Security

    @property
    def origin(self) -> str:
        """What people call the service."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


def is_literal_loopback(host: str) -> bool:
    """Whether a host is written as a loopback address; a name, `localhost` too, is whatever a resolver says."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_service(environ: Mapping[str, str]) -> ServiceAddress | None:
    """What the environment says; None where neither variable is set. Refused `config_invalid`."""
    url, security = environ.get(URL_VARIABLE, ""), environ.get(SECURITY_VARIABLE, "")
    if not url and not security:
        return None
    if not url or not security:
        missing, other = (URL_VARIABLE, SECURITY_VARIABLE) if not url else (SECURITY_VARIABLE, URL_VARIABLE)
        raise _no(f"{other} is set without {missing}", missing, "Set both, or neither.")
    return service_address(url, security)


def service_address(url: str, security: str) -> ServiceAddress:
    """Refused `config_invalid`: no such mode, no such address, or two that contradict each other."""
    if security not in get_args(Security):
        known = ", ".join(get_args(Security))
        raise _no(f"{security[:50]!r} is no mode", SECURITY_VARIABLE, f"The modes are {known}.")
    parts = _split(url)
    wanted = "https" if security == "tls" else "http"
    if parts.scheme != wanted:
        raise _no(f"{security} goes with an {wanted} address", URL_VARIABLE, "Change the address or the mode.")
    host = parts.hostname or ""
    if security == "loopback" and host != "localhost" and not is_literal_loopback(host):
        raise _no(f"{host} is not this machine", URL_VARIABLE, "Beyond this machine, use tls with an https address.")
    path = parts.path.rstrip("/")
    whole = path if path.endswith(PATH) else f"{path}{PATH}"
    return ServiceAddress(url=f"{parts.scheme}://{parts.netloc}{whole}", security=cast("Security", security))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise _no("this is no address", URL_VARIABLE) from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise _no("this is no http or https address", URL_VARIABLE)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise _no("the address of a service has no user, query or fragment", URL_VARIABLE)
    return parts


def _no(message: str, place: str, help_: str | None = None) -> Refused:
    return Refused.because("config_invalid", message, reason="provider_service", place=place, help=help_)
