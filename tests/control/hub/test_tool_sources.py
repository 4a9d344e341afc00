"""What a wire may say about a tool source, and what the adapter gets."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from sayso.control.adapters.contract import AdapterSession, Descriptor
from sayso.control.adapters.gates import verify_open
from sayso.control.hub.bindings.http import serving_hub
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_document import ToolSourceEntry
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, Endpoint, FeatureSupport
from sayso.control.protocol.payloads.session import SessionOpenRequest, ToolSourceAttachment
from sayso.core import strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.testing.adapter import ScriptedAdapter
from tests.control.houses import NOON

pytestmark = pytest.mark.anyio

FILES = ToolSourceEntry(
    kind="process",
    display_name="Files",
    protocol="mcp",
    command="/bin/fs",
    args=("--root",),
    environment=("TOKEN", "MODE=safe"),
)
ENVIRON = {"TOKEN": "secret", "EXTRA": "more", "UNLISTED": "x", "MODE": "ambient"}


class Attaching(ScriptedAdapter):
    """Advertises attachment at `level` and keeps the requests it got."""

    def __init__(self, level: str = "native") -> None:
        super().__init__()
        self.level = level
        self.got: list[Envelope[SessionOpenRequest]] = []

    async def probe(self) -> Descriptor:
        features = {"action.tool_sources.attach": FeatureSupport(level=self.level, modes=("session_open",))}  # type: ignore[arg-type]
        return Descriptor("v2", CapabilitiesResponse(endpoint=Endpoint(id="x"), features=features))

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: Any) -> Any:
        verify_open(request, await self.probe())
        self.got.append(request)
        session: AdapterSession = await super().open(request, session_id, tasks)
        return session


def opening(*attachments: dict[str, Any], **envelope: Any) -> Envelope[Any]:
    base = {"protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.agent-control-core"}
    payload = {"session_id": "s1", "tool_sources": list(attachments)}
    return convert_envelope({**base, "type": "session.open.request", "id": "m1", "payload": payload, **envelope})


def registry_of(adapter: ScriptedAdapter) -> Registry:
    registry = Registry({"a": adapter}, environ=ENVIRON)
    registry.register_source("fs", FILES)
    registry.register_source("web", ToolSourceEntry(kind="remote", endpoint="https://web.example"))
    return registry


async def open_with(request: Envelope[Any], adapter: ScriptedAdapter) -> dict[str, Any]:
    async with Hub(registry_of(adapter), clock=ManualClock(NOON), ids=CountingIds()) as hub:
        answer = strictjson.parse(write_envelope(await hub.open("a", request)))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.req("OAP-062")
async def test_an_id_alone_is_filled_from_the_operators_entry() -> None:
    """The adapter gets the command, its arguments and the resolved variables; nothing of that is answered."""
    adapter = Attaching()
    answer = await open_with(opening({"id": "fs", "kind": "process"}), adapter)
    assert answer["type"] == "session.open.response"
    assert adapter.got[0].payload.tool_sources == (
        ToolSourceAttachment(
            id="fs", kind="process", display_name="Files", protocol="mcp", command="/bin/fs", args=("--root",),
            environment=("MODE=safe", "TOKEN=secret"),
        ),
    )  # fmt: skip
    assert "secret" not in str(answer)


@pytest.mark.req("OAP-063")
async def test_a_caller_adds_names_and_never_replaces_one_of_the_operators() -> None:
    """A name the operator listed is dropped from the caller's; each variable reaches the child once."""
    adapter = Attaching()
    await open_with(opening({"id": "fs", "kind": "process", "environment": ["TOKEN", "EXTRA", "MODE"]}), adapter)
    sources = adapter.got[0].payload.tool_sources
    assert sources
    assert sources[0].environment == ("EXTRA=more", "MODE=safe", "TOKEN=secret")


@pytest.mark.req("OAP-062", "OAP-063", "OAP-064")
@pytest.mark.parametrize(
    ("attachment", "field"),
    [
        ({"id": "fs", "kind": "process", "command": "/bin/fs"}, "command"),
        ({"id": "fs", "kind": "process", "args": []}, "args"),
        ({"id": "web", "kind": "remote", "args": ["--root"]}, "args"),
        ({"id": "fs", "kind": "process", "environment": ["EXTRA=1"]}, "environment"),
        ({"id": "fs", "kind": "process", "environment": ["TOKEN=mine"]}, "environment"),
        ({"id": "fs", "kind": "process", "environment": ["NOT_SET"]}, "environment"),
        ({"id": "fs", "kind": "process", "environment": ["A B"]}, "environment"),
        ({"id": "fs", "kind": "remote"}, "kind"),
        ({"id": "fs", "kind": "process", "display_name": "files"}, "display_name"),
        ({"id": "fs", "kind": "process", "protocol": "http"}, "protocol"),
        ({"id": "fs", "kind": "process", "endpoint": "stdio:fs"}, "endpoint"),
        ({"id": "web", "kind": "remote", "endpoint": "https://evil.example"}, "endpoint"),
        ({"id": "nobody", "kind": "process"}, "id"),
        ({"id": "nobody", "kind": "local", "command": "/bin/sh"}, "command"),
        ({"id": "nobody", "kind": "local", "environment": ["X=1"]}, "environment"),
    ],
)
async def test_what_a_wire_may_not_say_is_refused_before_the_adapter_is_asked(
    attachment: dict[str, Any], field: str
) -> None:
    """The refusal names the source and the member."""
    adapter = Attaching()
    answer = await open_with(opening(attachment), adapter)
    error = answer["payload"]["error"]
    assert (error["code"], error["details"]["field"], error["details"]["source"]) == (
        "unsupported_feature", field, attachment["id"],
    )  # fmt: skip
    assert error["details"]["feature"] == "action.tool_sources.attach"
    assert adapter.got == []


@pytest.mark.req("OAP-064")
async def test_an_unknown_id_of_another_kind_goes_on_to_the_adapter() -> None:
    """Nothing would be started for it here, so it is the adapter's to take."""
    adapter = Attaching()
    answer = await open_with(opening({"id": "nobody", "kind": "local", "display_name": "Mine"}), adapter)
    assert answer["type"] == "session.open.response"
    assert adapter.got[0].payload.tool_sources == (
        ToolSourceAttachment(id="nobody", kind="local", display_name="Mine"),
    )


async def test_one_source_is_attached_once() -> None:
    """An id twice would be two children of one source."""
    answer = await open_with(opening({"id": "fs", "kind": "process"}, {"id": "fs", "kind": "process"}), Attaching())
    assert answer["payload"]["error"]["code"] == "unsupported_feature"


@pytest.mark.req("OAP-065", "OAP-090")
async def test_an_attaching_open_is_judged_by_its_revision_then_its_election_then_its_sources() -> None:
    """A stale pin is told both revisions; what is not advertised, or degraded, is said before a member is."""
    wrong = {"id": "fs", "kind": "process", "command": "/bin/sh"}
    stale = await open_with(opening(wrong, capability_revision="v1"), Attaching("unavailable"))
    assert stale["payload"]["error"]["code"] == "stale_capabilities"
    assert stale["payload"]["error"]["details"] == {"expected_revision": "v2", "current_revision": "v1"}
    absent = await open_with(opening(wrong, capability_revision="v2"), Attaching("unavailable"))
    assert absent["payload"]["error"]["details"]["reason"] == "unadvertised"
    degraded = await open_with(opening(wrong), Attaching("degraded"))
    assert degraded["payload"]["error"]["code"] == "capability_degraded"
    member = await open_with(opening(wrong), Attaching())
    assert member["payload"]["error"]["details"]["field"] == "command"


@pytest.mark.req("OAP-065")
async def test_an_open_without_a_pin_is_answered_with_the_revision_it_was_judged_under() -> None:
    """And a pin is repeated."""
    attachment = {"id": "web", "kind": "remote"}
    assert (await open_with(opening(attachment), Attaching()))["capability_revision"] == "v2"
    pinned = await open_with(opening(attachment, capability_revision="v2"), Attaching())
    assert pinned["capability_revision"] == "v2"


@pytest.mark.req("OAP-062", "OAP-065")
async def test_the_same_holds_over_http() -> None:
    """A page that reached the port could send this; the route answers 400, the adapter hears nothing."""
    adapter = Attaching()
    hub = Hub(registry_of(adapter), clock=ManualClock(NOON), ids=CountingIds())
    async with (
        hub,
        serving_hub(hub, CountingIds(), port=0) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False) as http,
    ):

        async def post(request: Envelope[Any]) -> tuple[int, Any]:
            headers = {"content-type": "application/json"}
            answer = await http.post("/adapters/a/sessions", content=write_envelope(request), headers=headers)
            return answer.status_code, answer.json()

        status, refused = await post(opening({"id": "fs", "kind": "process", "command": "/bin/sh"}))
        assert (status, refused["payload"]["error"]["details"]["field"]) == (400, "command")
        status, stale = await post(opening({"id": "fs", "kind": "process"}, id="m2", capability_revision="v1"))
        assert (status, stale["payload"]["error"]["code"]) == (409, "stale_capabilities")
        assert adapter.got == []
        status, opened = await post(opening({"id": "fs", "kind": "process"}, id="m3"))
        assert (status, opened["capability_revision"]) == (200, "v2")
        assert "secret" not in str(opened)
