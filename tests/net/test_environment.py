"""What a child sees of our environment."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Refused
from sayso.net.environment import child_environment

PARENT = {"PATH": "/bin", "TOKEN": "secret", "SAYSO_CLOCK_FILE": "/home/me/clock.json"}


@pytest.mark.req("OAP-044")
def test_only_listed_names_pass_and_the_clock() -> None:
    """A bare name takes the parent's value, NAME=value its own, an unset one is left out; the clock always passes."""
    assert child_environment(["TOKEN", "MODE=a=b", "EMPTY=", "UNSET"], PARENT) == {
        "TOKEN": "secret", "MODE": "a=b", "EMPTY": "", "SAYSO_CLOCK_FILE": "/home/me/clock.json",
    }  # fmt: skip
    assert child_environment([], {"PATH": "/bin"}) == {}


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (["TOKEN", "TOKEN=x"], "repeated"),
        (["A=secret", "A=secret"], "repeated"),
        (["=secret"], "name"),
        (["A B=secret"], "name"),
        (["1A=secret"], "name"),
        ([""], "name"),
        (["A=sec\0ret"], "value"),
        (["UNSET"], "not_set"),
    ],
)
def test_a_wrong_entry_is_refused_without_its_value(entries: list[str], reason: str) -> None:
    """Listed twice, misnamed, or not set where it must be."""
    with pytest.raises(Refused) as caught:
        child_environment(entries, PARENT, must_be_set=True)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("environment_not_valid", reason)
    assert "secret" not in str(caught.value)
