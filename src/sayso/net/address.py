"""Which URLs and which addresses may be reached when another party names them (SCH-324, SCH-325).

Pure: text in, a `Target` or a refusal out; an address in, a yes or no out. `fetch` resolves and connects, and asks here
both times: about the URL before anything is resolved, about every address a name gave before anything is dialled.

Strict on purpose: what is not the one plain spelling is refused, never repaired, so that the signer, the wire and the
verifier cannot read one URL in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import msgspec

from sayso.core.refusal import Refused

__all__ = ("HTTPS_PORT", "Target", "is_public", "public_addresses", "read_origin", "read_url")

HTTPS_PORT = 443
_LONGEST = 2048
_SHAPE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_CHARACTER = r"[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2}"
_TARGET = re.compile(rf"(?:/(?:{_CHARACTER})*)*(?:\?(?:{_CHARACTER}|[/?])+)?")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?=[/?]|$)", re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}")

# IANA special-purpose registries, plus multicast, the reserved top and retired relays. Written out, because
# `ipaddress.is_global` changes between Python releases and says yes to several of these.
_CLOSED_4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
# IPv6 the other way round: only global unicast is open, less the special blocks inside it.
_OPEN_6 = IPv6Network("2000::/3")
_CLOSED_6 = tuple(IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "3fff::/20", "2620:4f:8000::/48"))
_NAT64 = IPv6Network("64:ff9b::/96")
_LOW_32 = 0xFFFFFFFF


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An https URL taken apart. `path` is the request target as sent: path and query, byte for byte."""

    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What stands in the Host header: the port only where it is not 443."""
        return self.host if self.port == HTTPS_PORT else f"{self.host}:{self.port}"

    @property
    def uri(self) -> str:
        """The absolute URI in the one spelling that is signed: lower-case scheme and host, no default port."""
        return f"https://{self.authority}{self.path}"


def read_url(url: str) -> Target:
    """Takes apart a URL that another party supplied. Which ports are open is the caller's to check.

    Refused `url_not_allowed`, by reason: `too_long`, `malformed`, `scheme`, `userinfo`, `fragment`, `ip_literal`,
    `host`, `port`, `dot_segments`. The help never repeats the URL: it may carry a secret in its query.
    """
    if len(url) > _LONGEST:
        raise _no("too_long", f"A URL of {len(url)} characters is longer than {_LONGEST}")
    found = _SHAPE.fullmatch(url)
    if found is None:
        raise _no("malformed", "This is not an absolute URL")
    if found["scheme"].lower() != "https":
        raise _no("scheme", "Only https URLs are fetched")
    host, port = _read_authority(found["authority"])
    return Target(host=host, port=port, path=_read_path(found["rest"]))


def read_origin(origin: str) -> Target:
    """Reads a public origin such as `https://shop.example`: an https URL with nothing after the authority."""
    target = read_url(origin)
    if target.path != "/" or origin.endswith("/"):
        raise _no("malformed", "An origin ends after its host and port, without a slash")
    return target


def _read_authority(authority: str) -> tuple[str, int]:
    if "@" in authority:
        raise _no("userinfo", "A URL with a user name or password is not fetched")
    if authority.startswith("["):
        raise _no("ip_literal", "A URL names its host by a DNS name, not by an address")
    if not authority.isascii():
        # Before lower(), which would turn a Kelvin sign into a k. International names come as A-labels (xn--...).
        raise _no("host", "The host is not a full DNS name in its plain spelling")
    name, colon, port = authority.lower().partition(":")
    if _NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]):
        # Resolvers read 127.1, 0x7f000001 and 2130706433 as addresses, so a name may not end in a number at all.
        raise _no("ip_literal", "A URL names its host by a DNS name, not by an address")
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise _no("host", "The host is not a full DNS name in its plain spelling")
    if not colon:
        return name, HTTPS_PORT
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise _no("port", "The port is not a number from 1 to 65535")
    return name, int(port)


def _read_path(rest: str) -> str:
    if "#" in rest:
        raise _no("fragment", "A URL with a fragment is not fetched")
    path = rest if rest.startswith("/") else f"/{rest}"
    if not _TARGET.fullmatch(path):
        # An empty query (`/x?`) falls here too: a server cannot tell it from none, so it could not be signed.
        raise _no("malformed", "The path or query holds a character that must be percent-encoded, or an empty query")
    if _DOTS.search(path.partition("?")[0]):
        raise _no("dot_segments", "A path with . or .. segments is not fetched")
    return path


def public_addresses(answers: Iterable[str]) -> tuple[str, ...]:
    """The answers of one name resolution, if every one of them is public; one private answer spoils them all.

    Refused `url_not_allowed` with reason `address_not_public`, which does not say which address it was: whoever
    supplied the URL would learn from it what our resolver sees. An empty list is refused with reason `no_address`.
    """
    found = tuple(answers)
    if not found:
        raise _no("no_address", "The host's name has no address")
    if not all(is_public(each) for each in found):
        raise _no("address_not_public", "The host's name leads to an address that is not public")
    return found


def is_public(address: str) -> bool:
    """Whether this numeric address is one on the public internet; anything unreadable or zoned is not.

    IPv4 inside IPv6 (mapped, 6to4, Teredo, NAT64) is judged by every IPv4 address inside.
    """
    if "%" in address:
        return False
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    inside = _embedded(parsed)
    if inside:
        return all(_is_public_4(each) for each in inside)
    return parsed in _OPEN_6 and not any(parsed in block for block in _CLOSED_6)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in block for block in _CLOSED_4)


def _embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """Where a packet to this IPv6 address can end up in IPv4.

    The local-use NAT64 prefix 64:ff9b:1::/48 (RFC 8215) is not here: it lies outside 2000::/3 and stays closed.
    """
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64:
        return (IPv4Address(int(address) & _LOW_32),)
    return ()


def _no(reason: str, message: str) -> Refused:
    return Refused.because("url_not_allowed", message, reason=reason)
