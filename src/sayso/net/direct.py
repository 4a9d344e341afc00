"""A client of HTTP for an address that its person chose: a vendor's, a provider service's.

What another party supplies goes through `net.fetch` instead.
"""

from __future__ import annotations

import ssl

import httpx2

from sayso.net.trust import trusted_certificates

__all__ = ("direct_client",)

_NO_POOL = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
"""A stream holds its connection for minutes, so a bound here would fail whoever comes next, a cancel too; whoever
serves has one of its own.
"""


def direct_client(timeout: httpx2.Timeout | float, *, tls: ssl.SSLContext | None = None) -> httpx2.AsyncClient:
    """No redirect is followed, for a credential would go along; no proxy and no credential comes from the environment.

    `timeout` is in seconds. The first one of a process loads the certificates: it is made at first use.
    """
    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        timeout=timeout,
        limits=_NO_POOL,
        verify=tls or trusted_certificates(),
    )
