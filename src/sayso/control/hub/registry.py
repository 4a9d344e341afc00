"""The adapters a hub serves, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sayso.control.adapters.contract import Adapter
from sayso.core.refusal import Misuse, Refused

__all__ = ("Registry",)

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Registry:
    """Names in sorted order; a name is an address, so it is short and plain."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        for name in adapters:
            if not _NAME.fullmatch(name):
                raise Misuse(f"{name!r} is no name for an adapter")
        self._adapters = dict(sorted(adapters.items()))

    def find(self, name: str) -> Adapter:
        """Raises `Refused` `unknown_adapter`."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise Refused.because("unknown_adapter", "no adapter has this name")
        return adapter

    def __iter__(self) -> Iterator[tuple[str, Adapter]]:
        return iter(self._adapters.items())
