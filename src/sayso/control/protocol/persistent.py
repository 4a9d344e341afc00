"""A mapping as a value: changing it gives a new one in constant time, and the old one still says what it said.

The newest version owns the dict; an older one only knows what to undo, and takes the dict over when somebody asks it.
So a conversation that goes on never copies, one that branches pays for the branch, and a discarded step costs one undo.
Entries keep the order in which they were first set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar, cast, overload

__all__ = ("PersistentMap",)

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_GONE: Final[Any] = object()


class PersistentMap(Mapping[K, V]):
    """Immutable to whoever holds it. Never share one empty map between things that grow apart."""

    __slots__ = ("_items", "_newer", "_undo")

    def __init__(self) -> None:
        self._items: dict[K, V] | None = {}
        self._newer: PersistentMap[K, V] | None = None
        self._undo: tuple[K, V] | None = None

    def set(self, key: K, value: V) -> PersistentMap[K, V]:
        """The map with this entry added or changed."""
        items = self._items if self._items is not None else self._own()
        before = items.get(key, _GONE)
        items[key] = value
        return self._hand_on(items, key, before)

    def without(self, key: K) -> PersistentMap[K, V]:
        """The map without this entry; itself when there is none."""
        items = self._items if self._items is not None else self._own()
        if key not in items:
            return self
        return self._hand_on(items, key, items.pop(key))

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: D, /) -> V | D: ...
    def get(self, key: K, default: Any = None, /) -> Any:
        items = self._items if self._items is not None else self._own()
        return items.get(key, default)

    def __getitem__(self, key: K) -> V:
        return (self._items if self._items is not None else self._own())[key]

    def __contains__(self, key: object) -> bool:
        return key in (self._items if self._items is not None else self._own())

    def __iter__(self) -> Iterator[K]:
        return iter(self._items if self._items is not None else self._own())

    def __len__(self) -> int:
        return len(self._items if self._items is not None else self._own())

    def _hand_on(self, items: dict[K, V], key: K, before: V) -> PersistentMap[K, V]:
        after: PersistentMap[K, V] = PersistentMap.__new__(PersistentMap)
        after._items, after._newer, after._undo = items, None, None
        self._items, self._newer, self._undo = None, after, (key, before)
        return after

    def _own(self) -> dict[K, V]:
        """Takes the dict over from the newest version, undoing what came between, one step at a time."""
        chain: list[PersistentMap[K, V]] = []
        version: PersistentMap[K, V] = self
        while version._items is None:
            chain.append(version)
            version = cast("PersistentMap[K, V]", version._newer)
        items = version._items
        for older in reversed(chain):
            newer = cast("PersistentMap[K, V]", older._newer)
            key, before = cast("tuple[K, V]", older._undo)
            now = items.get(key, _GONE)
            if before is _GONE:
                del items[key]
            else:
                items[key] = before
            newer._items, newer._newer, newer._undo = None, older, (key, now)
            older._items, older._newer, older._undo = items, None, None
        return items
