"""Pages of a list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.gateway.doors.mcp.write.listing import PAGE, page_of


@given(st.integers(0, 3 * PAGE + 1))
def test_pages_are_the_whole_list_in_order(size: int) -> None:
    """Each page once, and an end that is the absence of a cursor."""
    entries = list(range(size))
    found: list[object] = []
    cursor = None
    for _ in range(5):
        page = page_of("them", entries, cursor, "legacy")
        found += page["them"]  # type: ignore[operator]
        cursor = page.get("nextCursor")  # type: ignore[assignment]
        if cursor is None:
            break
    assert found == entries


@pytest.mark.parametrize("cursor", ["", "cDA=", "cDEwMA==", "cDU=", "cC0xMDA=", "ä", "cDIwMA==", "p100"])
def test_a_cursor_that_was_never_given_is_refused(cursor: str) -> None:
    """The start, the end, the middle of a page, and what is none."""
    with pytest.raises(Refused) as caught:
        page_of("them", list(range(PAGE)), cursor, "modern")
    assert caught.value.refusal.code == "schema_invalid"
