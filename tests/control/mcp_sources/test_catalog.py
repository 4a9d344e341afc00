"""A server's list as the tools of our loop."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.mcp_sources.catalog import CLAIMED, read_catalog
from sayso.control.mcp_sources.limits import Limits
from sayso.core.refusal import Refused

LIMITS = Limits(tools=3, schema_bytes=200, description_chars=20)


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


@pytest.mark.req("OAP-156")
def test_tools_stand_in_the_order_of_their_names_with_schema_and_words() -> None:
    """What a model is given of a tool is the server's, bounded."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    listed = [tool("z", title="The zed"), {"name": "a", "description": "d" * 25, "inputSchema": schema}]
    catalog = read_catalog("s", listed, LIMITS, trusts_hints=False)
    first, second = catalog.specs
    assert (first.name, first.input_schema) == ("s__a", schema)
    assert first.description == f"{'d' * 20}[5 characters are not shown]"
    assert (second.description, second.annotations) == ("The zed", {"title": "The zed"})
    assert catalog.natives == {"s__a": "a", "s__z": "z"}


@pytest.mark.req("OAP-156", "OAP-157")
def test_a_claim_to_only_read_is_a_hint_only_where_the_operator_vouches() -> None:
    """A foreign server would otherwise decide whether its own calls are asked about."""
    listed = [tool("a", annotations={"readOnlyHint": True, "title": "T", "more": 1})]
    doubted = read_catalog("s", listed, LIMITS, trusts_hints=False).specs[0]
    vouched = read_catalog("s", listed, LIMITS, trusts_hints=True).specs[0]
    assert doubted.annotations == {"title": "T", CLAIMED: {"readOnlyHint": True}}
    assert vouched.annotations == {"title": "T", "readOnlyHint": True}


def test_a_hint_that_is_no_boolean_is_none() -> None:
    """`"true"` and 1 vouch for nothing."""
    listed = [tool("a", annotations={"readOnlyHint": "true", "destructiveHint": 1})]
    assert read_catalog("s", listed, LIMITS, trusts_hints=True).specs[0].annotations == {}


@pytest.mark.req("OAP-156")
def test_a_tool_whose_schema_cannot_be_given_to_a_model_is_left_out_alone() -> None:
    """The others are offered."""
    listed = [
        tool("wide") | {"inputSchema": {"type": "object", "x": "y" * 300}},
        tool("list") | {"inputSchema": {"type": "array"}},
        tool("bare") | {"inputSchema": {}},
    ]
    catalog = read_catalog("s", listed, LIMITS, trusts_hints=False)
    assert catalog.left_out == {"wide": "schema_too_large", "list": "schema"}
    assert [(spec.name, spec.input_schema) for spec in catalog.specs] == [("s__bare", {"type": "object"})]
    assert list(catalog.natives) == ["s__bare"]


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([tool("a"), tool("b"), tool("a")], "tool_name_clash"),
        ([tool(each) for each in "abcd"], "too_many_tools"),
    ],
)
def test_a_list_that_cannot_be_told_apart_or_has_no_end_is_refused(listed: list[dict[str, Any]], reason: str) -> None:
    """Which of two tools of one name is meant nobody could say."""
    with pytest.raises(Refused) as caught:
        read_catalog("s", listed, LIMITS, trusts_hints=False)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("open_failed", reason)
