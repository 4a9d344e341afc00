"""From a row, a model and the credentials to the plain facts a wire is made of, and nothing left for it to look up.

The members have the names and meanings of `wires.offering.Offering`, which this floor does not import:

    facts = facts_for(row, "gpt-5.5", credentials)
    Offering(id=facts.id, wire=facts.wire, base_url=facts.base_url, model=facts.model, model_ref=facts.model_ref,
             credential=facts.credential, renew=facts.renew, auth=facts.auth, headers=facts.headers,
             max_output_tokens=facts.max_output_tokens)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from sayso.control.provider.catalog.addresses import is_versioned, read_base_url, versioned
from sayso.control.provider.catalog.limits import DevFacts, ListedFacts, ModelFacts, model_facts
from sayso.control.provider.catalog.rows import Endpoint, KeyHeader, Row, WireName
from sayso.control.provider.credentials.origins import verify_destination
from sayso.control.provider.credentials.resolving import Credentials, header_of, missing
from sayso.control.provider.credentials.values import Credential, OAuthToken
from sayso.core.refusal import Refused

__all__ = ("Address", "Facts", "address_of", "facts_for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a row is reached on one wire. `base_url` ends where the wire's own path begins."""

    wire: WireName
    base_url: str
    models_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one model behind one provider is. `credential` is asked before every attempt; None asks anonymously.
    `renew` is told a text that the vendor did not take, and has another one or none.
    """

    id: str
    wire: WireName
    base_url: str
    model: str
    model_ref: str
    auth: KeyHeader
    credential: Callable[[], Awaitable[str | None]] | None = field(default=None, repr=False)
    renew: Callable[[str], Awaitable[str | None]] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    max_output_tokens: int | None = None
    models_url: str | None = None
    known: ModelFacts


def facts_for(
    row: Row,
    model: str,
    credentials: Credentials,
    *,
    wire: WireName | None = None,
    listed: ListedFacts | None = None,
    dev: DevFacts | None = None,
    session: str | None = None,
) -> Facts:
    """The facts for one model. No network; the keyring may be asked, so keep it off the event loop. `session` is an id
    that means nothing, for a vendor that wants one.

    Refused: `config_invalid` (no base URL, a region the row has not, a base URL in the environment that is none),
    `unsupported_feature` (a wire the row has not), `credential_missing`, and what `Credentials.look` refuses.
    """
    held = credentials.look(row)
    if held is None and "none" not in row.auth:
        raise missing(row)
    credential = held.credential if held is not None else None
    address = address_of(row, credentials.environ, wire=wire, credential=credential)
    header = header_of(row, credential, address.wire)
    if credential is not None:
        verify_destination(row, credential, address.base_url, credentials.environ)

    async def secret() -> str | None:
        return await credentials.secret(row, address.base_url, header=(header, address.wire))

    async def renew(rejected: str) -> str | None:
        return await credentials.renew(row, address.base_url, rejected)

    known = model_facts(row, model, listed=listed, dev=dev)
    return Facts(
        id=row.id,
        wire=address.wire,
        base_url=address.base_url,
        model=model,
        model_ref=f"{row.id}/{model}",
        auth=header,
        credential=secret if credential is not None else None,
        renew=renew if isinstance(credential, OAuthToken) else None,
        headers={row.session_header: session} if row.session_header and session else {},
        max_output_tokens=known.max_tokens,
        models_url=address.models_url,
        known=known,
    )


def address_of(
    row: Row, environ: Mapping[str, str], *, wire: WireName | None = None, credential: Credential | None = None
) -> Address:
    """Where the row is: what the operator's environment says, else what the credential declares, else its endpoint."""
    chosen = wire or (row.wires[0] if row.wires else None)
    if chosen is None or chosen not in row.wires:
        raise Refused.because(
            "unsupported_feature",
            f"{row.name} is not reached by {wire or 'any wire that is known'}",
            details={"wires": list(row.wires)},
        )
    moved = _moved(row, environ, credential)
    if moved is not None:
        carries = is_versioned(moved, chosen)
        base_url = versioned(moved, chosen, carries_version=carries)
        return Address(wire=chosen, base_url=base_url, models_url=f"{base_url}/models" if row.models_endpoint else None)
    endpoint = _endpoint(row, chosen, environ)
    base_url = versioned(endpoint.base_url, chosen, carries_version=endpoint.carries_version)
    listing = f"{endpoint.base_url}{row.models_endpoint}" if row.models_endpoint else None
    return Address(wire=chosen, base_url=base_url, models_url=listing)


def _moved(row: Row, environ: Mapping[str, str], credential: Credential | None) -> str | None:
    for name in row.base_url_env:
        if text := environ.get(name, "").strip():
            try:
                return read_base_url(text)
            except Refused as refused:
                raise Refused.because(
                    "config_invalid", f"{name}: {refused.refusal.message}", reason="base_url", place=name
                ) from None
    if row.base_url_source == "credential" and isinstance(credential, OAuthToken) and credential.base_url:
        return read_base_url(credential.base_url)
    return None


def _endpoint(row: Row, wire: WireName, environ: Mapping[str, str]) -> Endpoint:
    named = environ.get(row.region_env or "", "").strip() or None
    region = named or row.default_region
    endpoints = [each for each in row.endpoints if each.wire == wire]
    for each in endpoints:
        if each.region == region or each.region is None:
            return each
    if endpoints:
        regions = ", ".join(each.region for each in endpoints if each.region)
        raise Refused.because(
            "config_invalid",
            f"{row.name} has no such region; it has {regions}",
            reason="region",
            place=row.region_env,
        )
    raise Refused.because(
        "config_invalid",
        f"Where {row.name} is has to be said",
        reason="base_url",
        help=f"Set {row.base_url_env[0]} to its base URL." if row.base_url_env else "Sign in again.",
    )
