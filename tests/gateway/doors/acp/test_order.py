"""What a message orders."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.gateway.doors.acp.order import Order, act_of, find_label, is_withdrawal, label_of, read_order
from sayso.gateway.doors.acp.wire import Message, Part
from sayso.governance.acts import Act, ActClass

PLACE = "$.input[0].parts[0].content"


class Text(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str
    times: int = 1


class Two(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str
    other: str


def act(name: str, arguments: type[msgspec.Struct] = Text) -> Act:
    return Act(
        name=name, act_class=ActClass.DISCLOSURE, title=name, description="", arguments=arguments, touches_others=False
    )


def json_part(value: object, **more: Any) -> Part:
    return Part(content_type="application/json", content=strictjson.encode(value).decode(), **more)


def code_of(act_: Act | None, *messages: Message) -> tuple[str, str | None, str | None]:
    with pytest.raises(Refused) as refused:
        read_order(act_, messages)
    refusal = refused.value.refusal
    return refusal.code, refusal.reason, refusal.place


@pytest.mark.req("GTW-004")
def test_an_acts_agent_takes_its_arguments() -> None:
    """The part is the arguments, whatever they are: what they have to be is judged by the act."""
    message = Message(parts=[json_part({"text": "hello", "times": 2})])
    assert read_order(act("echo"), [message]) == Order(act="echo", arguments={"text": "hello", "times": 2}, place=PLACE)


@pytest.mark.req("GTW-004")
def test_the_general_agent_takes_an_act_by_name() -> None:
    """Without arguments there are none."""
    with_them = Message(parts=[json_part({"act": "echo", "arguments": {"text": "hello"}})])
    without = Message(parts=[json_part({"act": "echo"})])
    assert [read_order(None, [each]) for each in (with_them, without)] == [
        Order(act="echo", arguments={"text": "hello"}, place=f"{PLACE}.arguments"),
        Order(act="echo", arguments={}, place=f"{PLACE}.arguments"),
    ]


@pytest.mark.req("GTW-004")
def test_text_is_the_only_required_argument() -> None:
    """Several texts are one; and base64 is text as well."""
    hello = base64.b64encode(b"hello").decode()
    plain = Message(parts=[Part(content="hel"), Part(content="lo", content_type="text/plain; charset=utf-8")])
    packed = Message(parts=[Part(content=hello, content_encoding="base64")])
    wanted = Order(act="echo", arguments={"text": "hello"}, place=PLACE)
    assert [read_order(act("echo"), [plain]), read_order(act("echo"), [packed])] == [wanted, wanted]


@pytest.mark.req("GTW-004")
def test_text_is_never_guessed_at() -> None:
    """Not where two arguments are needed, and not for the general agent."""
    message = Message(parts=[Part(content="hello")])
    assert code_of(act("two", Two), message) == ("malformed_request", "input", PLACE)
    assert code_of(None, message) == ("malformed_request", "input", PLACE)


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (Message(parts=[json_part({})]), Message(parts=[json_part({})])),
        (Message(parts=[]),),
        (Message(parts=[json_part({}), json_part({})]),),
        (Message(parts=[Part(content="x"), json_part({})]),),
        (Message(parts=[Part()]),),
        (Message(parts=[Part(content_url="http://127.0.0.1/secret")]),),
        (Message(parts=[Part(content="x", content_url="http://127.0.0.1/secret")]),),
        (Message(parts=[Part(content="x", content_type="image/png")]),),
        (Message(parts=[Part(content="!!!", content_encoding="base64")]),),
        (Message(parts=[Part(content="/w==", content_encoding="base64")]),),
    ],
)
@pytest.mark.req("GTW-004")
def test_what_is_not_one_order_is_refused(messages: tuple[Message, ...]) -> None:
    """Nothing, two things at once, an address instead of content, and what is no text."""
    assert code_of(act("echo"), *messages)[:2] == ("malformed_request", "input")


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"text": NaN}', "not_finite"),
        ('{"text": 1, "text": 2}', "duplicate_member"),
        ('{"text": "\\ud800"}', "lone_surrogate"),
        ("{", "syntax"),
    ],
)
def test_json_inside_a_part_is_read_as_strictly_as_outside(content: str, reason: str) -> None:
    """And the refusal says where in which part."""
    code, why, place = code_of(act("echo"), Message(parts=[Part(content_type="application/json", content=content)]))
    assert (code, why, (place or "").startswith(f"{PLACE} line ")) == ("malformed_json", reason, True)


@pytest.mark.req("GTW-021")
def test_brackets_inside_a_part_are_bounded_before_they_are_parsed() -> None:
    """Four thousand of them fit a body."""
    part = Part(content_type="application/json", content="[" * 4000)
    assert code_of(act("echo"), Message(parts=[part]))[:2] == ("payload_limits", "too_deep")


@pytest.mark.req("GTW-021a")
@pytest.mark.parametrize("value", [[], 1, {"act": 1}, {"act": "echo", "other": 1}, {"act": "echo", "arguments": []}])
def test_the_general_agents_order_is_closed(value: object) -> None:
    """Unknown members and wrong types are refused where they stand."""
    code, _, place = code_of(None, Message(parts=[json_part(value)]))
    assert (code, (place or "").startswith(PLACE)) == ("schema_invalid", True)


@pytest.mark.req("GTW-004")
def test_each_act_has_one_label() -> None:
    """Labels are RFC 1123's; an act without one, or whose label is taken, has the general agent."""
    acts = [act(name) for name in ("take_note", "take.note", "sayso", "_x", "echo", "a" * 64)]
    assert {label: each.name for label, each in find_label(acts).items()} == {"take-note": "take_note", "echo": "echo"}
    assert (act_of("sayso", acts), label_of("Take_Note")) == (None, "take-note")


@pytest.mark.req("GTW-004")
@pytest.mark.parametrize(
    ("text", "withdraws"),
    [("withdraw", True), (" withdraw\n", True), ("Withdraw it", False), ("approve", False), ("", False)],
)
def test_a_resume_withdraws_by_one_word_only(text: str, withdraws: bool) -> None:
    """Whatever else it says, yes included, only asks again."""
    assert is_withdrawal(Message(parts=[Part(content=text)])) is withdraws


@given(
    st.binary(max_size=200),
    st.sampled_from([None, "plain", "base64"]),
    st.sampled_from(["text/plain", "application/json"]),
)
@pytest.mark.req("GTW-021a")
def test_no_content_is_more_than_refused(data: bytes, encoding: Any, kind: str) -> None:
    """An order, or a refusal; nothing else ever leaves."""
    content = base64.b64encode(data).decode() if encoding == "base64" else data.decode("latin-1")
    part = Part(content=content, content_type=kind, content_encoding=encoding)
    try:
        order = read_order(act("echo"), [Message(parts=[part])])
    except Refused:
        return
    assert order.act == "echo"
    assert isinstance(order.arguments, Mapping) or kind == "application/json"
