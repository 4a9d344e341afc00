"""Each limit is one environment variable."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.apps.gateway_settings import SETTINGS, read_ceilings, read_deadlines, read_limits
from sayso.core.gcra import Limit
from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits
from sayso.governance.constitution import Ceilings
from sayso.governance.gate import Deadlines


@pytest.mark.req("GTW-020")
def test_defaults_are_the_protocols() -> None:
    """An empty environment and empty variables leave them."""
    assert read_limits({}) == read_limits({SETTINGS[0].variable: " "}) == DEFAULTS
    assert (read_deadlines({}), read_ceilings({})) == (Deadlines(), Ceilings())


@pytest.mark.req("GTW-020", "GTW-021")
def test_every_limit_can_be_set() -> None:
    """Each variable changes its own limit and nothing else is left over."""
    values = {setting.variable: str(setting.low + number + 1) for number, setting in enumerate(SETTINGS)}
    second, minute = timedelta(seconds=1), timedelta(minutes=1)
    assert read_limits(values) == Limits(
        body_bytes=1025,
        string_chars=66,
        payload_levels=4,
        envelope_levels=12,
        minute=Limit(minute, 6),
        second=Limit(second, 7),
        coarse=Limit(second, 8),
        address=Limit(minute, 9),
        signature_age=timedelta(seconds=14),
        violations=11,
        violation_window=timedelta(hours=12),
        settle_within=timedelta(seconds=22),
    )
    assert read_deadlines(values) == Deadlines(
        decide=timedelta(seconds=14), begin=timedelta(seconds=15), answer=timedelta(seconds=16)
    )
    assert read_ceilings(values) == Ceilings(cents=16, seconds=18)
    fields = [each for type_ in (Limits, Deadlines, Ceilings) for each in type_.__struct_fields__]
    assert len(SETTINGS) == len(fields)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "1_000", "٣", "x", "1" * 10])
def test_what_is_no_whole_number_is_refused_by_name(value: str) -> None:
    """A limit that cannot be read stops the start, and never means no limit."""
    with pytest.raises(Refused) as no:
        read_limits({"SAYSO_GATEWAY_CALLS_PER_MINUTE": value})
    assert (no.value.refusal.code, no.value.refusal.place) == ("settings_invalid", "SAYSO_GATEWAY_CALLS_PER_MINUTE")
