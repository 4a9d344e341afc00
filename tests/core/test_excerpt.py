"""What is cut says so, and nothing is lost but what it says."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sayso.core.excerpt import beginning, both_ends


def test_a_text_within_its_bound_stays() -> None:
    """To the last character."""
    assert (beginning("abc", 3), both_ends("abc", 3)) == ("abc", "abc")


def test_a_cut_is_told_where_it_is() -> None:
    """With how much is missing."""
    assert beginning("abcdef", 2) == "ab[4 characters are not shown]"
    assert both_ends("abcdefg", 3) == "a\n[4 characters are left out here]\nfg"


@given(st.text("ab", max_size=40), st.integers(1, 20))
def test_no_more_is_missing_than_is_said(text: str, limit: int) -> None:
    """And no character is shown twice."""
    cut = both_ends(text, limit)
    found = re.search(r"\n\[(\d+) characters are left out here\]\n", cut)
    missing = int(found[1]) if found else 0
    kept = cut.replace(found[0], "") if found else cut
    assert (len(kept) + missing, len(kept)) == (len(text), min(len(text), limit))
    assert text.startswith(kept[: limit // 2])
    assert text.endswith(kept[limit // 2 :])
