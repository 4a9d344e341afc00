"""What every operation of one host has at hand: its profile, its pen, its log, and where ids come from.

Records, state and outbox are written in the caller's unit of work, so a receipt exists exactly when the change it
tells of does (GTW-053, SCH-124).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sayso.core.durations import parse_duration
from sayso.core.gcra import Limit
from sayso.core.ids import Ids
from sayso.ledger.append import append
from sayso.ledger.evidence import put_evidence
from sayso.ledger.heads import Tips
from sayso.ledger.rules.evidence import KEY_SET, SIGNED
from sayso.ledger.rules.record import Draft
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig, build_profile
from sayso.scheduling.host.documents import EarlierKey, discovery_bytes, key_set_bytes, later_documents
from sayso.scheduling.host.events import note_event
from sayso.scheduling.host.statuses import Statuses
from sayso.scheduling.rules.profile import HostPen, HostProfile
from sayso.scheduling.terms.discovery import Contact, Trust
from sayso.scheduling.terms.identity import public_key
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.store.unit import Unit

__all__ = ("AVAILABILITY_LIMIT", "Desk", "open_desk")

AVAILABILITY_LIMIT = Limit(period=timedelta(minutes=1), burst=60)
"""Sixty requests a minute for each agent key (SCH-118)."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One host, ready to answer. `log` names the receipt log of the business whose host it is."""

    profile: HostProfile
    pen: HostPen
    ids: Ids
    log: str
    contact: Contact
    document: bytes
    """The discovery document as it stood when the desk opened; what is served is `document_at`."""
    key_set: bytes
    replay_window: timedelta
    operator: str | None = None
    statuses: Statuses = field(default_factory=Statuses)
    trust: Trust = field(default_factory=Trust)
    staff: frozenset[str] = frozenset()
    """Thumbprints of the keys that answer for the host; its own key is one of them (SCH-184)."""
    keeper: PrivateKey | None = None
    """The agent key that says yes by rules, where this process keeps a person's calendar (SCH-264)."""
    tips: Tips = field(default_factory=dict)
    later_documents: tuple[tuple[datetime, bytes], ...] = ()
    """What replaces it, and from when on: an earlier key stops signing by the clock (SCH-027)."""

    def document_at(self, now: datetime) -> bytes:
        """The discovery document of that moment."""
        return next((later for turn, later in reversed(self.later_documents) if turn <= now), self.document)

    @property
    def host(self) -> str:
        return self.profile.host

    @property
    def lock(self) -> str:
        """What serialises every change of this host's state across processes; taken before `unit.now` is read."""
        return f"host {self.host}"

    def record(self, unit: Unit, drafts: Iterable[Draft]) -> None:
        """Chains the records of one decision, and writes down the events that tell of them (`events`).

        Called once the rows stand as the decision left them.
        """
        for draft in drafts:
            append(unit, self.log, draft, tips=self.tips)
            note_event(unit, self, draft)

    def keep_documents(self, unit: Unit, mandate: Mandate, *ours: str) -> None:
        """Keeps what a record refers to, so that its signatures can be checked without this host (GTW-052)."""
        host_keys = put_evidence(unit, self.log, KEY_SET, self.key_set)
        for token in ours:
            put_evidence(unit, self.log, SIGNED, token.encode("ascii"), verified_by=host_keys)
        guest_keys = put_evidence(unit, self.log, KEY_SET, mandate_key_set(mandate))
        put_evidence(unit, self.log, SIGNED, mandate.root_token.encode("ascii"), verified_by=guest_keys)
        for link in mandate.links:
            agent_keys = put_evidence(unit, self.log, KEY_SET, key_set_bytes(public_key(link.claims.agent_jwk)))
            put_evidence(unit, self.log, SIGNED, link.token.encode("ascii"), verified_by=agent_keys)

    def keep_own(self, unit: Unit, *ours: str) -> None:
        """Keeps documents of the host alone: of its own acts, and of what the clock ended."""
        host_keys = put_evidence(unit, self.log, KEY_SET, self.key_set)
        for token in ours:
            put_evidence(unit, self.log, SIGNED, token.encode("ascii"), verified_by=host_keys)


def mandate_key_set(mandate: Mandate) -> bytes:
    """The principal's key as the set that verifies its mandates."""
    key = public_key(mandate.claims.principal_jwk)
    return key_set_bytes(key)


def open_desk(
    config: HostConfig,
    key: PrivateKey,
    ids: Ids,
    *,
    log: str | None = None,
    earlier: Sequence[EarlierKey] = (),
    keeper: PrivateKey | None = None,
) -> Desk:
    """The desk of a host that signs with `key`, published under its thumbprint beside the keys it signed with before.
    `keeper` is the agent key of a person's calendar, which answers where a rule of theirs names it.

    Refused: `config_invalid`.
    """
    profile = build_profile(config)
    kid = key.public.thumbprint
    return Desk(
        profile=profile,
        pen=HostPen(key, kid),
        ids=ids,
        log=log or profile.host,
        contact=config.contact,
        document=discovery_bytes(config, key.public, earlier),
        later_documents=later_documents(config, key.public, earlier),
        key_set=key_set_bytes(key.public, *(old.key for old in earlier)),
        replay_window=parse_duration(config.policies.replay_window),
        operator=config.operator,
        trust=config.trust,
        staff=frozenset({kid, *(member.key for member in config.staff)}),
        keeper=keeper,
    )
