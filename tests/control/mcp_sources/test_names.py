"""Names of foreign tools as models are given them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.mcp_sources.names import LONGEST, SEPARATOR, fitted_name

FITS = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("source", "tool", "name"),
    [
        ("files", "read", "files__read"),
        ("my-files_2", "read-it_now", "my-files_2__read-it_now"),
        ("files", "_hidden__x", "files___hidden__x"),
        ("files", "fs.read", "files__fs_read_4074bc02"),
        ("files", "t" * 80, f"files__{'t' * 48}_"),
        ("a__b", "c", "a_b_"),
        ("a_", "c", "a_"),
        ("9lives", "c", "s9lives_"),
        ("", "", "s_"),
        ("файлы", "読む", "s_"),
    ],
)
def test_a_name_fits_and_says_where_it_comes_from(source: str, tool: str, name: str) -> None:
    """What fits stays as it is; what does not ends in eight digits of its own."""
    fitted = fitted_name(source, tool)
    assert fitted.startswith(name)
    assert FITS.fullmatch(fitted)
    assert len(fitted) <= LONGEST


@pytest.mark.req("OAP-156")
@given(st.text(max_size=90), st.text(max_size=90))
def test_every_name_fits(source: str, tool: str) -> None:
    """Whatever a server or an operator calls things."""
    fitted = fitted_name(source, tool)
    assert FITS.fullmatch(fitted)
    assert len(fitted) <= LONGEST
    assert not fitted.partition(SEPARATOR)[0].endswith("_")


@given(st.lists(st.tuples(st.text("ab_.é", max_size=4), st.text("ab_.é", max_size=4)), unique=True, max_size=30))
def test_two_tools_never_share_a_name(pairs: list[tuple[str, str]]) -> None:
    """Near-identical ids and names, underscores and foreign letters among them."""
    assert len({fitted_name(*pair) for pair in pairs}) == len(pairs)
