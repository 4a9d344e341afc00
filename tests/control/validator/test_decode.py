"""Phase one: what a trace may look like as bytes, and that hostile ones get a diagnostic and never anything else."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.validator.decode import MAX_LINE, Frame, TraceReader
from sayso.control.validator.diagnostics import Finding
from sayso.control.validator.judging import judge


def told(data: bytes) -> list[tuple[str, int | None, int | None]]:
    reader = TraceReader(data)
    return [
        ("", each.index, each.line) if isinstance(each, Frame) else (each.code, each.index, each.line)
        for each in reader.frames()
    ]


@pytest.mark.req("OAP-022", "OAP-025")
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'[{"a":1},\n{"a":2}]', [("", 0, None), ("", 1, None)]),
        (b'{"a":1}\n\n{"a":2}\n', [("", 0, 1), ("", 1, 3)]),
        (b'{"a":1}\r\n{"a":2}', [("", 0, 1), ("", 1, 2)]),
        (b'{\n "a": 1\n}', [("", 0, None)]),
        (b"[1]\n[2]\n", [("", 0, 1), ("", 1, 2)]),
        (b"[1]\n", [("", 0, None)]),
        ('{"a":"x\u2028y\u0085z"}\n{"a":2}'.encode(), [("", 0, 1), ("", 1, 2)]),
        (b"", [("malformed_json", None, None)]),
        (b"[]", [("malformed_json", None, None)]),
        (b" \n\n", [("malformed_json", None, None)]),
        (b'{"a":1}\n{"a":\n{"a":3}', [("", 0, 1), ("malformed_json", 1, 2), ("", 2, 3)]),
        (b'{"a":1}\n{"a":1,"a":2}', [("", 0, 1), ("duplicate_key", 1, 2)]),
        (b"[{}]\n oh", [("malformed_json", 0, None)]),
        (b"[{},\n{},\n{]", [("malformed_json", 2, None)]),
        (b'{"a":NaN}', [("malformed_json", 0, 1)]),
        (b'{"a":1e400}', [("malformed_json", 0, 1)]),
        (b'{"a":12345678901234567890123}', [("malformed_json", 0, 1)]),
        (b'{"a":"\\ud800"}', [("malformed_json", 0, 1)]),
        (b'{"a":"\xff"}', [("malformed_json", 0, 1)]),
        (b"\xef\xbb\xbf{}", [("malformed_json", 0, 1)]),
        (b'{"a":' * 100_000, [("malformed_json", 0, 1)]),
        (b"[" * 100_000, [("malformed_json", 0, None)]),
    ],
)
def test_bytes_are_read_or_told(data: bytes, found: list[tuple[str, int | None, int | None]]) -> None:
    """An array, or lines split at the byte 0x0A alone; a fault of one line does not hide the next."""
    assert told(data) == found


@pytest.mark.req("OAP-025")
def test_a_finding_in_an_array_says_its_line() -> None:
    """A person looks for a line, whatever the file's form."""
    trace = [{"type": 1, "text": '"[{'}, {"a": ["]", {}]}, {"b": 2}]
    report = judge(json.dumps(trace, indent=1).encode())
    assert [(each.index, each.line) for each in report.diagnostics] == [(0, 2), (1, 6), (2, 12)]


def test_a_line_over_the_bound_is_told_and_the_next_is_read() -> None:
    """Its size is said, and it is never held whole twice."""
    data = b'{"a":"' + b"x" * MAX_LINE + b'"}\n{"a":2}'
    reader = TraceReader(io.BytesIO(b'{"a":0}\n' + data))
    first, second, third = reader.frames()
    assert isinstance(second, Finding)
    assert (second.code, second.line, str(len(data) - 7) in second.message) == ("malformed_json", 2, True)
    assert (first, third) == (Frame(0, {"a": 0}, 1), Frame(2, {"a": 2}, 3))


class Lines(io.BytesIO):
    """A file whose end may be far away."""

    def read(self, size: int | None = -1) -> bytes:
        raise AssertionError("a file of lines is read line by line")


def test_lines_are_read_as_they_come() -> None:
    """Nothing but the line at hand is held of a trace that may be long."""
    frames = TraceReader(Lines(b'{"a":1}\n{"a":2}\n{"a":3}\n')).frames()
    assert [next(frames), next(frames)] == [Frame(0, {"a": 1}, 1), Frame(1, {"a": 2}, 2)]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"a":{"b":1,"b":1}}', ""),
        (b'{"a":{"b":1,"b":1.0}}', "duplicate_key"),
        (b'{"a":{"b":{"c":1,"c":2},"b":{"c":1,"c":2}}}', "duplicate_key"),
        (b'{"protocol":"x","seq":1,"seq":1}', ""),
        (b'{"protocol":"x","id":"a","id":"a"}', "duplicate_key"),
        (b'{"protocol":"x","payload":{},"payload":{}}', "duplicate_key"),
        (b'{"a":1,"a":1,"b":NaN}', "duplicate_key"),
        (b'{"a":1,"a":1,"b":1e999}', "duplicate_key"),
        (b'{"a":1,"a":1,"b":"\\ud800"}', "duplicate_key"),
        (b'{"a":1,"a":1,"b":99999999999999999999}', "malformed_json"),
        (b'{"a":1,"a":1,"b":' + b"[" * 70 + b"]" * 70 + b"}", "malformed_json"),
    ],
)
def test_only_a_repeat_that_says_the_same_again_is_read(data: bytes, code: str) -> None:
    """And not in the members every reader routes on (decision 0025); nothing else is forgiven with it."""
    assert [each[0] for each in told(data)] == [code]


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    """Whatever they are, the report is a report."""
    report = judge(data)
    assert not report.valid
    assert all(each.phase in ("decode", "schema") for each in report.diagnostics)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4), st.booleans())
def test_arbitrary_json_never_raises(values: list[object], is_lines: bool) -> None:
    """As an array or as lines, in either mode and profile."""
    text = "\n".join(map(json.dumps, values)) if is_lines else json.dumps(values)
    for profile in ("agent-control-core", "model-provider-core"):
        for mode in ("strict", "tolerant"):
            assert not judge(text.encode(), mode=mode, profile=profile).valid  # type: ignore[arg-type]
