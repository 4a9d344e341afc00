"""Noor Haddad: a parent whose calendar lives on Daybook, with one rule that she signed (SCH-370).

Her key and her agent's are made with the world; they are what its offers name and its yeses are signed with. Nobody is
on her list until she puts them there. A playdate is open-ended with three hours set aside; it is at hers, for this
version's assistants name no other place.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from sayso.core import strictjson
from sayso.core.ids import Ids
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.scheduling.host.config import HostConfig, UnitConfig, host_name
from sayso.scheduling.host.documents import discovery_of
from sayso.scheduling.keyapp.own_calendar import read_own, sign_own
from sayso.scheduling.terms.discovery import Confirmation, Contact, HoldLimits, Notes, Policies, Service
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.rule import RuleDraft
from sayso.world.daybook import DAYBOOK

__all__ = ("noor_haddad", "noors_rule", "owned_by")

_NOBODY_YET: Final = "urn:schcp:principal:jwk-thumbprint:" + "A" * 43
_AFTERNOON, _DAY = ("15:00-19:00",), ("09:00-19:00",)


def noor_haddad() -> HostConfig:
    """A fresh copy of her calendar's settings; `owned_by` says whose it is."""
    return HostConfig(
        id="noor-haddad",
        domain=DAYBOOK.domain,
        operator=DAYBOOK.domain,
        kind="person",
        owner=_NOBODY_YET,
        title="Noor Haddad",
        timezone="America/Toronto",
        contact=Contact(words="Call or text me."),
        services=(
            Service(id="playdate", title="Playdate", duration="open", set_aside="PT3H", needs=("time",)),
            Service(id="coffee", title="Coffee", duration="PT1H", needs=("time",)),
        ),
        units=(
            UnitConfig(
                id="noors-time",
                type="time",
                hours={
                    "mon": _AFTERNOON,
                    "tue": _AFTERNOON,
                    "wed": _AFTERNOON,
                    "thu": _AFTERNOON,
                    "fri": _AFTERNOON,
                    "sat": _DAY,
                    "sun": _DAY,
                },
            ),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=Confirmation(mode="approval", answer_within="PT12H"),
            access="contacts",
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT30M",
            notes=Notes(accepted=False),
            replay_window="P1D",
        ),
    )


def owned_by(config: HostConfig, key: PublicKey) -> HostConfig:
    """The same calendar, as the holder of this key owns it."""
    return msgspec.structs.replace(config, owner=principal_urn(key))


def noors_rule(config: HostConfig, key: PrivateKey, keeper: PublicKey, ids: Ids, now: datetime) -> str:
    """Weekend playdates with her contacts, signed by the calendar's owner, as her key app would show it."""
    draft = RuleDraft(
        host=host_name(config),
        agent=keeper.thumbprint,
        words="Weekend playdates with my contacts",
        services=("playdate",),
        weekdays=("sat", "sun"),
    )
    # Its text comes from the document alone, whichever key that is published under.
    document = discovery_of(config, keeper)
    own = read_own("rule", strictjson.encode(draft), document, principal_urn(key.public), now)
    return sign_own(own, key, "human_present", ids.new("a"), now)
