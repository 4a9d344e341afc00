"""What a host publishes about itself (protocol section 4): the discovery document, rendered from its settings.

Rendered once when the host starts; the bytes served are the bytes every caller sees.
"""

from __future__ import annotations

from sayso.core import strictjson
from sayso.proof.keys import PublicKey
from sayso.scheduling.host.config import ENDPOINT_PATH, HostConfig, host_name, public_origin
from sayso.scheduling.terms.discovery import Discovery, PublishedKey, SelectableResource
from sayso.scheduling.terms.identity import jwk_of
from sayso.scheduling.terms.wire import VERSION

__all__ = ("discovery_bytes", "discovery_of", "key_set_bytes")


def discovery_of(config: HostConfig, key: PublicKey) -> Discovery:
    """The document of a host that signs with one key, named by its thumbprint."""
    chosen = {name for service in config.services for name in service.choose_from}
    return Discovery(
        versions=(VERSION,),
        host=host_name(config),
        title=config.title,
        kind=config.kind,
        endpoint=f"{public_origin(config)}{ENDPOINT_PATH}",
        timezone=config.timezone,
        keys=(PublishedKey(kid=key.thumbprint, use="sign", jwk=jwk_of(key)),),
        contact=config.contact,
        services=config.services,
        policies=config.policies,
        resources=tuple(
            SelectableResource(id=unit.id, type=unit.type, title=unit.title)
            for unit in config.units
            if unit.id in chosen and unit.title is not None
        ),
        taxes=config.taxes,
    )


def discovery_bytes(config: HostConfig, key: PublicKey) -> bytes:
    """The document as it is served."""
    return strictjson.encode(discovery_of(config, key))


def key_set_bytes(key: PublicKey, kid: str) -> bytes:
    """The key as a JWK set: the evidence that signed documents in the host's log are verified with."""
    return strictjson.encode({"keys": [{**key.jwk(), "kid": kid}]})
