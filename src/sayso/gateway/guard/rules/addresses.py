"""Who counts as one where nobody has shown a key (GTW-013, GTW-020)."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

__all__ = ("network_of",)


def network_of(peer: str) -> str:
    """An address as it is limited: IPv6 by its first 64 bits, which one client has to itself."""
    try:
        address = ip_address(peer)
    except ValueError:
        return "none"
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
