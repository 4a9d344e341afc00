"""The provider catalog: its rows, its schema, and that nothing of it is spelt anywhere else (OAP-146)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import jsonschema_rs
import msgspec

import sayso
from sayso.apps.checks.part import Part
from sayso.control.provider.catalog.coherence import catalog_faults
from sayso.control.provider.catalog.reading import CATALOG_FILE, SCHEMA_FILE, shipped
from sayso.control.provider.catalog.rows import Catalog
from sayso.control.provider.catalog.schema import catalog_schema
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("catalog", "catalogued_urls", "spelt_elsewhere")

FOLDER = Path(next(iter(sayso.__path__)))


def catalog(data: bytes | None = None, schema: bytes | None = None, folder: Path = FOLDER) -> Part:
    """The shipped catalog and the source of this build; the arguments are for whoever wants others judged."""
    faults: list[str] = []
    found: Catalog | None = None
    try:
        raw = strictjson.parse(shipped(CATALOG_FILE) if data is None else data)
        found = strictjson.convert(raw, Catalog)
        faults += catalog_faults(found)
        faults += _schema_faults(raw, shipped(SCHEMA_FILE) if schema is None else schema)
    except (OSError, Refused) as error:
        faults.append(f"{CATALOG_FILE} cannot be used: {error}")
    if found is None:
        return Part(name="catalog", looked="", faults=tuple(faults))
    faults += spelt_elsewhere(catalogued_urls(found), folder)
    looked = f"{len(found.providers)} providers, {len(found.presets)} presets"
    return Part(name="catalog", looked=looked, faults=tuple(faults))


def catalogued_urls(found: Catalog) -> frozenset[str]:
    """Every address that only the catalog may hold: base URLs, sign-in endpoints, models.dev."""
    urls = {endpoint.base_url for row in found.providers for endpoint in row.endpoints}
    urls |= {preset.base_url for preset in found.presets}
    flows = [row.oauth for row in found.providers if row.oauth is not None]
    urls |= {each for flow in flows for each in msgspec.structs.asdict(flow).values() if _is_url(each)}
    return frozenset(urls | {found.models_dev_url} if found.models_dev_url else urls)


def spelt_elsewhere(urls: Iterable[str], folder: Path = FOLDER) -> list[str]:
    """Text literals of Python source that hold one of these addresses, each with its file and line."""
    wanted = sorted(urls)
    faults = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Most files hold none of them, and reading a file's syntax takes a hundred times as long as searching it.
        if any(url in text for url in wanted):
            place = path.relative_to(folder)
            faults += [f"{place}:{line}: `{url}` belongs in {CATALOG_FILE} alone" for line, url in _spelt(text, wanted)]
    return faults


def _spelt(text: str, wanted: Iterable[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for url in wanted:
                if url in node.value:
                    yield node.lineno, url


def _schema_faults(raw: object, schema: bytes) -> list[str]:
    if strictjson.parse(schema) != catalog_schema():
        return [f"{SCHEMA_FILE} is not what the rows say"]
    validator = jsonschema_rs.validator_for(catalog_schema())
    return [f"{CATALOG_FILE} {error.instance_path}: {error.message[:200]}" for error in validator.iter_errors(raw)]


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value.startswith("https://")
