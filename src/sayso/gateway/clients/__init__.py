"""For programs that call a gateway: request signing, and auth objects for two HTTP clients (GTW-002, GTW-011, GTW-012).

    from sayso.gateway.clients.for_httpx2 import SigningAuth     # what the official MCP client uses
    from sayso.gateway.clients.for_httpx import SigningAuth      # what A2A's and ACP's use
    client = httpx2.AsyncClient(auth=SigningAuth(key))

`sign` gives the headers of one request to whoever uses neither.
"""

from __future__ import annotations

from sayso.gateway.clients.signing import Signer, sign

__all__ = ("Signer", "sign")
