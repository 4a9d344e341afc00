"""What a person reads while their agent works."""

from __future__ import annotations

import io

import pytest

from sayso.apps.asking.conversation import Step
from sayso.apps.asking.telling import TerminalTelling


@pytest.mark.req("SCH-104")
@pytest.mark.parametrize(
    ("by", "code", "said"),
    [
        ({"by": "shop.example"}, "CONFLICT", 'shop.example: "Taken. You ’paid’. Ring us."'),
        ({"by": "shop.example"}, "peer_unreachable", 'Taken. You "paid". Ring us.'),
        ({}, "no_hold", 'Taken. You "paid". Ring us.'),
    ],
)
def test_a_host_that_refuses_is_quoted_and_named(by, code, said):
    """Our own refusals are ours, and stand as they are."""
    out = io.StringIO()
    refused = {"code": code, "message": 'Taken. You "paid".', "help": "Ring us."}
    TerminalTelling(out).called(Step(name="hold_slot", failed=True, result={"refused": refused, **by}))
    assert out.getvalue() == f"  {said}\n"
