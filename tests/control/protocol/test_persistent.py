"""The persistent map against a plain dict, in any order of reads, writes and branches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sayso.control.protocol.persistent import PersistentMap, RecentMap


def test_a_persistent_map_is_a_value() -> None:
    """Two successors of one map know nothing of one another, whichever came first."""
    root: PersistentMap[str, int] = PersistentMap[str, int]().set("a", 1)
    left, right, less = root.set("b", 2), root.set("c", 3), root.without("a")
    assert (dict(left), dict(right), dict(less), dict(root)) == ({"a": 1, "b": 2}, {"a": 1, "c": 3}, {}, {"a": 1})
    assert (dict(right.set("a", 4)), dict(left), len(less), "c" in right) == (
        {"a": 4, "c": 3},
        {"a": 1, "b": 2},
        0,
        True,
    )
    assert (root.without("z") is root, root.get("z"), root.get("z", 9), root["a"]) == (True, None, 9, 1)


STEPS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcd"), st.none() | st.integers(0, 9)), max_size=40)


@given(STEPS)
def test_every_version_says_what_it_said(steps: list[tuple[int, str, int | None]]) -> None:
    """Each step branches off any earlier version; at the end all of them are what a copied dict would be."""
    versions: list[tuple[PersistentMap[str, int], dict[str, int]]] = [(PersistentMap(), {})]
    for which, key, value in steps:
        kept, plain = versions[which % len(versions)]
        if value is None:
            versions.append((kept.without(key), {name: each for name, each in plain.items() if name != key}))
        else:
            versions.append((kept.set(key, value), {**plain, key: value}))
    assert [dict(kept) for kept, _ in versions] == [plain for _, plain in versions]


def test_going_on_copies_nothing() -> None:
    """The newest version owns the one dict there is; ten thousand steps make no second one."""
    version: PersistentMap[int, int] = PersistentMap()
    first = version.set(0, 0)
    owned = first._items
    for number in range(10_000):
        version = first = first.set(number, number)
    assert version._items is owned


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.integers(0, 9)), max_size=60))
def test_a_recent_map_remembers_the_latest_and_is_bounded(steps: list[tuple[int, int, int]]) -> None:
    """Of any version: the last three entries that were set are there as they were set, and never as many as eight."""
    versions: list[tuple[RecentMap[int, int], list[tuple[int, int]]]] = [(RecentMap(4), [])]
    for which, key, value in steps:
        kept, told = versions[which % len(versions)]
        versions.append((kept.set(key, value), [*told, (key, value)]))
    for kept, told in versions:
        latest = dict(told[-3:])
        assert {key: kept.get(key) for key in latest} == latest
        assert all(key in kept for key in latest)
        assert len(kept) < 8


def test_a_recent_map_forgets_what_is_old() -> None:
    """What was set long ago is as what was never set; set again, it is the latest."""
    kept: RecentMap[int, int] = RecentMap(4)
    for number in range(20):
        kept = kept.set(number % 2 and number, number)
    assert (kept.get(1), 1 in kept, kept.get(0), kept.get(19)) == (None, False, 18, 19)


@given(st.lists(st.tuples(st.integers(0, 40), st.sets(st.integers(0, 9)), st.integers(0, 9)), max_size=40))
def test_many_entries_at_once_are_one_step(steps: list[tuple[int, set[int], int]]) -> None:
    """Added together, set again one by one, or taken away, off any earlier version: each says what it said."""
    versions: list[tuple[PersistentMap[int, int], dict[int, int]]] = [(PersistentMap(), {})]
    for which, keys, key in steps:
        kept, plain = versions[which % len(versions)]
        new = keys - plain.keys()
        versions.append((kept.with_all(new, 1), {**plain, **dict.fromkeys(new, 1)}))
        versions.append((kept.set(key, which), {**plain, key: which}))
        versions.append((kept.without(key), {name: each for name, each in plain.items() if name != key}))
    assert [dict(kept) for kept, _ in versions] == [plain for _, plain in versions]
    assert [dict(kept) for kept, _ in reversed(versions)] == [plain for _, plain in reversed(versions)]
