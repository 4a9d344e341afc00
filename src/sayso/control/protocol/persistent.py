"""A mapping as a value: changing it gives a new one in constant time, and the old one still says what it said.

The newest version owns the dict; an older one only knows what to undo, and takes the dict over when somebody asks it.
So a conversation that goes on never copies, one that branches pays for the branch, and a discarded step costs one undo.
Entries keep the order in which they were first set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, cast, overload

__all__ = ("PersistentMap", "RecentMap")

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_GONE: Final[Any] = object()


class _Several:
    """Entries that one change added, or takes away again."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Any, Any]) -> None:
        self.entries = entries


class PersistentMap(Mapping[K, V]):
    """Immutable to whoever holds it. Never share one empty map between things that grow apart."""

    __slots__ = ("_items", "_newer", "_undo")

    def __init__(self) -> None:
        self._items: dict[K, V] | None = {}
        self._newer: PersistentMap[K, V] | None = None
        self._undo: tuple[K | _Several, V] | None = None

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

    def with_all(self, keys: Iterable[K], value: V) -> PersistentMap[K, V]:
        """The map with one value under all of these keys, none of which it has."""
        items = self._items if self._items is not None else self._own()
        added = dict.fromkeys(keys, value)
        if not added:
            return self
        items.update(added)
        return self._hand_on(items, _Several(added), _GONE)

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

    def _hand_on(self, items: dict[K, V], key: K | _Several, before: V) -> PersistentMap[K, V]:
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
            if isinstance(key, _Several):
                _exchange(items, key, newer, older)
                continue
            now = items.get(key, _GONE)
            if before is _GONE:
                del items[key]
            else:
                items[key] = before
            newer._items, newer._newer, newer._undo = None, older, (key, now)
            older._items, older._newer, older._undo = items, None, None
        return items


def _exchange(items: dict[Any, Any], several: _Several, newer: PersistentMap[Any, Any], older: Any) -> None:
    """Undoes, or does again, what added many entries at once."""
    if next(iter(several.entries)) in items:
        for key in several.entries:
            del items[key]
    else:
        items.update(several.entries)
    newer._items, newer._newer, newer._undo = None, older, (several, _GONE)
    older._items, older._newer, older._undo = items, None, None


class RecentMap(Generic[K, V]):
    """A map that remembers its latest entries: at least `most`, never twice as many.

    It fills one map and then begins the next; of what is older than the one before, nothing is left.
    """

    __slots__ = ("_before", "_most", "_now")

    def __init__(self, most: int) -> None:
        self._most = most
        self._now: PersistentMap[K, V] = PersistentMap()
        self._before: PersistentMap[K, V] = PersistentMap()

    def set(self, key: K, value: V) -> RecentMap[K, V]:
        """The map with this entry added or changed, which makes it the latest."""
        after: RecentMap[K, V] = RecentMap.__new__(RecentMap)
        after._most, after._now, after._before = self._most, self._now.set(key, value), self._before
        if len(after._now) >= self._most:
            after._now, after._before = PersistentMap(), after._now
        return after

    def get(self, key: K) -> V | None:
        """The latest value; None for what was never set, or is forgotten."""
        found = self._now.get(key, _GONE)
        return cast("V | None", self._before.get(key) if found is _GONE else found)

    def __contains__(self, key: object) -> bool:
        return key in self._now or key in self._before

    def __len__(self) -> int:
        """How many entries it holds; one that was set again may count twice."""
        return len(self._now) + len(self._before)
