"""The catalog's JSON Schema, printed from its typed values, so that the two cannot say different things (OAP-140)."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.control.provider.catalog.rows import Catalog

__all__ = ("catalog_schema",)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "https://sayso.example/schema/provider-catalog.schema.json"


def catalog_schema() -> dict[str, Any]:
    """The schema as it is shipped."""
    _, components = msgspec.json.schema_components((Catalog,), ref_template="#/$defs/{name}")
    return {
        "$schema": _DIALECT,
        "$id": _ID,
        "title": "Provider catalog",
        "description": "One row an offering. Every member but an id may be absent, and absent means unknown.",
        "$ref": "#/$defs/Catalog",
        "$defs": {name: _plain(value) for name, value in sorted(components.items())},
    }


def _plain(value: Any) -> Any:
    """Without what a reader of the document does not need: titles, our default values, and `null` for absent."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if name not in ("title", "default")}
    choices = kept.get("anyOf")
    if isinstance(choices, list):
        real = [_plain(each) for each in choices if each != {"type": "null"}]
        if len(real) == 1:
            del kept["anyOf"]
            return {**{name: _plain(each) for name, each in kept.items()}, **real[0]}
    if kept.get("enum") and None in kept["enum"]:
        kept["enum"] = [each for each in kept["enum"] if each is not None]
    return {name: _plain(each) for name, each in kept.items()}
