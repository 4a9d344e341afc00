"""A remote service in the local one's place: the same inferences, and what breaks on the way told as what it is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
import trustme

from sayso.control.protocol.envelope import ProviderEnvelope, write_envelope
from sayso.control.protocol.payloads.inference import InferenceCreateResponse, InferenceFailed
from sayso.control.provider.bindings.http import serving_provider
from sayso.control.provider.bindings.http_carriage import HttpCarriage
from sayso.control.provider.bindings.service_address import (
    PATH,
    SECURITY_VARIABLE,
    URL_VARIABLE,
    ServiceAddress,
    read_service,
    service_address,
)
from sayso.control.provider.remote import RemoteProviders
from sayso.core.frames import SseEvent, write_sse
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.listen import Address
from sayso.testing.provider import Hangs, Say, ScriptedProvider
from sayso.testing.vendor_servers import VENDORS, Stream
from tests.control.provider.bindings.scripted import service_of
from tests.control.provider.service.vendors import (
    TURN,
    Judge,
    ask,
    cancel_request,
    describe_request,
    models_request,
    open_service,
    open_vendor,
    sync_request,
)
from tests.control.provider.tls import tls_in_front
from tests.control.provider.wires.bench import ALL, PATIENCE, Heard
from tests.net.servers import answering, peer

pytestmark = pytest.mark.anyio


@pytest.fixture
def heard(provider_schema: Any) -> Judge:
    return Judge(provider_schema)


@asynccontextmanager
async def remote(address: ServiceAddress, tls: ssl.SSLContext | None = None) -> AsyncIterator[RemoteProviders]:
    async with RemoteProviders(HttpCarriage(address, tls=tls), ids=CountingIds()) as service:
        yield service


def at(place: Address | str) -> ServiceAddress:
    url = place.url if isinstance(place, Address) else f"http://{place}"
    return service_address(url, "loopback")


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-138")
async def test_a_remote_service_answers_as_the_local_one(wire: str, tmp_path: Path, heard: Judge) -> None:
    """The same types, parts and stop reason for the same turn, snapshots included."""
    async with open_vendor(wire, [TURN, TURN]) as vendor, open_service(tmp_path, vendor.environ) as all_:
        request = ask(vendor.ref, include_snapshot="on_part_end")
        local = await heard.infer(all_, request)
        async with serving_provider(all_, SystemIds(), port=0, grace=0.1) as address, remote(at(address)) as far:
            distant = await heard.infer(far, request)
            described = await far.describe(describe_request())
            assert described.payload == (await all_.describe(describe_request())).payload
            assert (await far.models(models_request())).payload == (await all_.models(models_request())).payload
    assert (distant.types, distant.parts) == (local.types, local.parts)
    assert distant.envelopes[0].payload.honoured == local.envelopes[0].payload.honoured  # type: ignore[attr-defined]


@pytest.mark.req("OAP-132", "OAP-138")
async def test_a_cancel_and_a_sync_reach_the_remote_service(tmp_path: Path, heard: Judge) -> None:
    """And the vendor's connection closes there."""
    wire = "anthropic-messages"
    silent = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    async with (
        open_vendor(wire, [silent]) as vendor,
        open_service(tmp_path, vendor.environ) as all_,
        serving_provider(all_, SystemIds(), port=0, grace=0.1) as address,
        remote(at(address)) as far,
        aclosing(far.create(ask(vendor.ref))) as envelopes,
    ):
        name = (await anext(envelopes)).inference_id
        while (await anext(envelopes)).type != "inference.part.delta":
            pass
        assert (await far.sync(sync_request(name))).payload.snapshot
        assert (await far.cancel(cancel_request(name))).payload.accepted is True
        rest = [each async for each in envelopes]
        with anyio.fail_after(PATIENCE):
            await vendor.server.gone.wait()
    assert rest[-1].payload.stop_reason == "aborted"  # type: ignore[attr-defined]


@pytest.mark.req("OAP-138")
async def test_leaving_a_remote_inference_closes_the_vendors_connection(tmp_path: Path) -> None:
    wire = "openai-responses"
    silent = Stream(VENDORS[wire].stream(TURN)[:-1], hangs=True)
    async with (
        open_vendor(wire, [silent]) as vendor,
        open_service(tmp_path, vendor.environ) as all_,
        serving_provider(all_, SystemIds(), port=0, grace=0.1) as address,
        remote(at(address)) as far,
    ):
        async with aclosing(far.create(ask(vendor.ref))) as envelopes:
            for _ in range(3):
                await anext(envelopes)
        with anyio.fail_after(PATIENCE):
            await vendor.server.gone.wait()


# --- a service that breaks -------------------------------------------------------------------------------------------


def told(*, upto: int = 99, drop: int | None = None, change: Any = None) -> list[ProviderEnvelope[Any]]:
    """A sound inference as a script tells it, cut or changed."""

    async def all_() -> list[ProviderEnvelope[Any]]:
        service = service_of(ScriptedProvider([[Say("one", "two")]]))
        return [each async for each in service.create(ask("scripted/m"))]

    loop = asyncio.new_event_loop()
    try:
        found = loop.run_until_complete(all_())[:upto]
    finally:
        loop.close()
    if drop is not None:
        del found[drop]
    return found


def sse(events: Sequence[bytes], *, is_whole: bool = True) -> bytes:
    body = b"".join(write_sse(SseEvent(event)) for event in events)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    if is_whole:
        return head + f"content-length: {len(body)}\r\n\r\n".encode() + body
    return head + f"content-length: {len(body) + 100}\r\n\r\n".encode() + body


async def infer_at(answer: bytes, heard: Judge) -> Heard:
    """One inference against a peer that says exactly this."""

    async def handle(it: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await it.read_request(reader)
        writer.write(answer)
        await writer.drain()

    async with peer(handle) as it, remote(at(it.place)) as far:
        found = await heard.infer(far, ask("scripted/m"))
        assert it.connections == 1, "nothing is sent twice"
    return found


WHOLE = told()
LINES = [write_envelope(envelope) for envelope in WHOLE]
FOREIGN = LINES[3].replace(b"model-provider-core", b"agent-control-core")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (sse(LINES[:4]), "transport"),
        (sse(LINES[:4], is_whole=False), "transport"),
        (sse(LINES[:1]), "transport"),
        (sse([*LINES[:3], *LINES[4:]]), "sequence_gap"),
        (sse([*LINES[:4], LINES[3], *LINES[4:]]), "sequence_gap"),
        (sse([*LINES[:3], FOREIGN]), "protocol_violation"),
        (sse([*LINES[:3], b"nothing"]), "protocol_violation"),
        (sse([*LINES[:2], LINES[-1].replace(b'"sequence":6', b'"sequence":2').replace(b"one", b"on")]),
         None),
    ],
    ids=["eof", "torn", "eof-at-once", "skipped", "repeated", "profile", "no-json", "end-without-parts"],
)  # fmt: skip
@pytest.mark.req("OAP-139")
async def test_a_stream_that_breaks_is_a_failed_inference(answer: bytes, reason: str | None, heard: Judge) -> None:
    """With the next number, never a success, and not to be asked again by itself."""
    found = await infer_at(answer, heard)
    if reason is None:  # a unary answer brings its message whole, and that is sound
        assert found.types[-1] == "completed"
        return
    assert isinstance(found.end, InferenceFailed)
    assert (found.reason, found.error.retriable) == (reason, False)
    assert found.error.code == ("provider_unavailable" if reason == "transport" else "protocol_violation")


ANSWERS = {
    "error": b"HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno",
    "redirect": b"HTTP/1.1 307 There\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
    "html": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
    "hang-up": b"",
    "empty-stream": sse([]),
    "other-request": sse([LINES[0].replace(b'"in_reply_to":"q1"', b'"in_reply_to":"q9"'), *LINES[1:]]),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.req("OAP-139")
async def test_a_create_without_an_answer_is_refused_here(name: str, heard: Judge) -> None:
    """Nothing was allocated; a redirect is not followed, to wherever it points."""
    found = await infer_at(ANSWERS[name], heard)
    assert isinstance(found.end, InferenceCreateResponse)
    assert found.error.code == ("protocol_violation" if name == "other-request" else "provider_unavailable")


@pytest.mark.req("OAP-139")
async def test_a_redirect_is_not_followed(heard: Judge) -> None:
    """Though it points to a service that would answer: what was said to one origin is not repeated to another."""
    model = ScriptedProvider([[Say("hi")]])
    async with serving_provider(service_of(model), SystemIds(), port=0, grace=0.1) as address:
        head = f"HTTP/1.1 307 There\r\nlocation: {address.url}{PATH}\r\ncontent-length: 0\r\n\r\n"
        found = await infer_at(head.encode(), heard)
    assert found.error.code == "provider_unavailable"
    assert "redirect" in found.error.message
    assert model.requests == []


@pytest.mark.req("OAP-139")
async def test_discovery_over_a_broken_service_is_a_peers_failure() -> None:
    """The wrong answer, another profile, and none."""
    other = write_envelope(WHOLE[0])
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: "
    async with (
        peer(answering(head + str(len(other)).encode() + b"\r\n\r\n" + other)) as it,
        remote(at(it.place)) as far,
    ):
        with pytest.raises(PeerRefused, match="was answered by"):
            await far.describe(describe_request())
    async with remote(at(it.place)) as far:
        with pytest.raises(PeerUnreachable):
            await far.describe(describe_request())


@pytest.mark.req("OAP-139")
async def test_an_answer_that_never_gets_whole_is_not_waited_for() -> None:
    """A service that sends a byte now and then is never silent."""

    async def drip(client: anyio.abc.SocketStream) -> None:
        async with client:
            await client.receive()
            await client.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n")
            with suppress(anyio.BrokenResourceError):
                while True:
                    await client.send(b" ")
                    await anyio.sleep(0.01)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    place = f"127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, drip)
        async with RemoteProviders(HttpCarriage(at(place), budget=0.1), ids=CountingIds()) as far:
            with anyio.fail_after(PATIENCE), pytest.raises(PeerUnreachable):
                await far.describe(describe_request())
        tasks.cancel_scope.cancel()


@pytest.mark.req("OAP-132", "OAP-139")
async def test_a_cancel_that_is_not_answered_settles_here(heard: Judge) -> None:
    """The service streams on one connection and is deaf on the others."""
    busy = anyio.Event()

    async def handle(it: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await it.read_request(reader)
        if b"inference.cancel.request" in request:
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        for line in LINES[:-1]:
            writer.write(write_sse(SseEvent(line)))
        await writer.drain()
        busy.set()
        with suppress(ConnectionError):
            await reader.read()

    async with peer(handle) as it, remote(at(it.place)) as far, anyio.create_task_group() as tasks:

        async def give_up(name: Any) -> None:
            answer = await far.cancel(cancel_request(name))
            assert answer.payload.accepted is True

        def look(envelope: ProviderEnvelope[Any]) -> None:
            if envelope.type == "inference.part.ended":
                tasks.start_soon(give_up, envelope.inference_id)

        found = await heard.infer(far, ask("scripted/m"), look)
    assert found.stop_reason == "aborted"
    assert [part.text for part in found.parts] == ["onetwo"]  # type: ignore[union-attr]


# --- where it is, and whether it can be trusted ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "security", "whole"),
    [
        ("http://127.0.0.1:8080", "loopback", f"http://127.0.0.1:8080{PATH}"),
        ("http://[::1]:8080/", "loopback", f"http://[::1]:8080{PATH}"),
        ("http://localhost:8080", "loopback", f"http://localhost:8080{PATH}"),
        ("https://models.example", "tls", f"https://models.example{PATH}"),
        (f"https://models.example/team{PATH}", "tls", f"https://models.example/team{PATH}"),
        ("http://models.svc:8080", "mesh_proxy", f"http://models.svc:8080{PATH}"),
    ],
)
@pytest.mark.req("OAP-138")
def test_each_mode_goes_with_its_addresses(url: str, security: str, whole: str) -> None:
    assert read_service({URL_VARIABLE: url, SECURITY_VARIABLE: security}) == service_address(url, security)
    assert service_address(url, security).url == whole


@pytest.mark.parametrize(
    ("url", "security", "place"),
    [
        ("http://127.0.0.1:8080", "", SECURITY_VARIABLE),
        ("", "tls", URL_VARIABLE),
        ("http://127.0.0.1:8080", "none", SECURITY_VARIABLE),
        ("http://192.0.2.1:8080", "loopback", URL_VARIABLE),
        ("http://127.0.0.1.example:8080", "loopback", URL_VARIABLE),
        ("https://127.0.0.1:8080", "loopback", URL_VARIABLE),
        ("http://models.example", "tls", URL_VARIABLE),
        ("https://models.example", "mesh_proxy", URL_VARIABLE),
        ("https://me:secret@models.example", "tls", URL_VARIABLE),
        ("https://models.example/?a=b", "tls", URL_VARIABLE),
        ("ftp://models.example", "tls", URL_VARIABLE),
        ("https://[models.example", "tls", URL_VARIABLE),
        ("https://models.example:99999", "tls", URL_VARIABLE),
    ],
)
@pytest.mark.req("OAP-138")
def test_half_a_setting_and_one_that_contradicts_itself_are_refused(url: str, security: str, place: str) -> None:
    """Naming the variable, and nothing of a secret in it."""
    with pytest.raises(Refused) as refused:
        read_service({URL_VARIABLE: url, SECURITY_VARIABLE: security})
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("config_invalid", place)
    assert "secret" not in str(refused.value)


def test_neither_variable_is_no_service() -> None:
    assert read_service({}) is None


@pytest.mark.req("OAP-138")
async def test_tls_is_really_verified(heard: Judge) -> None:
    """A good certificate passes; another name, another authority and none that is known do not."""
    authority, stranger = trustme.CA(), trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    service = service_of(ScriptedProvider([[Say("hi")]] * 4))
    seen = []
    async with serving_provider(service, SystemIds(), port=0, grace=0.1) as address:
        for issuer, name in ((authority, "localhost"), (authority, "other.example"), (stranger, "localhost")):
            async with tls_in_front(address, issuer.issue_cert(name)) as port:
                where = service_address(f"https://localhost:{port}", "tls")
                async with remote(where, context) as far:
                    seen.append(await heard.infer(far, ask("scripted/m")))
    assert [each.types[-1] for each in seen] == ["completed", "create.response", "create.response"]
    assert all("certificate is not good" in each.error.message for each in seen[1:])


@pytest.mark.req("OAP-138")
async def test_a_mesh_proxy_is_plain_http_to_a_name(heard: Judge) -> None:
    service = service_of(ScriptedProvider([[Say("hi"), Hangs()], [Say("hi")]]))
    async with serving_provider(service, SystemIds(), port=0, grace=0.1) as address:
        where = service_address(f"http://localhost:{address.port}", "mesh_proxy")
        async with remote(where) as far, aclosing(far.create(ask("scripted/m"))) as envelopes:
            assert (await anext(envelopes)).payload.accepted is True  # type: ignore[attr-defined]
