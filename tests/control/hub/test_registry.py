"""Adapters by name."""

from __future__ import annotations

import pytest

from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.hub.registry import Registry
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Misuse, Refused
from sayso.testing.provider import ScriptedProvider
from tests.control.houses import NOON

LOOP = OwnLoop(ScriptedProvider([]), clock=ManualClock(NOON), ids=CountingIds(), model_ref="m")


@pytest.mark.req("OAP-085")
def test_adapters_are_listed_in_the_order_of_their_names() -> None:
    """Whatever order they were registered in."""
    assert [name for name, _ in Registry({"pi": LOOP, "acp": LOOP})] == ["acp", "pi"]


@pytest.mark.req("OAP-004")
def test_an_unknown_adapter_is_refused_by_name() -> None:
    """It is never replaced by another."""
    with pytest.raises(Refused) as refused:
        Registry({"pi": LOOP}).find("PI")
    assert refused.value.refusal.code == "unknown_adapter"


@pytest.mark.parametrize("name", ["", "a/b", "A", "x" * 65, ".hidden"])
def test_a_name_that_is_no_address_is_a_bug_of_the_house(name: str) -> None:
    """It stands in a path."""
    with pytest.raises(Misuse):
        Registry({name: LOOP})
