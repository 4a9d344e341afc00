"""Whose word counts for a model's limits, and how far a window may be raised."""

from __future__ import annotations

import pytest

from sayso.control.provider.catalog.limits import DevFacts, ListedFacts, allow_window, model_facts
from sayso.control.provider.catalog.rows import KnownModel, Row
from sayso.core.refusal import Refused

DEV = DevFacts(context_window=4, max_tokens=40, is_deprecated=True)
LISTED = ListedFacts(name="Listed", context_window=2, max_tokens=20)


@pytest.mark.req("OAP-147")
def test_models_dev_fills_what_is_missing_and_replaces_nothing() -> None:
    """The entry, the listing, the row, models.dev; deprecation is models.dev's alone."""
    known = KnownModel(id="m", name="Entry", context_window=1)
    row = Row(id="toy", context_window=3, models=(known,))
    found = model_facts(row, "m", listed=LISTED, dev=DEV)
    assert (found.name, found.context_window, found.max_tokens, found.is_deprecated) == ("Entry", 1, 20, True)
    other = model_facts(row, "other", listed=LISTED, dev=DEV)
    assert (other.name, other.context_window) == ("Listed", 2)
    assert model_facts(row, "other", dev=DEV).context_window == 3
    assert model_facts(Row(id="toy"), "other", dev=DEV).context_window == 4
    assert model_facts(Row(id="toy"), "other").context_window is None


@pytest.mark.req("OAP-145")
def test_a_window_is_lowered_freely_and_raised_to_the_ceiling_alone() -> None:
    """The row's figure is the ceiling; without one, the reported window is."""
    free = model_facts(Row(id="toy", max_context_window=100), "m", listed=ListedFacts(context_window=50))
    assert [allow_window(free, asked) for asked in (1, 50, 51, 100)] == [1, 50, 51, 100]
    bound = model_facts(Row(id="toy"), "m", listed=ListedFacts(context_window=50))
    assert allow_window(bound, 50) == 50
    for facts, asked in ((free, 101), (bound, 51), (bound, 0), (model_facts(Row(id="toy"), "m"), 1)):
        with pytest.raises(Refused) as refused:
            allow_window(facts, asked)
        assert (refused.value.refusal.code, refused.value.refusal.reason) == ("invalid_request", "context_window")
