"""One part of `sayso check`: what was looked at, and every fault of it."""

from __future__ import annotations

import msgspec

__all__ = ("Part",)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """`looked` says what was judged. A part that could not be looked at is skipped, and says why."""

    name: str
    looked: str
    faults: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def is_good(self) -> bool:
        """Whether nothing was found to be wrong."""
        return not self.faults
