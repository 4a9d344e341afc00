"""Article VIII looks at the names of members, never at what people say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import strictjson
from sayso.core.canonical import canonical
from sayso.governance.arguments import names_secret

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=12) | st.sampled_from(["password", '"secret":']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "api_key", "x_secret", "secretary", 'a"password']), inner, max_size=3
        )
    ),
    max_leaves=12,
)


def has_secret(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(has_secret, value))
    if isinstance(value, dict):
        return any(name in ("api_key", "x_secret", 'a"password') or has_secret(inner) for name, inner in value.items())
    return False


@pytest.mark.req("GTW-031")
@given(VALUES)
def test_a_member_named_like_a_secret_is_found_at_any_depth(value: Any) -> None:
    """In both spellings that arguments are written in; a value of the same words is nothing."""
    assert names_secret(strictjson.encode(value)) is has_secret(value)
    assert names_secret(canonical(value)) is has_secret(value)


@pytest.mark.req("GTW-031")
@pytest.mark.parametrize(
    "name", ["password", "my_Password", "apiKey", "API_KEY", "refreshToken", "cookie", "Credentials"]
)
def test_every_usual_spelling_counts(name: str) -> None:
    """However it is written."""
    assert names_secret(strictjson.encode({"deep": [{name: "x"}]}))


@pytest.mark.parametrize("name", ["passwordless", "secretary", "token", "keyword", ""])
def test_a_name_that_only_resembles_one_does_not(name: str) -> None:
    """A member that is something else."""
    assert not names_secret(strictjson.encode({name: "password"}))
