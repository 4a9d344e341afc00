"""The key app: shows a person what a document means, and signs when they say yes (spec section 15; SCH-104 to SCH-107).

It alone reaches the principal's key. It takes documents and nothing else: there is no call that signs a hash or words,
and what is signed is what was presented, kept here in between, so that no caller can swap the text or the terms. It
asks the host's own domain who the host is; when that cannot be learned it still shows the text, which then says that
the identity is not verified, and it does not sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Protocol, TypeVar

import msgspec

from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.instants import epoch
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.keyapp.documents import (
    Prepared,
    limits_mandate,
    management_mandate,
    named_host,
    offer_mandate,
    with_attestations,
)
from sayso.scheduling.keyapp.invitations import INVITED, inviting_host, read_invited
from sayso.scheduling.keyapp.own_calendar import KINDS, OwnDocument, named_calendar, read_own, sign_own
from sayso.scheduling.keyapp.sharing import SHARED, read_shared
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.consent_text import Identity
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import Jwk, jwk_of, principal_urn
from sayso.scheduling.terms.mandate import MANDATE_TYP, Bound, ConsentMode, ConsentRecord, MandateClaims

__all__ = ("Documents", "KeyApp", "Keys", "Shown")

_LONGEST_TEXT = 2000
T = TypeVar("T")


class Keys(Protocol):
    """The part of the vault that is needed here."""

    def public(self, name: str) -> PublicKey:
        """The public half, locked or not."""
        ...

    def signer(self, name: str) -> PrivateKey:
        """The key itself. Refused: `locked`."""
        ...


class Documents(Protocol):
    """Where the verified documents of hosts come from."""

    async def checked(self, address: str, check: Callable[[Discovery], T]) -> T:
        """What `check` makes of the host's document."""
        ...


class Register(Protocol):
    """Where a key app keeps what it signed, and gets the status URLs it puts in (`issued`)."""

    @property
    def is_revocable(self) -> bool:
        """Whether what is signed now can be taken back."""
        ...

    def new_status(self) -> tuple[str, Jwk] | None:
        """A status URL and the key that answers there; None without a public origin."""
        ...

    async def keep(self, token: str) -> None:
        """Keeps a mandate that was just signed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a person is shown. `text_sha256` is over the text's UTF-8, `document_sha256` over the document's bytes."""

    number: int
    kind: str
    text: str
    text_sha256: str
    document_sha256: str
    identity: Identity


class KeyApp:
    """One person's key app, for as long as one surface is open.

    `name` is the principal key's name in the vault; `agent` the thumbprint of the one agent key it signs for, so that
    a document slipped in by another program never binds the person to a stranger's key. `attestations` are the tokens
    that others gave this person; each host gets those it counts (SCH-282). `documents` is where hosts' documents come
    from where that is not the network: at the calendar's own desk.
    """

    def __init__(
        self,
        keys: Keys,
        fetcher: Fetcher,
        clock: Clock,
        ids: Ids,
        *,
        name: str,
        agent: str,
        attestations: Sequence[str] = (),
        issued: Register | None = None,
        documents: Documents | None = None,
    ) -> None:
        self._keys = keys
        self._documents: Documents = documents or HostDocuments(fetcher, clock)
        self._clock = clock
        self._ids = ids
        self._name = name
        self._agent = agent
        self._attestations = tuple(attestations)
        self._issued = issued
        self._numbers = count(1)
        self._presented: dict[int, Prepared | OwnDocument] = {}

    @property
    def principal(self) -> str:
        """The person's id: what stands in `iss` of everything signed here."""
        return principal_urn(self._keys.public(self._name))

    async def present(self, kind: str, document: bytes) -> Shown:
        """The text of a question, written from the document's bytes. `kind` is limits, offer or management; at one's
        own calendar rule or answer; of somebody else's booking invitation, coming or not_coming.

        Refused: document_invalid, not_ours, unknown_key; for all but limits and offer also unverified.
        """
        prepared: Prepared | OwnDocument
        if kind in KINDS:
            prepared = await self._prepare_own(kind, document)
        elif kind == SHARED:
            prepared = await read_shared(self._document, document, self._clock.now(), revocable=self._is_revocable)
        elif kind in INVITED:
            prepared = await self._prepare(kind, document, inviting_host(kind, document))
        else:
            prepared = await self._prepare(kind, document, named_host(kind, document))
        if prepared.agent not in (self._agent, None):
            raise refused("not_ours", "The document is another agent's.")
        if len(prepared.text) > _LONGEST_TEXT:
            raise refused("document_invalid", "The terms are too long to be shown whole.")
        number = next(self._numbers)
        self._presented[number] = prepared
        return Shown(
            number=number,
            kind=kind,
            text=prepared.text,
            text_sha256=sha256_b64u(prepared.text.encode()),
            document_sha256=sha256_b64u(document),
            identity=prepared.identity,
        )

    async def _document(self, host: str) -> Discovery:
        return await self._documents.checked(host, lambda found: found)

    async def _prepare_own(self, kind: str, data: bytes) -> OwnDocument:
        """Of one's own calendar, which has to answer for itself: nothing is shown of one that cannot be asked."""
        principal, now = self.principal, self._clock.now()
        try:
            return await self._documents.checked(
                named_calendar(kind, data), lambda found: read_own(kind, data, found, principal, now)
            )
        except (PeerUnreachable, PeerRefused):
            raise refused("unverified") from None

    async def _prepare(self, kind: str, data: bytes, host: str) -> Prepared:
        now = self._clock.now()
        try:
            return await self._documents.checked(host, lambda found: self._read(kind, data, found, now))
        except (PeerUnreachable, PeerRefused):
            return self._read(kind, data, None, now)
        except Refused as error:
            if error.refusal.code != "HOST_NOT_AUTHORISED":
                raise
            return self._read(kind, data, None, now)

    def _read(self, kind: str, data: bytes, document: Discovery | None, now: datetime) -> Prepared:
        if kind == "limits":
            prepared = limits_mandate(data, document, now, revocable=self._is_revocable)
            if document is None:
                return prepared
            return with_attestations(prepared, self._attestations, document, self.principal, now)
        if kind in INVITED:
            return read_invited(kind, data, document, self.principal, self._agent, now, revocable=self._is_revocable)
        if kind == "offer":
            return offer_mandate(data, document, self.principal, now)
        if document is None:
            raise refused("unverified")
        return management_mandate(data, document, self.principal, now, revocable=self._is_revocable)

    def sign(self, shown: Shown, mode: ConsentMode) -> str:
        """The mandate, rule or answer, as a compact JWS, that what was shown stands for. Each presentation is signed at
        most once.

        Refused: unverified, locked, document_invalid when this key app did not show it or it has expired since.
        """
        prepared = self._presented.get(shown.number)
        if prepared is None or sha256_b64u(prepared.text.encode()) != shown.text_sha256:
            raise refused("document_invalid", "This key app has not shown that, or has signed it already.")
        if not prepared.identity.is_verified:
            raise refused("unverified")
        now = self._clock.now()
        if isinstance(prepared, OwnDocument):
            if mode != "human_present":
                raise refused("consent_unsigned", "For one's own calendar nobody answers beforehand.")
            token = sign_own(prepared, self._signer(), mode, self._ids.new("a"), now)
            del self._presented[shown.number]
            return token
        expires = prepared.expires if isinstance(prepared.expires, datetime) else now + prepared.expires
        if expires <= now:
            raise refused("document_invalid", "What was shown has expired.")
        key = self._signer()
        claims = MandateClaims(
            iss=principal_urn(key.public),
            aud=prepared.host,
            iat=epoch(now),
            exp=epoch(expires),
            jti=self._ids.new("m"),
            cnf=Bound(jkt=prepared.agent),
            principal_jwk=jwk_of(key.public),
            scope=prepared.scope,
            constraints=prepared.constraints,
            consent=ConsentRecord(mode=mode, statement=prepared.text),
            attestations=prepared.attestations,
        )
        del self._presented[shown.number]
        return self._signed(claims, key)

    @property
    def _is_revocable(self) -> bool:
        return self._issued is not None and self._issued.is_revocable

    async def issue(self, shown: Shown, mode: ConsentMode) -> str:
        """As `sign`, and kept among what this key app signed before anybody can use it."""
        token = self.sign(shown, mode)
        if self._issued is not None and shown.kind not in KINDS:
            await self._issued.keep(token)
        return token

    def _signed(self, claims: MandateClaims, key: PrivateKey) -> str:
        """The token. A closed mandate ends with its offer and has no status."""
        place = None if self._issued is None or claims.constraints.offer_sha256 else self._issued.new_status()
        if place is not None:
            claims = msgspec.structs.replace(claims, status=place[0], status_jwk=place[1])
        return sign_jws(claims, key, typ=MANDATE_TYP)

    def _signer(self) -> PrivateKey:
        try:
            return self._keys.signer(self._name)
        except Refused as error:
            if error.refusal.code == "locked":
                raise refused("locked") from None
            raise
