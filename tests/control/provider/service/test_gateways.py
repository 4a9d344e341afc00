"""Vendors that serve each model on a wire of its own, and that want to know one conversation from another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from sayso.control.provider.catalog.limits import DevFacts, ListedFacts, wire_for
from sayso.control.provider.catalog.providers import Providers as Offered
from sayso.control.provider.catalog.rows import Catalog, Endpoint, Row, WireName
from sayso.control.provider.credentials.files import write_whole
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.listings import Listings
from sayso.control.provider.service import Providers
from sayso.core import strictjson
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import VENDORS, Said, VendorServer
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.service.vendors import Judge, ask, models_request

CHAT: WireName = "openai-chat-completions"
MESSAGES: WireName = "anthropic-messages"
GATE = Row(id="gate", wires=(CHAT, MESSAGES))
DEV = {"claude": DevFacts(wire=MESSAGES), "gemini": DevFacts(wire="google-generate-content")}


@asynccontextmanager
async def gateway(home: Path) -> AsyncIterator[tuple[Providers, dict[WireName, VendorServer]]]:
    """A row with two wires on two servers, and what models.dev said of its models yesterday."""
    copy = {"v": 1, "fetched_at": 0, "models": {"gate": DEV}}
    write_whole(home / "model_catalog" / "models_dev.json", strictjson.encode(copy))
    wires: tuple[WireName, ...] = (CHAT, MESSAGES)
    servers = {wire: VendorServer(VENDORS[wire], [Said([Say(wire)])] * 2) for wire in wires}
    async with AsyncExitStack() as stack:
        at = {wire: await stack.enter_async_context(serving(servers[wire], grace=0.1)) for wire in wires}
        urls = {wire: f"{at[wire].url}{servers[wire].vendor.base or '/v1'}" for wire in wires}
        row = Row(
            id="gate", auth=("api_key",), credential_env=("GATE_KEY",), wires=wires, models_dev="gate",
            base_url_source="static", session_header="x-gate-session",
            endpoints=tuple(Endpoint(wire=wire, base_url=url, carries_version=True) for wire, url in urls.items()),
        )  # fmt: skip
        catalog, clock, ids = Catalog(providers=(row,)), SystemClock(), SystemIds()
        credentials = Credentials(
            home, CredentialStore(home, {}), environ={"GATE_KEY": KEY}, clock=clock, fetcher=Fetcher
        )
        listings = Listings(home, catalog, credentials, clock=clock, fetcher=Fetcher)
        service = Providers(catalog=Offered(catalog), credentials=credentials, listings=listings, clock=clock, ids=ids)
        async with service:
            yield service, servers


@pytest.mark.anyio
@pytest.mark.req("OAP-142", "OAP-147")
async def test_a_model_is_asked_on_the_wire_that_serves_it(tmp_path: Path, provider_schema: object) -> None:
    """As models.dev says, among the row's own wires; who names a wire is believed before it."""
    heard = Judge(provider_schema)
    async with gateway(tmp_path) as (service, servers):
        assert (await heard.infer(service, ask("gate/claude", name="q1"))).parts[0].text == MESSAGES  # type: ignore[union-attr]
        for at, ref in enumerate(("gate/other", f"gate/{CHAT}@claude")):
            assert (await heard.infer(service, ask(ref, name=f"q{at + 2}"))).parts[0].text == CHAT  # type: ignore[union-attr]
        listed = await service.models(models_request("gate"))
    assert {model.model_id: model.wire for model in listed.payload.models} == {"claude": MESSAGES, "gemini": CHAT}
    assert {wire: len(server.received) for wire, server in servers.items()} == {CHAT: 2, MESSAGES: 1}


@pytest.mark.anyio
@pytest.mark.req("OAP-142", "OAP-154")
async def test_a_vendor_that_wants_an_id_of_the_conversation_gets_one_that_stays(
    tmp_path: Path, provider_schema: object
) -> None:
    """The same with every request of one model, another in another process, and nothing else than an id."""
    heard, seen = Judge(provider_schema), []
    for at in range(2):
        async with gateway(tmp_path) as (service, servers):
            for name in ("a", "b"):
                await heard.infer(service, ask("gate/other", name=f"q{at}{name}"))
        seen.append([received.headers.get("x-gate-session") for received in servers[CHAT].received])
    assert all(first and first == second for first, second in seen)
    assert seen[0] != seen[1]


@pytest.mark.req("OAP-142", "OAP-147")
def test_the_vendors_own_list_says_more_of_a_wire_than_models_dev() -> None:
    """And a wire the row has not is said by nobody."""
    here, there = ListedFacts(wire=CHAT), DevFacts(wire=MESSAGES)
    assert wire_for(GATE, here, there) == CHAT
    assert wire_for(GATE, ListedFacts(), there) == MESSAGES
    assert wire_for(GATE, None, DEV["gemini"]) is None
    assert wire_for(GATE, None, None) is None
