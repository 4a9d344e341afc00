"""The strict reader: what it takes, what it refuses and under which reason, and that nothing else ever escapes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Misuse, Refused
from sayso.core.strictjson import MAX_INTEGER, MIN_INTEGER, decode, encode, parse


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    start: str
    minutes: int
    is_open: bool = True


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    window: Window
    tags: dict[str, list[Window]] = {}


def refusal_of(data: bytes, **options: int) -> tuple[str, str | None, str | None]:
    """Code, reason and place of the refusal that reading these bytes ends in."""
    with pytest.raises(Refused) as caught:
        parse(data, **options)
    refusal = caught.value.refusal
    return refusal.code, refusal.reason, refusal.place


DUPLICATES = [
    b'{"a":1,"a":1}',
    b'{"a":1,"\\u0061":2}',
    b'{"\\u0061":1,"\\u0061":2}',
    b'{"x":{"y":[{"b":1,"b":2}]}}',
    b'[[{"deep":{"":0,"":0}}]]',
    '{"é":1,"\\u00e9":2}'.encode(),
]


@pytest.mark.req("SCH-024")
@pytest.mark.parametrize("data", DUPLICATES)
def test_duplicate_members_are_refused(data: bytes) -> None:
    """One object never names a member twice, however deep it lies and however the name is escaped."""
    code, reason, place = refusal_of(data)
    assert (code, reason) == ("malformed_json", "duplicate_member")
    assert place is not None
    assert place.startswith("line 1 column ")


def test_one_name_in_two_objects_is_no_duplicate() -> None:
    """The same name may stand in siblings and in parents."""
    assert parse(b'{"a":{"a":1},"b":[{"a":2},{"a":3}]}') == {"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}


@pytest.mark.parametrize(
    ("data", "reason", "place"),
    [
        (b"NaN", "not_finite", "line 1 column 1"),
        (b"[1,\n Infinity]", "not_finite", "line 2 column 2"),
        (b'{"a":-Infinity}', "not_finite", "line 1 column 7"),
        (b"1e400", "number_out_of_range", "line 1 column 1"),
        (b'{"a":\n  [-1E+400]}', "number_out_of_range", "line 2 column 4"),
        (b'{"\\null":null,"null":"null","a":1e400}', "number_out_of_range", "line 1 column 33"),
        (b"[null,1" + b"0" * 400 + b".0]", "number_out_of_range", "line 1 column 7"),
        (b"[9223372036854775808]", "number_out_of_range", "line 1 column 2"),
        (b"-9223372036854775809", "number_out_of_range", "line 1 column 1"),
        (b'["9223372036854775808", "\\"1e400", 9223372036854775808]', "number_out_of_range", "line 1 column 36"),
        (b"1" * 4300, "number_out_of_range", "line 1 column 1"),
        (b"[-" + b"9" * 4301 + b"]", "number_out_of_range", "line 1 column 4304"),
        (b"1" * 5000, "number_out_of_range", "line 1 column 4302"),
        (b'"\\ud800"', "lone_surrogate", "line 1 column 8"),
        (b'"\\udc00"', "lone_surrogate", "line 1 column 7"),
        (b'{"\\ud800\\u0041":1}', "lone_surrogate", "line 1 column 14"),
        (b'"\xff"', "not_utf8", "line 1 column 2"),
        (b'"\xed\xa0\x80"', "not_utf8", "line 1 column 2"),
        (b'"\xc0\xaf"', "not_utf8", "line 1 column 2"),
        (b"[1,\n\xff]", "not_utf8", "line 2 column 1"),
        (b"\xff\xfe1\x00", "not_utf8", "line 1 column 1"),
        (b"\xef\xbb\xbf{}", "bom", "line 1 column 1"),
        (b"{} {}", "trailing_data", "line 1 column 4"),
        (b"1\x00", "trailing_data", "line 1 column 2"),
        (b"", "syntax", "line 1 column 0"),
        (b"[1,]", "syntax", "line 1 column 4"),
        (b"{'a':1}", "syntax", "line 1 column 2"),
        (b'{"a" 1}', "syntax", "line 1 column 6"),
        (b"01", "syntax", "line 1 column 2"),
        (b"+1", "syntax", "line 1 column 1"),
        (b".5", "syntax", "line 1 column 1"),
        (b"// no\n1", "syntax", "line 1 column 1"),
        (b'"\x01"', "syntax", "line 1 column 2"),
        (b'"\\x41"', "syntax", "line 1 column 3"),
        (b"\xa01", "not_utf8", "line 1 column 1"),
        (b"True", "syntax", "line 1 column 1"),
    ],
)
def test_malformed_json_is_refused_with_its_reason_and_place(data: bytes, reason: str, place: str) -> None:
    """Each kind of fault has one reason, and the place where reading stopped."""
    assert refusal_of(data) == ("malformed_json", reason, place)


def test_the_last_integers_in_range_are_read() -> None:
    """Both ends of 64 bits with sign pass, and so do the largest and smallest doubles."""
    data = f"[{MIN_INTEGER},{MAX_INTEGER},1.7976931348623157e308,5e-324,1e-400,null]".encode()
    assert parse(data) == [MIN_INTEGER, MAX_INTEGER, 1.7976931348623157e308, 5e-324, 0.0, None]


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [1, 7, 64, 200])
def test_nesting_is_bounded_exactly(opening: bytes, depth: int) -> None:
    """As many levels as allowed are read, one more is refused at the bracket that is too many."""
    closing = b"]" if opening == b"[" else b"}"
    parse(opening * depth + b"1" + closing * depth, depth=depth)
    deeper = opening * (depth + 1) + b"1" + closing * (depth + 1)
    code, reason, place = refusal_of(deeper, depth=depth)
    assert (code, reason) == ("malformed_json", "too_deep")
    if depth < 200:  # from there on the parser stops by itself, a little later
        assert place == f"line 1 column {depth * len(opening) + 1}"


def test_a_wild_number_at_the_last_level_is_found() -> None:
    """The bound on nesting does not end the search for numbers one level early."""
    assert refusal_of(b"[[1e999]]", depth=2) == ("malformed_json", "number_out_of_range", "line 1 column 3")


def test_many_siblings_are_not_depth() -> None:
    """A long list of small objects is wide and not deep."""
    rows = [{"n": {"m": index}} for index in range(500)]
    assert parse(json.dumps(rows).encode(), depth=3) == rows


def test_brackets_in_text_are_not_depth() -> None:
    """Only brackets outside of strings nest."""
    text = '[{"' * 100 + "\\"
    assert parse(json.dumps({"a": text}).encode(), depth=1) == {"a": text}


def test_a_depth_beyond_the_parser_is_misuse() -> None:
    """Nobody is promised more levels than the parser has."""
    with pytest.raises(Misuse):
        parse(b"1", depth=201)


@pytest.mark.req("SCH-023")
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"window":{"start":"x","minutes":"5"}}', "$.window.minutes"),
        (b'{"window":{"start":"x","minutes":5.0}}', "$.window.minutes"),
        (b'{"window":{"start":"x","minutes":true}}', "$.window.minutes"),
        (b'{"window":{"start":"x","minutes":5,"is_open":1}}', "$.window.is_open"),
        (b'{"window":{"start":"x"}}', "$.window"),
        (b'{"window":{"start":"x","minutes":5,"more":1}}', "$.window"),
        (b'{"window":{"start":"x","minutes":5},"more":1}', "$"),
        (b'{"window":{"start":"x","minutes":5},"tags":{"a b":[{"start":1,"minutes":5}]}}', "$.tags[...][0].start"),
        (b"[]", "$"),
    ],
)
def test_what_the_schema_does_not_know_is_refused_with_its_path(data: bytes, place: str) -> None:
    """Types are strict, objects are closed at every depth, and the path leads to the fault."""
    with pytest.raises(Refused) as caught:
        decode(data, Ask)
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("schema_invalid", place)


def test_decoding_gives_the_value() -> None:
    """What fits comes out whole."""
    data = b'{"window":{"start":"x","minutes":5},"tags":{"t":[]}}'
    assert decode(data, Ask) == Ask(window=Window(start="x", minutes=5), tags={"t": []})


def test_a_duplicate_never_reaches_the_schema() -> None:
    """The gate comes first, also for typed documents."""
    with pytest.raises(Refused) as caught:
        decode(b'{"window":{"start":"x","minutes":5,"minutes":5}}', Ask)
    assert caught.value.refusal.reason == "duplicate_member"


@pytest.mark.parametrize("value", ["\ud800", {1, object()}, {"a": object()}])
def test_what_has_no_json_form_is_misuse(value: object) -> None:
    """Our own values are always writable; anything else is a bug of ours."""
    with pytest.raises(Misuse):
        encode(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(MIN_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_values, st.booleans())
def test_every_json_value_is_read_back(value: Any, ascii_only: bool) -> None:
    """Whatever another library writes as JSON is read as the same value."""
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(json_values)
def test_what_we_write_we_read(value: Any) -> None:
    """Writer and reader are inverse."""
    assert parse(encode(value)) == value


@given(st.binary(max_size=40) | st.lists(st.sampled_from([*b'{}[]",:\\u0da8ef1-.eE+ \nntrl\xf0\x80'])).map(bytes))
def test_nothing_but_a_refusal_ever_escapes(data: bytes) -> None:
    """Any bytes at all end in a value or in one typed refusal with a place."""
    refusals = []
    for read in (parse, lambda given: decode(given, Ask)):
        try:
            read(data)
        except Refused as refused:
            refusals.append(refused.refusal)
    assert {refusal.code for refusal in refusals} <= {"malformed_json", "schema_invalid"}
    assert all(refusal.place for refusal in refusals)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def _is_tame(value: Any) -> bool:
    match value:
        case dict():
            return all(_is_tame(name) and _is_tame(item) for name, item in value.items())
        case list():
            return all(map(_is_tame, value))
        case str():
            return not any("\ud800" <= sign <= "\udfff" for sign in value)
        case bool():
            return True
        case int():
            return MIN_INTEGER <= value <= MAX_INTEGER
        case float():
            return abs(value) != float("inf")
    return True


@given(
    st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", '"a"', '"\\u0061"', '"b"', ":", ",", "1", "-0", "1e400", "1E3", "9223372036854775808",
             "-9223372036854775808", "0.5", "null", "true", "NaN", '"\\ud800"', '"\\ud83d\\ude00"', " ", "\n",
             "1e999999"]
        ),
        max_size=12,
    ).map("".join)
    | json_values.map(lambda value: json.dumps(value))
)  # fmt: skip
def test_the_verdict_is_that_of_an_independent_reader(text: str) -> None:
    """The standard library's reader, with the same rules hooked in, takes and refuses the same texts."""
    try:
        expected = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        is_good = _is_tame(expected)
    except (ValueError, RecursionError):
        is_good = False
    if is_good:
        assert parse(text.encode()) == expected
    else:
        with pytest.raises(Refused):
            parse(text.encode())
