"""Every provider a person can choose: the catalog's rows that are offered, then their own (OAP-141, 143, 148)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from sayso.control.provider.catalog.custom import read_custom
from sayso.control.provider.catalog.reading import read_catalog
from sayso.control.provider.catalog.rows import Catalog, Preset, Row
from sayso.core.refusal import Refused

__all__ = ("Providers", "open_providers")


class Providers:
    """The catalog and a person's own entries, by id and in order."""

    def __init__(self, catalog: Catalog, custom: Sequence[Row] = ()) -> None:
        self.catalog = catalog
        self.custom = tuple(custom)
        self.offered = (*(row for row in catalog.providers if row.is_offered), *self.custom)

    def find(self, id_: str) -> Row:
        """The row of that id. Refused `unknown_provider`, naming what is near; a withheld row is not found."""
        for row in self.offered:
            if row.id == id_:
                return row
        near = difflib.get_close_matches(id_, [row.id for row in self.offered], n=3, cutoff=0.5)
        raise Refused.because(
            "unknown_provider",
            f"There is no provider {id_[:100]!r}",
            help=f"Did you mean {' or '.join(near)}?" if near else "See them all with: sayso providers",
        )

    def presets(self, group: str) -> tuple[Preset, ...]:
        """The presets of a group; none where there is no such group."""
        return tuple(each for each in self.catalog.presets if each.group == group)

    def is_custom(self, row: Row) -> bool:
        """Whether it is the person's own."""
        return any(row.id == each.id for each in self.custom)


def open_providers(home: Path) -> Providers:
    """Reads both. No network, no credential. Refused `config_invalid`."""
    catalog = read_catalog()
    return Providers(catalog, read_custom(home, catalog))
