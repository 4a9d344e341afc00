"""The mandates a key app signed, and taking them back (spec section 6.9; SCH-094, SCH-107).

A mandate can be taken back only where hosts can ask about it: with a public origin each gets a status URL of its own
there, without one none does, and its text says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select, update

from sayso.core.ids import Ids
from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused
from sayso.proof.keys import PublicKey
from sayso.scheduling.terms.identity import Jwk, jwk_of
from sayso.scheduling.terms.mandate import MandateClaims
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.store.statements import insert, statement
from sayso.store.tables import from_micros, micros
from sayso.store.tables.scheduling_keyapp import keyapp_mandate
from sayso.store.unit import Store, Unit

__all__ = ("STATUS_PATH", "Issued", "IssuedMandate", "StatusPlace", "find_by_handle")

STATUS_PATH = "/status/"

_m = keyapp_mandate.c
_columns = (_m.jti, _m.token, _m.sha256, _m.handle, _m.signed_us, _m.expires_us, _m.revoked_us)
_ADD = statement(insert(keyapp_mandate))
_OWN = statement(select(*_columns).where(_m.owner == bindparam("of_owner")).order_by(_m.signed_us, _m.jti))
_BY_HANDLE = statement(select(*_columns).where(_m.handle == bindparam("of_handle")))
_REVOKE = statement(
    update(keyapp_mandate).where(
        _m.owner == bindparam("of_owner"), _m.jti == bindparam("of_jti"), _m.revoked_us.is_(None)
    ),
    "revoked_us",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPlace:
    """Where hosts ask: an https origin, and the key that signs what they are told."""

    origin: str
    key: PublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedMandate:
    """One signed mandate. `handle` is None where it cannot be taken back."""

    claims: MandateClaims
    sha256: str
    handle: str | None
    signed_at: datetime
    revoked_at: datetime | None

    @property
    def expires(self) -> datetime:
        return from_epoch(self.claims.exp)


class Issued:
    """What one person's key app signed. `owner` is the thumbprint of the person's key."""

    def __init__(self, store: Store, ids: Ids, owner: str, place: StatusPlace | None = None) -> None:
        self._store = store
        self._ids = ids
        self._owner = owner
        self._place = place

    @property
    def is_revocable(self) -> bool:
        """Whether what is signed now can be taken back."""
        return self._place is not None

    def new_status(self) -> tuple[str, Jwk] | None:
        """A URL for one more mandate, and the key that answers there."""
        if self._place is None:
            return None
        return f"{self._place.origin}{STATUS_PATH}{self._ids.token(24)}", jwk_of(self._place.key)

    async def keep(self, token: str) -> None:
        """Keeps what was just signed: until then its status URL answers nothing, and hosts refuse it."""
        found = verify_mandate(token)
        url = found.claims.status

        def body(unit: Unit) -> None:
            unit.execute(
                _ADD,
                {
                    "owner": self._owner,
                    "jti": found.claims.jti,
                    "token": token,
                    "sha256": found.sha256,
                    "handle": None if url is None else url.rpartition("/")[2],
                    "signed_us": micros(unit.now),
                    "expires_us": micros(from_epoch(found.claims.exp)),
                    "revoked_us": None,
                },
            )

        await self._store.unit(body)

    async def mandates(self) -> Sequence[IssuedMandate]:
        """All of them, oldest first."""
        rows = await self._store.reading(lambda view: view.all(_OWN, {"of_owner": self._owner}))
        return [_read(row) for row in rows]

    async def revoke(self, jti: str) -> IssuedMandate:
        """Takes one back; hosts learn it within thirty seconds. Again changes nothing.

        Refused: `no_such_mandate`, `not_revocable`.
        """
        found = next((each for each in await self.mandates() if each.claims.jti == jti), None)
        if found is None:
            raise Refused.because(
                "no_such_mandate", f"{jti[:80]} was not signed here.", help="See them: sayso keyapp mandates"
            )
        if found.handle is None:
            raise Refused.because(
                "not_revocable",
                "That permission has no address where a host could ask, so it ends only by itself.",
                help=f"It ends at {found.expires.isoformat()}. Cancel what was booked under it instead.",
            )
        await self._store.unit(
            lambda unit: unit.execute(_REVOKE, {"of_owner": self._owner, "of_jti": jti, "revoked_us": micros(unit.now)})
        )
        return next(each for each in await self.mandates() if each.claims.jti == jti)


async def find_by_handle(store: Store, handle: str) -> IssuedMandate | None:
    """The mandate whose status URL ends so."""
    row = await store.reading(lambda view: view.one(_BY_HANDLE, {"of_handle": handle}))
    return None if row is None else _read(row)


def _read(row: Sequence[object]) -> IssuedMandate:
    _, token, sha256, handle, signed_us, _, revoked_us = row
    return IssuedMandate(
        claims=verify_mandate(str(token)).claims,
        sha256=str(sha256),
        handle=None if handle is None else str(handle),
        signed_at=from_micros(int(str(signed_us))),
        revoked_at=None if revoked_us is None else from_micros(int(str(revoked_us))),
    )
