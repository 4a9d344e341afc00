"""The shipped catalog, read once and judged whole: a build with a bad row does not begin to use it (OAP-140)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sayso.control.provider.catalog.coherence import catalog_faults
from sayso.control.provider.catalog.rows import Catalog
from sayso.core import strictjson
from sayso.core.refusal import Corrupt, Refused

__all__ = ("CATALOG_FILE", "SCHEMA_FILE", "decode_catalog", "read_catalog", "shipped")

CATALOG_FILE = "catalog.json"
SCHEMA_FILE = "catalog.schema.json"


@cache
def read_catalog() -> Catalog:
    """The catalog of this build. Corrupt where it is not what it should be, which `sayso check` says in full."""
    try:
        return decode_catalog(shipped(CATALOG_FILE))
    except Refused as refused:
        raise Corrupt(f"the provider catalog cannot be used: {refused}", CATALOG_FILE) from None


def shipped(name: str) -> bytes:
    """A document of this package, as its bytes."""
    return files(__package__).joinpath(name).read_bytes()


def decode_catalog(data: bytes) -> Catalog:
    """Bytes to a catalog that fits together. Refused `malformed_json`, `schema_invalid`, `config_invalid`."""
    catalog = strictjson.decode(data, Catalog)
    faults = catalog_faults(catalog)
    if faults:
        raise Refused.because("config_invalid", "; ".join(faults), reason="catalog")
    return catalog
