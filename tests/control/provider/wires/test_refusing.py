"""What is refused at create, before anything is sent; and where a credential goes and never goes (OAP-130, OAP-154)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sayso.control.protocol.payloads.content import Image, ImagePart, Message
from sayso.control.protocol.payloads.inference import InferenceTool, ReasoningRequest
from sayso.control.provider.wires import Offering, open_wire
from sayso.control.provider.wires.connection import Client
from sayso.control.provider.wires.faults import failure_of_status
from sayso.core.refusal import Misuse, Refused
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import Said, Status, Stream, frame
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.wires.bench import ALL, CHAT, GENERATE, MESSAGES, NOON, ask, key, offering, open_bench

every_wire = pytest.mark.parametrize("wire", ALL)
FINE = Said([Say("fine")])
TOOL = InferenceTool(name="look", input_schema={})
PICTURE = ImagePart(image=Image(data="aA==", media_type="image/png"))

IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "a header with a credential": ({"headers": {"Authorization": "x"}}, "invalid_request"),
    "one under another name": ({"headers": {"X-Mine": "Bearer abc"}}, "invalid_request"),
    "a vendor's key header": ({"headers": {"X-Goog-Api-Key": "x"}}, "invalid_request"),
    "a header that frames": ({"headers": {"Content-Length": "0"}}, "invalid_request"),
    "a header with a line end": ({"headers": {"x-a": "b\r\nx-c: d"}}, "invalid_request"),
    "a grant that was never made": ({"credential_ref": "g1"}, "credential_missing"),
    "two tools of one name": ({"tools": (TOOL, TOOL)}, "invalid_request"),
    "a choice that is none": ({"tools": (TOOL,), "tool_choice": {"any": 1}}, "invalid_request"),
    "a choice of a tool that is not there": ({"tools": (TOOL,), "tool_choice": {"name": "x"}}, "invalid_request"),
    "a schema that is none": ({"output_schema": "object"}, "invalid_request"),
    "a tool schema that is none": ({"tools": (InferenceTool(name="a", input_schema=[]),)}, "invalid_request"),
    "a picture the assistant made": (
        {"said": (Message(role="user", content="a"), Message(role="assistant", content=(PICTURE,)))},
        "unsupported_feature"),
    "nothing but instructions": ({"said": (Message(role="system", content="x"),)}, "invalid_request"),
}  # fmt: skip


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("what", IMPOSSIBLE)
@pytest.mark.req("OAP-130", "OAP-132")
async def test_what_can_be_known_beforehand_is_refused_at_create(wire: str, what: str, provider_schema: Any) -> None:
    """One answer, no terminal, nothing sent."""
    more, code = IMPOSSIBLE[what]
    async with open_bench(wire, [FINE], schema=provider_schema) as bench:
        heard = await bench.infer(ask(**more))
    assert (heard.types, heard.error.code, bench.server.received) == (["create.response"], code, [])
    if "credential" in what and code == "invalid_request":
        assert heard.error.message.startswith("credential_in_headers")


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-130", "OAP-132")
async def test_another_model_and_a_missing_credential_are_refused_at_create(wire: str) -> None:
    """Known before anything is sent."""

    async def nothing() -> str | None:
        return None

    async def expired() -> str | None:
        raise Refused.because("credential_expired", "sign in again")

    async with open_bench(wire) as bench:
        request = ask()
        other = replace_model(request)
        assert (await bench.infer(other)).error.code == "model_not_found"
    for credential, code in ((nothing, "credential_missing"), (expired, "credential_expired")):
        async with open_bench(wire, credential=credential) as bench:
            heard = await bench.infer()
        assert (heard.types, heard.error.code, bench.server.received) == (["create.response"], code, [])


def replace_model(request: Any) -> Any:
    import msgspec  # noqa: PLC0415 - used here alone

    return msgspec.structs.replace(request, payload=msgspec.structs.replace(request.payload, model_ref="vendor/other"))


@pytest.mark.anyio
@pytest.mark.req("OAP-130")
async def test_anthropic_says_at_create_what_it_does_not_take() -> None:
    """Sampling settings in the present version of its API; in the one before, a temperature or a forced tool while it
    thinks.
    """
    thinking, older = ReasoningRequest(effort="low"), {"anthropic-version": "2023-06-01"}
    async with open_bench(MESSAGES) as bench:
        refused = [await bench.infer(ask(temperature=1.0)), await bench.infer(ask(top_p=0.5))]
    async with open_bench(MESSAGES, headers=older) as bench:
        refused.append(await bench.infer(ask(reasoning=thinking, temperature=0.1)))
        refused.append(await bench.infer(ask(reasoning=thinking, tools=(TOOL,), tool_choice="required")))
    assert [(heard.types, heard.error.code) for heard in refused] == [(["create.response"], "unsupported_feature")] * 4


HEADER = {CHAT: ("authorization", f"Bearer {KEY}"), MESSAGES: ("x-api-key", KEY), GENERATE: ("x-goog-api-key", KEY)}


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-154")
async def test_the_credential_travels_in_one_header_and_nowhere_else(wire: str) -> None:
    """Not in the URL, the body, an envelope, or what the offering prints; a caller's own header goes along."""
    async with open_bench(wire, [FINE], headers={"X-Title": "sayso"}) as bench:
        heard = await bench.infer(ask(headers={"x-trace": "t1"}))
        received = bench.server.received[0]
        assert KEY not in repr(bench.provider.offering)
    name, value = HEADER.get(wire, HEADER[CHAT])
    assert (received.headers[name], received.headers["x-title"], received.headers["x-trace"]) == (value, "sayso", "t1")
    assert KEY not in received.text + received.path + received.query + heard.written
    assert [each for each, held in received.headers.items() if KEY in held] == [name]


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-154", "OAP-132")
async def test_no_error_and_no_log_holds_the_credential(wire: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A vendor that quotes it, in a refusal, in a stream and in its 401."""
    quoting = {"error": {"message": f"who is {KEY}?", "type": "invalid_request_error"}}

    async def wrong() -> str | None:
        return "another-secret"

    async with open_bench(wire, [Status(400, quoting), Stream([frame({"type": "error", **quoting})])]) as bench:
        told = [await bench.infer(), await bench.infer()]
    async with open_bench(wire, credential=wrong) as bench:
        told.append(await bench.infer())
    assert [heard.error.code for heard in told] == ["invalid_request", "invalid_request", "credential_rejected"]
    assert "[credential]" in told[0].error.message
    out = capsys.readouterr()
    for text in (*(heard.written for heard in told), out.out, out.err):
        assert KEY not in text
        assert KEY[:9] not in text
        assert "another-secret" not in text


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("before", [0, 250, 270, 283, 284, 299, 400])
@pytest.mark.req("OAP-154")
async def test_no_piece_of_a_credential_stands_where_a_vendors_words_are_cut(wire: str, before: int) -> None:
    """However far into a long sentence it is quoted."""
    quoting = {"error": {"message": f"{'x' * before}{KEY} {'y' * 400}", "type": "invalid_request_error"}}
    async with open_bench(wire, [Status(400, quoting), Stream([frame({"type": "error", **quoting})])]) as bench:
        told = [await bench.infer(), await bench.infer()]
    for heard in told:
        assert KEY[:4] not in heard.error.message
        assert len(heard.error.message) <= 300


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.req("OAP-154")
async def test_a_redirect_is_not_followed(wire: str, status: int) -> None:
    """Neither with the credential nor without."""
    async with open_bench(wire, [FINE]) as elsewhere:
        url = f"{elsewhere.provider.offering.base_url}/chat/completions"
        async with open_bench(wire, [Status(status, {}, {"location": url})]) as bench:
            heard = await bench.infer()
        assert (heard.error.code, heard.reason, elsewhere.server.received) == ("endpoint_error", "redirect", [])


@pytest.mark.anyio
@pytest.mark.req("OAP-154")
async def test_a_request_never_leaves_the_origin_of_its_base_url() -> None:
    """Whatever path a wire would write; and a model's name is one name, dots and slashes and all."""
    client = Client(offering(CHAT, "https://api.example"))
    with pytest.raises(Misuse, match="origin"):
        await client.post(".evil.example/v1", [], b"", NOON)
    async with open_bench(GENERATE, model="../../v2/x?key=1#") as bench:
        heard = await bench.infer(ask_for("../../v2/x?key=1#"))
    assert heard.error.code == "model_not_found"
    assert bench.server.received[0].query == "alt=sse"


def ask_for(model: str) -> Any:
    import msgspec  # noqa: PLC0415 - used here alone

    request = ask()
    return msgspec.structs.replace(request, payload=msgspec.structs.replace(request.payload, model_ref=model))


@pytest.mark.parametrize(
    "base_url",
    ["http://api.example/v1", "ftp://api.example", "https://user:pw@api.example", "https://api.example/?a=b", "nowhere",
     "https://", "https://api.example:99999", "https://api.example/\nx", "http://127.0.0.1.example/v1"],
)  # fmt: skip
@pytest.mark.req("OAP-154")
def test_a_base_url_that_would_give_the_credential_away_opens_no_wire(base_url: str) -> None:
    """In the clear beyond this machine, or no plain address at all."""
    with pytest.raises(Refused) as caught:
        open_wire(offering(CHAT, base_url))
    assert caught.value.refusal.code == "config_invalid"


@pytest.mark.req("OAP-154")
def test_plain_http_is_for_this_machine_and_for_no_credential() -> None:
    """A local server by its address; one in the house that asks for none."""
    for base_url in ("http://127.0.0.1:11434/v1", "http://localhost:8080", "http://[::1]:80"):
        assert open_wire(offering(CHAT, base_url)).id == "vendor"
    anonymous = replace(offering(CHAT, "http://nas.example:11434/v1"), credential=None)
    assert open_wire(anonymous).id == "vendor"


@pytest.mark.req("OAP-154")
def test_an_offerings_headers_hold_no_credential() -> None:
    """It has a place of its own, where it is asked for and not written down."""
    made = Offering(id="v", wire=CHAT, base_url="https://a.example", model="m", credential=key,  # type: ignore[arg-type]
                    headers={"x-api-key": "k"})  # fmt: skip
    with pytest.raises(Refused) as caught:
        open_wire(made)
    assert caught.value.refusal.code == "credential_in_headers"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, b'{"error":{"message":"bad","type":"invalid_request_error"}}', "invalid_request"),
        (400, b'[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid",'
              b'"details":[{"reason":"API_KEY_INVALID"}]}}]', "credential_rejected"),
        (401, b'{"error":{"type":"authentication_error","message":"OAuth token has expired"}}', "credential_expired"),
        (401, b"", "credential_rejected"),
        (402, b"{}", "resource_exhausted"),
        (403, b'{"error":{"status":"PERMISSION_DENIED"}}', "credential_rejected"),
        (404, b'{"error":{"type":"not_found_error","message":"model: x"}}', "model_not_found"),
        (413, b"<html>", "invalid_request"),
        (418, b"", "invalid_request"),
        (429, b'{"error":"slow"}', "rate_limited"),
        (500, b"\xff", "endpoint_error"),
        (503, b'{"error":{"status":"UNAVAILABLE"}}', "provider_unavailable"),
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}', "provider_unavailable"),
        (599, b"", "endpoint_error"),
    ],
)  # fmt: skip
@pytest.mark.req("OAP-132")
def test_every_status_and_body_has_one_of_the_closed_codes(status: int, body: bytes, code: str) -> None:
    """The body knows more than the status; a body that is none changes nothing."""
    assert failure_of_status(status, body, None).code == code


@pytest.mark.req("OAP-154")
def test_a_vendors_words_are_cut_and_stripped() -> None:
    """No control sequence and no page of text reaches a terminal."""
    body = '{"error":{"message":"a\\u001b[2J\\u202eb' + "x" * 999 + '"}}'
    message = failure_of_status(400, body.encode(), None).error(None).message
    assert message.startswith("the vendor says: a [2J bxxx")
    assert len(message) < 330
