"""A server's answer as the result a model reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.contract import ToolDone
from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.results import read_result
from sayso.core import strictjson

LIMITS = Limits(result_chars=200, parts=4)


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"content": [said("one"), said("two")]}, "one\ntwo"),
        ({"content": []}, ""),
        ({}, ""),
        ({"content": [said('{"a": 1}')], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [said("words")], "structuredContent": {"a": 1}}, {"text": "words", "structured": {"a": 1}}),
        ({"content": [], "structuredContent": False}, False),
        (
            {"content": [said("see"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
            {
                "text": "see",
                "parts": [
                    {
                        "type": "image",
                        "mimeType": "image/png",
                        "bytes": 3,
                        "left_out": "bytes are not shown to the model",
                    }
                ],
            },
        ),
        (
            {"content": [{"type": "resource_link", "uri": "x://1", "name": "n", "size": 3}]},
            {"parts": [{"type": "resource_link", "uri": "x://1", "name": "n"}]},
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x://1", "blob": "AAA="}}]},
            {
                "parts": [
                    {"type": "resource", "uri": "x://1", "bytes": 2, "left_out": "bytes are not shown to the model"}
                ]
            },
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "x://1", "text": "inside"}}]},
            {"parts": [{"type": "resource", "uri": "x://1", "text": "inside"}]},
        ),
        ({"content": [{"type": "hologram"}, 7]}, {"parts": [{"type": "unknown"}]}),
    ],
)
def test_each_sort_of_content_has_its_form(answer: dict[str, Any], result: object) -> None:
    """Said once, and bytes measured instead of shown."""
    assert read_result(answer, LIMITS) == ToolDone(result)


@pytest.mark.req("OAP-156")
def test_an_error_of_the_tool_is_an_error_result() -> None:
    """Its words stay for the model to read."""
    assert read_result({"content": [said("no")], "isError": True}, LIMITS) == ToolDone("no", is_error=True)
    assert read_result({"content": [said("no")], "isError": "yes"}, LIMITS) == ToolDone("no")


@pytest.mark.req("OAP-156")
def test_what_is_too_long_keeps_both_ends_and_says_what_is_missing() -> None:
    """Texts, structured values and the number of parts."""
    result = read_result({"content": [], "structuredContent": {"x": "y" * 900}}, LIMITS).result
    assert isinstance(result, str)
    assert result.startswith('{"x":"yyy')
    assert result.endswith('yy"}')
    links = [{"type": "resource_link", "uri": f"x://{n}"} for n in range(7)]
    parts = read_result({"content": links}, LIMITS).result["parts"]  # type: ignore[index]
    assert parts[3:] == [{"type": "resource_link", "uri": "x://3"}, {"left_out": 3}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = ("text", "image", "audio", "resource", "resource_link")
BLOCKS = st.lists(
    JSON
    | st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional={
        "text": JSON, "data": JSON, "resource": JSON, "uri": JSON, "mimeType": JSON,
    }),
    max_size=9,
)  # fmt: skip


@given(BLOCKS, JSON, JSON)
def test_whatever_comes_a_bounded_result_leaves(content: list[object], structured: object, is_error: object) -> None:
    """A server's answer breaks nothing and fills no conversation."""
    answer = {"content": content, "structuredContent": structured, "isError": is_error}
    done = read_result(answer, LIMITS)
    assert len(strictjson.encode(done.result)) < 40_000
    assert done.is_error is (is_error is True)
