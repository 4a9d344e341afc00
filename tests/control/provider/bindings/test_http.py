"""The provider profile over HTTP: what is answered how, and who may knock."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from sayso.control.protocol.envelope import ProviderEnvelope, read_provider_envelope, write_envelope
from sayso.control.provider.bindings.exchange import Exchange
from sayso.control.provider.bindings.http import BODY_CAP, provider_app, serving_provider
from sayso.control.provider.bindings.service_address import PATH
from sayso.control.provider.contract import ProviderService
from sayso.control.validator.judging import judge
from sayso.core.frames import SseDecoder
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.listen import serving
from sayso.testing.provider import Hangs, Say, ScriptedProvider
from sayso.testing.vendor_servers import VENDORS, Stream
from tests.control.provider.bindings.pipes import inferences
from tests.control.provider.bindings.scripted import service_of
from tests.control.provider.service.vendors import (
    TURN,
    ask,
    cancel_request,
    describe_request,
    open_service,
    open_vendor,
    sync_request,
)
from tests.control.provider.wires.bench import ALL, PATIENCE

pytestmark = pytest.mark.anyio
JSON = {"content-type": "application/json"}
Line = dict[str, Any]


class HttpHost:
    """Posts envelopes, and keeps what came."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.seen: list[Line] = []

    async def post(self, request: ProviderEnvelope[Any]) -> Line:
        response = await self.http.post(PATH, content=write_envelope(request), headers=JSON)
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        answer: Line = response.json()
        self.seen.append(answer)
        return answer

    async def stream(self, request: ProviderEnvelope[Any]) -> AsyncIterator[Line]:
        """Each event is one envelope under `data:` alone."""
        sent = self.http.stream("POST", PATH, content=write_envelope(request), headers=JSON)
        async with sent as response:
            assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
            decoder = SseDecoder()
            async for chunk in response.aiter_raw():
                for event in decoder.feed(chunk):
                    assert (event.event, event.id, b"\n" in event.data) == ("message", None, False)
                    self.seen.append(json.loads(event.data))
                    yield self.seen[-1]


@asynccontextmanager
async def http_host(service: ProviderService) -> AsyncIterator[HttpHost]:
    async with (
        serving_provider(service, SystemIds(), port=0, grace=0.1) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False, timeout=PATIENCE) as http,
    ):
        yield HttpHost(http)


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-136")
async def test_an_inference_is_a_stream_that_begins_with_its_answer(
    wire: str, tmp_path: Path, provider_schema: Any
) -> None:
    """And everything else one envelope; the whole is sound to the machine, the schema and the validator."""
    async with open_vendor(wire, [TURN]) as vendor, open_service(tmp_path, vendor.environ) as all_:
        request = ask(vendor.ref)
        async with http_host(all_) as host:
            described = await host.post(describe_request())
            streamed = [line async for line in host.stream(request)]
    assert described["type"] == "provider.describe.response"
    assert (streamed[0]["type"], streamed[0]["in_reply_to"]) == ("inference.create.response", "q1")
    (own,) = inferences(host.seen, request).values()
    assert len(own) == len(streamed)
    assert all(provider_schema.is_valid(line) for line in host.seen)
    asked = [json.loads(write_envelope(each)) for each in (describe_request(), request)]
    trace = b"".join(json.dumps(line).encode() + b"\n" for line in [*asked, *host.seen])
    assert judge(trace, profile="model-provider-core").diagnostics == ()


@pytest.mark.req("OAP-136")
async def test_a_refusal_is_status_200_and_no_stream(tmp_path: Path) -> None:
    """A create that is refused, one that is malformed, a type nobody knows, a grant."""
    async with open_service(tmp_path, {}) as all_, http_host(all_) as host:
        refused = await host.post(ask("openai/fixture"))
        head = json.loads(write_envelope(describe_request()))
        answers = []
        for change in (
            {"type": "inference.create.request", "payload": {"model_ref": 1}},
            {"type": "provider.nothing.request"},
            {"type": "provider.credential.grant.request", "payload": {"provider_id": "openai", "nonce": "n"}},
            {"profile": "open-agent-protocol.agent-control-core"},
        ):
            response = await host.http.post(PATH, content=json.dumps({**head, **change}), headers=JSON)
            answers.append((response.status_code, response.json()["type"], response.json()["payload"]["error"]["code"]))
            assert response.json()["in_reply_to"] == "d1"
    assert refused["payload"]["error"]["code"] == "credential_missing"
    assert answers == [
        (200, "inference.create.response", "invalid_request"),
        (200, "error.response", "schema_invalid"),
        (200, "provider.credential.grant.response", "unsupported_feature"),
        (200, "error.response", "invalid_request"),
    ]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": "text/plain"}, b"{}", 415),
        (JSON, b"{", 400),
        (JSON, b"[]", 400),
        (JSON, b"{}", 400),
        (JSON, b'{"id": true}', 400),
        (JSON, b'{"id": "a", "id": "b"}', 400),
        ({**JSON, "origin": "http://127.0.0.1:8080"}, b"{}", 403),
        ({**JSON, "host": "evil.example"}, b"{}", 403),
        ({**JSON, "content-encoding": "gzip"}, b"{}", 415),
    ],
)
@pytest.mark.req("OAP-136")
async def test_what_is_no_exchange_has_a_status_and_no_envelope(
    headers: dict[str, str], body: bytes, status: int, tmp_path: Path
) -> None:
    """The head is judged before the body."""
    async with open_service(tmp_path, {}) as all_, http_host(all_) as host:
        response = await host.http.post(PATH, content=body, headers=headers)
    assert response.status_code == status
    assert set(response.json()) == {"error"}


@pytest.mark.req("OAP-136")
async def test_a_body_over_the_cap_is_not_even_waited_for(tmp_path: Path) -> None:
    """Its length alone is enough; not a byte of it was sent."""
    async with open_service(tmp_path, {}) as all_, http_host(all_) as host:
        url = host.http.base_url
        head = f"POST {PATH} HTTP/1.1\r\nhost: {url.host}\r\ncontent-type: application/json\r\n"
        async with await anyio.connect_tcp(url.host, url.port or 0) as stream:
            await stream.send(f"{head}content-length: {BODY_CAP + 1}\r\n\r\n".encode())
            with anyio.fail_after(PATIENCE):
                answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.req("OAP-136")
async def test_there_is_one_route_and_one_verb(tmp_path: Path) -> None:
    async with open_service(tmp_path, {}) as all_, http_host(all_) as host:
        assert (await host.http.get(PATH)).status_code == 405
        assert (await host.http.post("/", content=b"{}", headers=JSON)).status_code == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost", "::", "192.0.2.1", ""])
@pytest.mark.req("OAP-136")
async def test_only_a_literal_loopback_address_is_listened_on(host: str, tmp_path: Path) -> None:
    """A name may mean anything, and the world is a proxy's business."""
    async with open_service(tmp_path, {}) as all_:
        with pytest.raises(Refused) as refused:
            async with serving_provider(all_, SystemIds(), host=host, port=0):
                raise AssertionError("it listens")
    assert (refused.value.refusal.code, refused.value.refusal.reason) == ("config_invalid", "not_loopback")


@pytest.mark.req("OAP-136")
async def test_one_inference_too_many_is_refused_and_the_next_one_is_not() -> None:
    """As an answer, and no status; room is made when a stream ends."""
    service = service_of(ScriptedProvider([[Say("one"), Hangs()], [Say("two")]]))
    app = provider_app(Exchange(service, SystemIds(), most=1))
    async with (
        serving(app, grace=0.1) as address,
        httpx2.AsyncClient(base_url=address.url, trust_env=False, timeout=PATIENCE) as http,
    ):
        host = HttpHost(http)
        async for line in host.stream(ask("scripted/m", name="q1")):
            if line["type"] == "inference.part.ended":
                refused = await host.post(ask("scripted/m", name="q2"))
                await host.post(cancel_request(line["inference_id"]))
        again = [line["type"] async for line in host.stream(ask("scripted/m", name="q3"))]
    assert (refused["type"], refused["payload"]["error"]["code"]) == ("inference.create.response", "rate_limited")
    assert again[-1] == "inference.completed"


@pytest.mark.req("OAP-132", "OAP-136")
async def test_a_cancel_comes_by_another_request_while_the_stream_is_open() -> None:
    """And a sync; the stream ends behind the terminal."""
    service = service_of(ScriptedProvider([[Say("one"), Hangs()]]))
    async with http_host(service) as host:
        types = []
        async for line in host.stream(ask("scripted/m")):
            types.append(line["type"])
            if line["type"] == "inference.part.ended":
                synced = await host.post(sync_request(line["inference_id"]))
                assert synced["payload"]["snapshot"][0]["content"] == [{"type": "text", "text": "one"}]
                cancelled = await host.post(cancel_request(line["inference_id"]))
                assert cancelled["payload"] == {"accepted": True}
    assert types[-1] == "inference.completed"
    assert next(line for line in host.seen if line["type"] == types[-1])["payload"]["stop_reason"] == "aborted"


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-136")
async def test_a_client_that_leaves_takes_its_inference_with_it(wire: str, tmp_path: Path) -> None:
    """The vendor sees the connection close."""
    silent = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    async with (
        open_vendor(wire, [silent]) as vendor,
        open_service(tmp_path, vendor.environ) as all_,
        http_host(all_) as host,
    ):
        async for line in host.stream(ask(vendor.ref)):
            if line["type"] == "inference.part.delta":
                break
        await host.http.aclose()
        with anyio.fail_after(PATIENCE):
            await vendor.server.gone.wait()
        async with httpx2.AsyncClient(base_url=host.http.base_url, trust_env=False) as host.http:
            synced = await host.post(sync_request(line["inference_id"]))
    assert synced["payload"] == {}


@pytest.mark.req("OAP-136")
async def test_the_end_of_the_service_settles_its_streams() -> None:
    """Each gets its terminal before the connection closes."""
    service = service_of(ScriptedProvider([[Say("one"), Hangs()]]))
    begun, heard = anyio.Event(), []

    async def follow(host: HttpHost) -> None:
        async for line in host.stream(ask("scripted/m")):
            heard.append(line)
            if line["type"] == "inference.part.ended":
                begun.set()

    async with anyio.create_task_group() as tasks, httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        async with serving_provider(service, SystemIds(), port=0) as address:
            http.base_url = address.url  # type: ignore[assignment]
            tasks.start_soon(follow, HttpHost(http))
            await begun.wait()
        with anyio.fail_after(PATIENCE):
            while not heard or heard[-1]["type"] != "inference.completed":
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert heard[-1]["payload"]["stop_reason"] == "aborted"
    assert read_provider_envelope(json.dumps(heard[-1]).encode()).sequence == 5
