"""What a registry document says of its sources."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.hub.registry_document import ToolSourceEntry, read_registry_document
from sayso.control.mcp_sources.operators import operators_of
from sayso.core.refusal import Refused

ENVIRON = {"KEY": "Bearer t0ken", "BROKEN": "a\r\nb: c", "EMPTY": ""}
PLACE = "https://tools.example/mcp"


@pytest.mark.req("OAP-062")
def test_headers_come_from_variables_and_trust_from_a_plain_yes() -> None:
    """Read as the document's other members are."""
    document = read_registry_document(
        b'{"tool_sources": {"far": {"kind": "remote", "endpoint": "https://tools.example/mcp",'
        b' "headers": ["Authorization=KEY"], "trusts_hints": true}, "near": {"kind": "process", "command": "x"}}}'
    )
    operators = operators_of(document.tool_sources, ENVIRON)
    assert operators["far"].headers == (("Authorization", "Bearer t0ken"),)
    assert (operators["far"].trusts_hints, operators["near"].trusts_hints) == (True, False)


@pytest.mark.req("OAP-062")
@pytest.mark.parametrize(
    ("entry", "reason", "member"),
    [
        ({"kind": "process", "command": "x", "headers": ("A=KEY",)}, "shape", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("Authorization",)}, "shape", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("=KEY",)}, "shape", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("A=ABSENT",)}, "not_set", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("A=EMPTY",)}, "not_set", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("A=BROKEN",)}, "shape", "headers"),
        ({"kind": "remote", "endpoint": PLACE, "headers": ("Host=KEY",)}, "shape", "headers"),
        ({"kind": "remote", "endpoint": "http://tools.example/mcp"}, "shape", "endpoint"),
        ({"kind": "remote"}, "shape", "endpoint"),
    ],
)
def test_what_cannot_be_sent_stops_the_start(entry: dict[str, Any], reason: str, member: str) -> None:
    """Naming the source and the member, and no value."""
    with pytest.raises(Refused) as caught:
        operators_of({"far": ToolSourceEntry(**entry)}, ENVIRON)
    refusal = caught.value.refusal
    assert (refusal.code, refusal.reason, refusal.place) == ("config_invalid", reason, f"tool_sources.far.{member}")
    assert "t0ken" not in str(refusal)
