"""The registry of codes holds together."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import pytest

import sayso.gateway
from sayso.core.refusal import Misuse
from sayso.gateway.guard.rules.codes import CODES, UNLISTED, Code, declare, find_code
from sayso.gateway.guard.rules.ladder import LADDER

for _each in walk_packages(sayso.gateway.__path__, "sayso.gateway."):
    import_module(_each.name)  # every door's codes, whatever other tests have imported


@pytest.mark.req("GTW-021a", "GTW-022")
def test_numbers_begin_with_their_status_and_lie_outside_what_json_rpc_reserves() -> None:
    """Every code has one of the statuses that the doors answer with."""
    assert {code.status for code in CODES.values()} <= {400, 401, 403, 404, 405, 406, 409, 413, 429, 500, 502, 503}
    assert all(code.rpc // 100 == code.status for code in CODES.values())
    assert not any(-32768 <= code.rpc <= -32000 for code in CODES.values())
    assert len({code.rpc for code in CODES.values()}) == len(CODES)


@pytest.mark.req("GTW-013")
def test_only_what_a_keys_holder_can_do_to_itself_counts() -> None:
    """A bug, a wrong key and a rate do not."""
    counted = {code.code for code in CODES.values() if code.counts}
    assert counted == {"bad_signature", "stale_timestamp", "replayed_signature", "payload_limits"}


def test_every_rung_refuses_with_registered_codes() -> None:
    """The printed ladder names no code that does not exist."""
    assert {code for rung in LADDER for code in rung.codes} <= set(CODES)


def test_a_code_is_declared_once() -> None:
    """A second row under the same code, the same number, or a number that is not its status's, is a bug."""
    for wrong in (
        Code("bad_signature", 403, 40399, "", ""),
        Code("x", 403, 40302, "", ""),
        Code("y", 403, 40499, "", ""),
    ):
        with pytest.raises(Misuse):
            declare(wrong)


def test_a_foreign_code_is_answered_as_malformed_and_never_counted() -> None:
    """An act's own refusal keeps its code, under 400."""
    assert (find_code("room_is_full"), UNLISTED.status, UNLISTED.counts) == (UNLISTED, 400, False)
