"""Which attachments are opened, and what loading costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.control.loop.contract import SourceTerms
from sayso.control.mcp_sources.limits import Operator
from sayso.control.mcp_sources.opener import McpOpener, mcp_opener
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused
from tests.control.mcp_sources.opening import pipe, place

ROOT = Path(__file__).resolve().parents[3]
TERMS = SourceTerms(session_id="s1")
PIPE = pipe("official", "stdio")
PLACE = place("https://shop.example/mcp")


@pytest.mark.req("OAP-060", "OAP-061")
@pytest.mark.parametrize(
    ("base", "change", "field"),
    [
        (PIPE, {"kind": "hosted"}, "kind"),
        (PIPE, {"kind": "local"}, "kind"),
        (PIPE, {"kind": "native"}, "kind"),
        (PIPE, {"protocol": "openapi"}, "protocol"),
        (PIPE, {"command": msgspec.UNSET}, "command"),
        (PLACE, {"endpoint": msgspec.UNSET}, "endpoint"),
        (PLACE, {"command": "sh"}, "command"),
        (PLACE, {"args": ("x",)}, "args"),
        (PLACE, {"environment": ("HOME",)}, "environment"),
    ],
)
def test_an_attachment_that_cannot_be_opened_is_refused_by_its_member(
    base: ToolSourceAttachment, change: dict[str, Any], field: str
) -> None:
    """Before anything is started."""
    with pytest.raises(Refused) as caught:
        mcp_opener(msgspec.structs.replace(base, **change), environ={}, clock=SystemClock())
    refusal = caught.value.refusal
    assert (refusal.code, refusal.details["field"], refusal.details["source"]) == ("unsupported_feature", field, "far")


@pytest.mark.req("OAP-060")
@pytest.mark.anyio
async def test_a_variable_that_is_not_set_fails_the_start() -> None:
    """Wire fact 44: a bare name of a tool source, unlike an adapter's, has to be set."""
    opener = McpOpener(pipe("official", "stdio", environment=("NOT_SET",)), environ={}, clock=SystemClock())
    with pytest.raises(Refused) as caught:
        async with opener.open(TERMS):
            pass
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("open_failed", "environment")
    assert "NOT_SET" in str(caught.value)


@pytest.mark.anyio
async def test_a_refused_endpoint_names_its_source() -> None:
    """The operator has several."""
    opener = McpOpener(place("http://shop.example/mcp"), environ={}, clock=SystemClock())
    assert opener.id == "far"
    with pytest.raises(Refused, match="far"):
        async with opener.open(TERMS):
            pass


@pytest.mark.req("OAP-064")
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/mcp", "http://localhost/mcp", "HTTP://[::1]/mcp"])
def test_an_address_of_this_machine_is_its_operators_to_configure(url: str) -> None:
    """Whoever may open a session is not thereby led to what listens on loopback."""
    with pytest.raises(Refused) as caught:
        mcp_opener(place(url), environ={}, clock=SystemClock(), operators={"near": Operator()})
    assert (caught.value.refusal.code, caught.value.refusal.details["field"]) == ("unsupported_feature", "endpoint")
    mcp_opener(place(url), environ={}, clock=SystemClock(), operators={"far": Operator()})


def test_an_operators_word_is_looked_up_by_the_sources_id() -> None:
    """And its values are in no repr."""
    operator = Operator(headers=(("Authorization", "Bearer t0ken"),))
    opener = mcp_opener(PLACE, environ={}, clock=SystemClock(), operators={"far": operator, "near": Operator()})
    assert opener._operator is operator
    assert "t0ken" not in repr(operator)


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOAD = """
import sys
from sayso.control.mcp_sources.opener import McpOpener
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.control.loop.contract import SourceTerms
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused
import anyio
"""


def test_nothing_of_the_package_is_loaded_before_a_source_is_opened() -> None:
    """A session without such a source does not pay for it."""
    assert (
        _python(LOAD + "print([name for name in sys.modules if name.split('.')[0] in ('mcp', 'mcp_types')])") == "[]\n"
    )


@pytest.mark.req("OAP-156")
def test_without_the_package_opening_says_how_to_install_it() -> None:
    """A typed refusal, not an import error."""
    code = """
sys.modules["mcp"] = None
async def main():
    attachment = ToolSourceAttachment(id="far", kind="process", command="true")
    try:
        async with McpOpener(attachment, environ={}, clock=SystemClock()).open(SourceTerms(session_id="s")):
            pass
    except Refused as refused:
        print(refused.refusal.code, refused.refusal.reason, refused.refusal.help)
anyio.run(main)
"""
    assert _python(LOAD + code) == "open_failed not_installed Install it with `pip install 'sayso[mcp]'`.\n"
