"""What a key app answers to hosts: whether a mandate still stands, and units of a shared limit (spec 6.9 and 6.11).

SCH-092, SCH-094, SCH-099, SCH-107. Reading needs no proof of who asks: the URL is random, stands in one mandate, and
tells only `active` or `revoked`. What was signed and for whom is not said. A unit is claimed by a host that the mandate
names, with its published key.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.edge import Edge, read_body
from sayso.net.fetch import Fetcher
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.keyapp.counting import count_unit
from sayso.scheduling.keyapp.issued import STATUS_PATH, IssuedMandate, find_by_handle
from sayso.scheduling.terms.claim import CLAIM_TYP, ClaimAnswer, ClaimClaims, ClaimRequestClaims
from sayso.scheduling.terms.claim_checks import named_claimant, verify_claim_request
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.mandate import audience
from sayso.scheduling.terms.status import STATUS_TYP, StatusAnswer, StatusClaims
from sayso.store.unit import Store

__all__ = ("status_app",)

BODY_CAP = 8192
_PATH = re.compile(STATUS_PATH + r"(?P<handle>[A-Za-z0-9_-]{16,64})(?P<claims>/claims)?")
_NOTHING = b'{"error":"nothing here by that name"}'
_NOT_YOURS = b'{"error":"the mandate does not name that host, or the host did not sign this"}'


class KeyAppService:
    """The key app's origin: `GET /status/<handle>`, `POST /status/<handle>/claims`, and nothing else.

    `key` signs the answers, and no mandate. `documents` tells with which keys hosts sign.
    """

    def __init__(self, key: PrivateKey, store: Store, clock: Clock, documents: HostDocuments) -> None:
        self._key = key
        self._store = store
        self._clock = clock
        self._documents = documents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = _PATH.fullmatch(str(scope["path"]))
        found = None if asked is None else await find_by_handle(self._store, asked["handle"])
        if found is None or asked is None:
            await _send(send, 404, _NOTHING)
        elif asked["claims"]:
            await self._claim(found, scope["method"], receive, send)
        elif scope["method"] == "GET":
            await _send(send, 200, strictjson.encode(StatusAnswer(status=self._status(found))))
        else:
            await _send(send, 405, _NOTHING)

    def _status(self, found: IssuedMandate) -> str:
        claims = StatusClaims(
            iss=found.claims.iss,
            jti=found.claims.jti,
            mandate=found.sha256,
            state="active" if found.revoked_at is None else "revoked",
            iat=epoch(self._clock.now()),
        )
        return sign_jws(claims, self._key, typ=STATUS_TYP)

    async def _claim(self, found: IssuedMandate, method: str, receive: Receive, send: Send) -> None:
        is_shared = found.claims.constraints.shared_limit is True
        if not is_shared or method != "POST":
            await _send(send, 405, _NOTHING)
            return
        try:
            asked = await self._asked(found, await read_body(receive, BODY_CAP))
        except (Refused, PeerRefused, PeerUnreachable):
            await _send(send, 403, _NOT_YOURS)
            return
        state = await self._store.unit(lambda unit: count_unit(unit, found, asked))
        claims = ClaimClaims(
            iss=found.claims.iss,
            jti=found.claims.jti,
            mandate=found.sha256,
            host=asked.iss,
            unit=asked.unit,
            state=state,
            iat=epoch(self._clock.now()),
        )
        await _send(send, 200, strictjson.encode(ClaimAnswer(claim=sign_jws(claims, self._key, typ=CLAIM_TYP))))

    async def _asked(self, found: IssuedMandate, body: bytes) -> ClaimRequestClaims:
        """The request, signed by a host that the mandate names. Refused or unreachable otherwise."""
        host = named_claimant(body)
        if host not in audience(found.claims):
            raise refused("wrong_audience")
        now = self._clock.now()
        return await self._documents.checked(
            host, lambda document: verify_claim_request(body, document, found.sha256, now)
        )


def status_app(origin: str, key: PrivateKey, store: Store, clock: Clock, fetcher: Fetcher) -> ASGIApp:
    """The service behind its edge. Hosts that claim units are looked up through `fetcher`."""
    service = KeyAppService(key, store, clock, HostDocuments(fetcher, clock))
    return Edge(service, hosts=frozenset({origin.removeprefix("https://")}), body_cap=BODY_CAP)


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
