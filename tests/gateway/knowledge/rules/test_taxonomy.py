"""A taxonomy is whole or refused, and knows who is whose neighbour."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Corrupt, Refused
from sayso.gateway.knowledge.domains import load_domains
from sayso.gateway.knowledge.rules.taxonomy import read_domains
from tests.gateway.knowledge.shelf import ROWS, domains, file

LONG = "one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.req("GTW-041", "GTW-043")
def test_the_package_holds_a_thousand_domains_that_pass_every_check() -> None:
    """Exactly 1,000, each reachable from the top."""
    found = load_domains()
    assert len(found) == 1000
    assert sum(len(found.subtree(root.key)) for root in found.roots()) == 1000


@pytest.mark.req("GTW-043")
@pytest.mark.parametrize(
    ("rows", "what", "place"),
    [
        ([*ROWS, ("food", "Foods", "", LONG)], "key 'food' stands twice", "line 14"),
        ([*ROWS, ("meals", "FOOD", "", LONG)], "title 'food' stands twice", "line 14"),
        ([*ROWS, ("meals", "Meals", "", ROWS[0][3].upper())], "description", "line 14"),
        ([*ROWS, ("meals", "Meals", "", LONG.removesuffix(" twelve"))], "fewer than 12 words", "line 14"),
        ([*ROWS, ("meals", "Meals", "kitchen", LONG)], "parent 'kitchen' is not there", "line 14"),
        ([*ROWS, ("a", "A", "b", LONG), ("b", "B", "a", f"{LONG} more")], "'a' lies below itself", "line 14"),
        ([*ROWS, ("Meals", "Meals", "", LONG)], "is no key", "line 14"),
        ([*ROWS, ("meals", " ", "", LONG)], "without a title", "line 14"),
        ([*ROWS, ("meals", "Meals", "")], "3 columns", "line 14"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_with_its_line(rows: list[tuple[str, ...]], what: str, place: str) -> None:
    """Half a taxonomy is none."""
    with pytest.raises(Corrupt, match=what) as caught:
        read_domains(file(rows), count=None)
    assert caught.value.place == place


@pytest.mark.req("GTW-043")
def test_a_file_with_another_number_of_domains_is_refused() -> None:
    """A thousand is a promise."""
    with pytest.raises(Corrupt, match="12 domains and not 1000"):
        read_domains(file())
    with pytest.raises(Corrupt, match="columns"):
        read_domains(b"key\ttitle\n", count=None)
    with pytest.raises(Corrupt, match="UTF-8"):
        read_domains(b"\xff", count=None)


def test_a_tree_is_walked_both_ways() -> None:
    """Down to everything below, up to the top."""
    found = domains()
    assert found.subtree("health") == ("health", "health.dentistry", "health.sleep", "health.dentistry.children")
    assert found.path("health.dentistry.children") == ("health", "health.dentistry", "health.dentistry.children")
    assert [each.key for each in found.roots()] == ["health", "travel", "energy", "food"]
    assert found.subtree("nowhere") == ()


@pytest.mark.req("GTW-044")
@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("health.sleep", "travel.rail", True),
        ("health.dentistry.children", "health.sleep", True),
        ("health", "travel", True),
        ("health.dentistry", "health.sleep", False),
        ("health", "health.dentistry.children", False),
        ("health", "health", False),
        ("health", "nowhere", False),
    ],
)
def test_a_link_says_something_between_domains_that_are_apart(one: str, other: str, *, apart: bool) -> None:
    """Neither within the other nor under one parent, whichever is named first."""
    assert domains().apart(one, other) is apart
    assert domains().apart(other, one) is apart


def test_an_unknown_key_is_refused_with_what_is_spelt_like_it() -> None:
    """A model that guessed a key can correct itself."""
    with pytest.raises(Refused) as caught:
        domains().find("medicine.sleep", place="$.domain_key")
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("unknown_domain", "$.domain_key")
    assert "health.sleep" in str(caught.value.refusal.help)
