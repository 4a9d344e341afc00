"""Providers of the person's own, in `<home>/providers.json`: OpenAI- or Anthropic-style endpoints (OAP-148).

    {"providers": {"local": {"base_url": "http://127.0.0.1:11434"}}}

is enough for a server on this machine. An entry becomes a row like the catalog's, so nothing behind this file knows
the difference. One bad entry refuses the whole file, with its name and line: half of what somebody wrote is not what
they meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sayso.control.provider.catalog.addresses import is_versioned, read_base_url
from sayso.control.provider.catalog.coherence import row_faults
from sayso.control.provider.catalog.places import line_of
from sayso.control.provider.catalog.rows import (
    Catalog,
    Endpoint,
    KnownModel,
    OAuthFlow,
    OAuthOrigin,
    Row,
    Text,
    Tokens,
    VariableName,
    WireName,
)
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("CUSTOM_FILE", "CustomEntry", "decode_custom", "read_custom")

CUSTOM_FILE = "providers.json"
_LARGEST = 1_048_576
_ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_TAKEN = frozenset(("models", "sayso-offline"))
"""What `sayso providers models` lists, and the offline planner."""
_STYLES: dict[str, WireName] = {
    "openai": "openai-chat-completions",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic-messages",
}


class CustomEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry. `carries_version` says that the base URL ends where the wire's own path begins; left out, it is read
    off the URL: any path for the OpenAI style, a path that ends in a version for Anthropic's.
    """

    base_url: Annotated[str, Meta(min_length=1, max_length=2000)]
    style: Literal["openai", "openai-responses", "anthropic"] = "openai"
    display_name: Text | None = None
    carries_version: bool | None = None
    credential_env: tuple[VariableName, ...] = ()
    needs_credential: bool | None = None
    context_window: Tokens | None = None
    max_tokens: Tokens | None = None
    models: tuple[KnownModel, ...] = ()
    oauth: OAuthFlow | None = None
    oauth_origin: OAuthOrigin | None = None


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    providers: Mapping[str, Any]


def read_custom(home: Path, catalog: Catalog) -> tuple[Row, ...]:
    """The rows of a home's file; no file is none. Refused `config_invalid`."""
    path = home / CUSTOM_FILE
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _invalid(path, f"it cannot be read: {error.strerror}") from None
    return decode_custom(data, catalog, path)


def decode_custom(data: bytes, catalog: Catalog, path: Path) -> tuple[Row, ...]:
    """Bytes to rows, in the order they stand. Refused `config_invalid`, with `place` the path and the line."""
    if len(data) > _LARGEST:
        raise _invalid(path, f"it is larger than {_LARGEST} bytes")
    try:
        entries = strictjson.decode(data, _Document).providers
    except Refused as refused:
        place = refused.refusal.place or "$"
        where = place if place.startswith("line ") else f"line {line_of(data, place.split('.')[1:])}"
        raise _invalid(path, refused.refusal.message, where=where) from None
    rows = []
    for name, value in entries.items():
        try:
            rows.append(_row(name, value, catalog))
        except Refused as refused:
            within = (refused.refusal.place or "$").split(".")[1:]
            where = f"line {line_of(data, ['providers', name, *within])}"
            raise _invalid(path, f"the provider `{name}`: {refused.refusal.message}", where=where) from None
    return tuple(rows)


def _row(name: str, value: Any, catalog: Catalog) -> Row:
    if not _ID.fullmatch(name):
        raise _bad("an id is lower-case letters, digits, dots and hyphens")
    if any(row.id == name for row in catalog.providers):
        raise _bad("this id is in the catalog, and its requests would go elsewhere without anybody seeing it")
    if name in _TAKEN or any(preset.group == name for preset in catalog.presets):
        raise _bad("this id means something else here")
    entry = strictjson.convert(value, CustomEntry)
    _keep_apart(entry, catalog)
    _show(entry)
    wire = _STYLES[entry.style]
    base_url = read_base_url(entry.base_url)
    carries = is_versioned(base_url, wire) if entry.carries_version is None else entry.carries_version
    endpoint = Endpoint(wire=wire, base_url=base_url, carries_version=carries)
    row = Row(
        id=name,
        display_name=entry.display_name,
        auth=(*(("oauth",) if entry.oauth else ()), *(("api_key",) if not _is_open(entry) else ("none", "api_key"))),
        credential_env=entry.credential_env,
        wires=(wire,),
        base_url_source="static",
        endpoints=(endpoint,),
        models_endpoint="/models" if endpoint.carries_version else "/v1/models",
        context_window=entry.context_window,
        max_tokens=entry.max_tokens,
        models=entry.models,
        oauth=entry.oauth,
        oauth_origin=entry.oauth_origin,
    )
    faults = row_faults(row)
    if faults:
        raise _bad("; ".join(faults))
    return row


def _keep_apart(entry: CustomEntry, catalog: Catalog) -> None:
    """A vendor's key is never lent to another provider, so its variable cannot be named here (OAP-153): not for a key,
    and not for a client id, which is sent to whatever sign-in server the entry names.
    """
    owned = {name: row.id for row in catalog.providers for name in row.credential_env}
    named = [(name, "credential_env") for name in entry.credential_env]
    if entry.oauth is not None and entry.oauth.client_id_env is not None:
        named.append((entry.oauth.client_id_env, "oauth.client_id_env"))
    for name, member in named:
        if name in owned:
            raise _bad(f"{name} holds the key of {owned[name]}, which is not sent anywhere else", member)


def _show(entry: CustomEntry) -> None:
    """Names stand on terminals, in refusals and in lists."""
    texts = [entry.display_name, *(text for model in entry.models for text in (model.id, model.name))]
    if not all(text.isprintable() for text in texts if text is not None):
        raise _bad("a name has characters that do not show")


def _is_open(entry: CustomEntry) -> bool:
    """Whether it may be asked without a credential: said, or else where nothing names one."""
    if entry.needs_credential is not None:
        return not entry.needs_credential
    return not entry.credential_env and entry.oauth is None


def _bad(message: str, member: str | None = None) -> Refused:
    return Refused.because("config_invalid", message, place=f"$.{member}" if member else None)


def _invalid(path: Path, message: str, *, where: str | None = None) -> Refused:
    return Refused.because(
        "config_invalid",
        f"{path.name} is not used: {message}",
        place=f"{path} {where}" if where else str(path),
        help="Correct it; until then no provider of this file is there.",
    )
