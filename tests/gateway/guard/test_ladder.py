"""The order of admission: of several reasons to refuse, the first rung's is told."""

from __future__ import annotations

from itertools import combinations

import pytest

from sayso.gateway.crossing import Crossing
from sayso.gateway.guard.rules.headers import read_presented
from sayso.gateway.guard.rules.ladder import ADMISSION, AT_REFUSAL, DECISIVE, LADDER, Knock, judge, read_knock
from sayso.gateway.guard.rules.limits import DEFAULTS
from sayso.gateway.guard.rules.standing import NOBODY, SUSPENDED, Standing
from sayso.proof.requestmac import sign_request_mac
from sayso.store.tables import micros
from sayso.testing.store import START

NOW = micros(START)
STAMP = str(NOW // 1000).encode()
KEY = b"osz_" + b"k" * 43
GOOD = NOBODY._replace(agent="agent_1", key_id="key_1", revoked_us=None, scopes="mcp")

FAULTS = {
    "key": ({}, {"revoked_us": NOW}),
    "suspended": ({}, {"state": SUSPENDED}),
    "coarse": ({}, {"coarse_us": NOW + 2_000_000}),
    "timestamp": ({b"x-osz-timestamp": b"1000000000000"}, {}),
    "signature": ({b"x-osz-signature": b"0" * 64}, {}),
    "replay": ({}, {"spent_us": NOW}),
    "scope": ({}, {"scopes": "a2a tasks"}),
}
CODES = {
    "key": "unknown_key",
    "suspended": "agent_suspended",
    "coarse": "too_many_requests",
    "timestamp": "stale_timestamp",
    "signature": "bad_signature",
    "replay": "replayed_signature",
    "scope": "missing_scope",
}


def faulty(*names: str, method: str = "POST") -> tuple[Knock, Standing]:
    headers = {
        b"x-osz-agent-key": KEY,
        b"x-osz-timestamp": STAMP,
        b"x-osz-signature": sign_request_mac(KEY, STAMP, b"{}").encode(),
    }
    standing = GOOD
    for name in names:
        changed, row = FAULTS[name]
        headers |= changed
        standing = standing._replace(**row)  # type: ignore[arg-type]
    crossing = Crossing(door="mcp", method=method, target=b"/", headers=tuple(headers.items()), body=b"{}", peer="")
    return read_knock(crossing, read_presented(crossing.headers)), standing


@pytest.mark.req("GTW-013")
def test_a_request_without_a_fault_passes_every_rung() -> None:
    """The base of the tests below."""
    assert judge(ADMISSION, *faulty(), NOW, DEFAULTS) is None


@pytest.mark.req("GTW-013")
@pytest.mark.parametrize("names", [(name,) for name in FAULTS] + list(combinations(FAULTS, 2)))
def test_the_first_of_two_faults_answers(names: tuple[str, ...]) -> None:
    """Key, suspended, coarse rate, timestamp, signature, replay, scope: in that order, whatever else is wrong."""
    denial = judge(ADMISSION, *faulty(*names), NOW, DEFAULTS)
    assert denial is not None
    assert denial.refusal.code == CODES[names[0]]


@pytest.mark.req("GTW-013")
def test_the_printed_order_is_the_order_that_is_judged() -> None:
    """The rungs of admission stand in the ladder as they are judged, and the decisive ones are some of them."""
    names = [rung.name for rung in LADDER]
    assert [rung.name for rung in ADMISSION] == names[names.index("key") : names.index("scope") + 1] == list(FAULTS)
    assert names.index("size") < names.index("key")
    assert names.index("scope") < names.index("parse") < names.index("rate") < names.index("receipt")
    assert [rung.name for rung in AT_REFUSAL] == ["key", "suspended", "coarse"]
    assert [rung.name for rung in DECISIVE] == ["key", "suspended", "coarse", "replay"]


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize("name", ["timestamp", "signature"])
def test_a_read_is_judged_without_its_signature(name: str) -> None:
    """GET and HEAD carry none; one that is there is not looked at."""
    assert judge(ADMISSION, *faulty(name, method="GET"), NOW, DEFAULTS) is None
    assert faulty(method="HEAD")[0].signature == b""


@pytest.mark.req("GTW-013a")
@pytest.mark.parametrize(
    "stamp", [b"\xb2" * 13, "٣".encode() * 6 + b"0", b"176036040000", b"17603604000000", b" 760360400000"]
)
def test_only_thirteen_ascii_digits_are_a_timestamp(stamp: bytes) -> None:
    """What int() would accept besides is not one."""
    crossing = Crossing(door="mcp", method="POST", target=b"/", headers=(), body=b"", peer="")
    presented = read_presented(())
    knock = read_knock(crossing, type(presented)(KEY, stamp, b"0" * 64, None))
    assert knock.timestamp_us is None
    denial = judge(ADMISSION, knock, GOOD, NOW, DEFAULTS)
    assert denial is not None
    assert denial.refusal.code == "malformed_timestamp"
