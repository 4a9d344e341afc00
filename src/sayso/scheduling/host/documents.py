"""What a host publishes about itself (protocol section 4): the discovery document, rendered from its settings.

Rendered when the host starts, once for every moment at which a key of before changes its use by the clock; the bytes
served are the bytes every caller sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sayso.core import strictjson
from sayso.proof.keys import PublicKey
from sayso.scheduling.host.config import HostConfig, endpoint_path, host_name, public_origin
from sayso.scheduling.terms.discovery import Discovery, PublishedKey, SelectableResource
from sayso.scheduling.terms.identity import jwk_of
from sayso.scheduling.terms.wire import VERSION

__all__ = ("EarlierKey", "discovery_bytes", "discovery_of", "key_set_bytes", "later_documents")


@dataclass(frozen=True, slots=True)
class EarlierKey:
    """A key the host signed with before. It stays `sign` until its last offer has expired, then `verify` (SCH-027): one
    published for signing turns at `sign_until`.
    """

    key: PublicKey
    use: Literal["sign", "verify"]
    sign_until: datetime | None = None

    def at(self, now: datetime) -> EarlierKey:
        """The same, as it is published at that moment."""
        is_over = self.use == "sign" and self.sign_until is not None and now >= self.sign_until
        return EarlierKey(self.key, "verify") if is_over else self


def discovery_of(config: HostConfig, key: PublicKey, earlier: Sequence[EarlierKey] = ()) -> Discovery:
    """The document of a host that signs with one key, named by its thumbprint as the earlier ones are."""
    chosen = {name for service in config.services for name in service.choose_from}
    return Discovery(
        versions=(VERSION,),
        host=host_name(config),
        title=config.title,
        kind=config.kind,
        endpoint=f"{public_origin(config)}{endpoint_path(config)}",
        timezone=config.timezone,
        keys=(
            PublishedKey(kid=key.thumbprint, use="sign", jwk=jwk_of(key)),
            *(PublishedKey(kid=old.key.thumbprint, use=old.use, jwk=jwk_of(old.key)) for old in earlier),
        ),
        contact=config.contact,
        services=config.services,
        policies=config.policies,
        resources=tuple(
            SelectableResource(id=unit.id, type=unit.type, title=unit.title)
            for unit in config.units
            if unit.id in chosen and unit.title is not None
        ),
        taxes=config.taxes,
        trust=config.trust,
        waitlist=config.waitlist,
        operator=config.operator,
    )


def discovery_bytes(config: HostConfig, key: PublicKey, earlier: Sequence[EarlierKey] = ()) -> bytes:
    """The document as it is served."""
    return strictjson.encode(discovery_of(config, key, earlier))


def later_documents(
    config: HostConfig, key: PublicKey, earlier: Sequence[EarlierKey]
) -> tuple[tuple[datetime, bytes], ...]:
    """What is served from each moment on at which a key turns, in order."""
    turns = sorted({each.sign_until for each in earlier if each.use == "sign" and each.sign_until is not None})
    return tuple((turn, discovery_bytes(config, key, [each.at(turn) for each in earlier])) for turn in turns)


def key_set_bytes(*keys: PublicKey) -> bytes:
    """Keys as a JWK set: the evidence that signed documents in the host's log are verified with."""
    return strictjson.encode({"keys": [{**key.jwk(), "kid": key.thumbprint} for key in keys]})
