"""Whatever comes in: a typed refusal with a way to reach the shop, nothing changed, never a server error."""

import re
from datetime import timedelta

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.core import b64u, strictjson
from sayso.core.instants import epoch
from sayso.net.fetch import Response
from sayso.proof.httpsig import sign_request
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.http import ROUTES
from tests.scheduling.host.town import BASE, DOMAIN, ONE, open_town_on_file, read, reason

pytestmark = pytest.mark.anyio

HOLD = {"idempotency_key": "hold-0001", "service_id": "oil-change", "start": ONE, "ttl": "PT5M"}
WINDOW = {"start": "2026-10-15T11:00:00-04:00", "end": "2026-10-15T15:45:00-04:00"}
ASK = {"service_id": "oil-change", "window": WINDOW}


def body(**changed):
    return {**HOLD, **changed}


BODIES = {
    "no body": (b"", "malformed_json"),
    "not JSON": (b"hold me", "malformed_json"),
    "an array": (b"[]", "schema_invalid"),
    "a byte order mark": (b"\xef\xbb\xbf" + strictjson.encode(HOLD), "malformed_json"),
    "bad UTF-8": (b'{"idempotency_key":"\xff"}', "malformed_json"),
    "a repeated member": (b'{"service_id":"oil-change",' + strictjson.encode(HOLD)[1:], "malformed_json"),
    "one repeated by escape": (b'{"\\u0073ervice_id":"oil-change",' + strictjson.encode(HOLD)[1:], "malformed_json"),
    "a number too large": (b'{"ttl":1e400,' + strictjson.encode(HOLD)[1:], "malformed_json"),
    "not a number": (b'{"x":NaN}', "malformed_json"),
    "something after it": (strictjson.encode(HOLD) + b"{}", "malformed_json"),
    "nested too deeply": (b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", "malformed_json"),
    "an unknown member": (body(note="hello"), "schema_invalid"),
    "an unknown member inside": (body(place={"at": "host", "floor": 2}), "schema_invalid"),
    "a payment": (body(payment={"card": "4111111111111111"}), "schema_invalid"),
    "a deposit": (body(max_deposit={"amount": "10.00", "currency": "CAD"}), "schema_invalid"),
    "no start": ({name: value for name, value in HOLD.items() if name != "start"}, "schema_invalid"),
    "no key": ({name: value for name, value in HOLD.items() if name != "idempotency_key"}, "schema_invalid"),
    "a key too short": (body(idempotency_key="short"), "schema_invalid"),
    "a start of the wrong type": (body(start=1791896400), "schema_invalid"),
    "an impossible date": (body(start="2026-02-30T13:00:00-05:00"), "malformed_value"),
    "an impossible hour": (body(start="2026-10-15T25:00:00-04:00"), "malformed_value"),
    "no offset": (body(start="2026-10-15T13:00:00"), "schema_invalid"),
    "an unknown offset": (body(start="2026-10-15T13:00:00-00:00"), "malformed_value"),
    "a month": (body(ttl="P1M"), "malformed_value"),
    "an empty duration": (body(ttl="PT"), "malformed_value"),
    "a ttl too short": (body(ttl="PT59S"), "ttl_too_short"),
    "an unknown service": (body(service_id="time-travel"), "unknown_service"),
    "an unknown resource": (body(resource_id="alex"), "unknown_resource"),
    "a place at a shop": (body(place={"at": "elsewhere", "name": "The park"}), "schema_invalid"),
    "the last second of the calendar": (body(start="9999-12-31T23:59:59Z"), "not_bookable"),
    "yesterday": (body(start="2026-10-12T13:00:00-04:00"), "outside_window"),
    "a callback that is no https": (body(callback_url="http://127.0.0.1/"), "schema_invalid"),
}  # fmt: skip


@pytest.mark.req("SCH-023", "SCH-024", "SCH-097", "SCH-274", "SCH-275", "SCH-276", "SCH-336", "SCH-341")
async def test_a_malformed_hold_request_is_refused_and_changes_nothing(tmp_path, clock):
    """Thirty-two ways to get it wrong, each by its registered reason."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate()
        before = await town.rows()
        found = {}
        for name, (sent, _) in BODIES.items():
            answer = (
                await sam.send("POST", "/holds", sent, mandate, Content_Type="application/json")
                if not sent
                else (await sam.send("POST", "/holds", sent, mandate))
            )
            found[name] = reason(answer, answer.status)
            assert answer.status < 500, name
        assert found == {name: expected for name, (_, expected) in BODIES.items()}
        assert (await town.rows(), await town.kinds()) == (before, [])


WINDOWS = {
    "reversed": ({"start": WINDOW["end"], "end": WINDOW["start"]}, "window_invalid"),
    "empty": ({"start": ONE, "end": ONE}, "window_invalid"),
    "too long": ({"start": ONE, "end": "2026-11-16T13:00:00-05:00"}, "window_invalid"),
    "at the end of the calendar": ({"start": "9999-12-31T00:00:00Z", "end": "9999-12-31T23:59:59Z"}, None),
    "at its beginning": ({"start": "0001-01-01T00:00:00+14:00", "end": "0001-01-02T23:59:59Z"}, "malformed_value"),
    "too short": ({"start": ONE, "end": "2026-10-15T13:44:59-04:00"}, "window_too_short"),
}


@pytest.mark.req("SCH-117", "SCH-238")
async def test_odd_windows_are_refused_or_empty(tmp_path, clock):
    """None of them is a server error."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        for name, (window, expected) in WINDOWS.items():
            answer = await sam.send("POST", "/availability", {"service_id": "oil-change", "window": window})
            if expected is None:
                assert read(answer, 200)["slots"] == [], name
            else:
                assert reason(answer, answer.status) == expected, name


async def raw(town, head: str, headers: list[tuple[str, str]], data: bytes) -> Response:
    """One request written by hand, so that anything can be wrong with it."""
    async with await anyio.connect_tcp("127.0.0.1", town.port) as stream:
        lines = [head, *(f"{name}: {value}" for name, value in headers)]
        if not any(name.lower() == "content-length" for name, _ in headers):
            lines.append(f"Content-Length: {len(data)}")
        await stream.send("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + data)
        answer = b""
        while True:
            try:
                answer += await stream.receive()
            except anyio.EndOfStream:
                break
    first, _, rest = answer.partition(b"\r\n\r\n")
    status = int(first.split(b" ")[1])
    return Response(status=status, headers=(), body=rest)


def signed(town, key: PrivateKey, data: bytes, *, path="/schcp/v0/availability", created=None, nonce=None, origin=None):
    when = epoch(town.clock.now()) if created is None else created
    headers = sign_request(
        "POST",
        f"{origin or 'https://' + DOMAIN}{path}",
        data,
        key=key,
        created=when,
        nonce=nonce or town.ids.token(),
    )
    return [("Host", DOMAIN), ("Content-Type", "application/json"), *headers]


def without(headers, name):
    return [pair for pair in headers if pair[0] != name]


def swapped(headers, name, value):
    return [(each, value if each == name else old) for each, old in headers]


POST = "POST /schcp/v0/availability HTTP/1.1"


@pytest.mark.req("SCH-019", "SCH-051", "SCH-052", "SCH-053", "SCH-054", "SCH-055", "SCH-057", "SCH-058", "SCH-059")
async def test_a_request_that_is_not_signed_exactly_so_is_refused(tmp_path, clock):
    """Unsigned, half signed, signed for another address, by another key, too early, too late."""
    async with open_town_on_file(tmp_path, clock) as town:
        key, other = PrivateKey.generate(), PrivateKey.generate()
        data = strictjson.encode(ASK)
        good = signed(town, key, data)
        now = epoch(clock.now())
        secret = {**key.public.jwk(), "d": b64u.encode(key.private_bytes())}
        cases = {
            "as it should be": (good, data, None),
            "unsigned": ([("Host", DOMAIN), ("Content-Type", "application/json")], data, "header_invalid"),
            "no key": (without(good, "SchCP-Agent-Key"), data, "header_invalid"),
            "no digest": (without(good, "Content-Digest"), data, "header_invalid"),
            "no signature": (without(good, "Signature"), data, "header_invalid"),
            "two signatures": ([*good, ("Signature", "schcp=:AAAA:")], data, "header_invalid"),
            "another label": (
                swapped(good, "Signature", dict(good)["Signature"].replace("schcp", "sig1")), data, "header_invalid"),
            "another key's signature": (
                swapped(good, "Signature", dict(signed(town, other, data))["Signature"]), data, "signature_invalid"),
            "another key named": (
                swapped(good, "SchCP-Agent-Key", dict(signed(town, other, data))["SchCP-Agent-Key"]), data,
                "signature_invalid"),
            "its private part": (
                swapped(good, "SchCP-Agent-Key", b64u.encode(strictjson.encode(secret))), data, "private_key_received"),
            "another body": (good, data.replace(b"15:45", b"15:30"), "digest_mismatch"),
            "the internal address": (
                signed(town, key, data, origin=f"https://127.0.0.1:{town.port}"), data, "signature_invalid"),
            "another path": (signed(town, key, data, path="/schcp/v0/holds"), data, "signature_invalid"),
            "a minute and a second old": (signed(town, key, data, created=now - 61), data, "signature_stale"),
            "eleven seconds ahead": (signed(town, key, data, created=now + 11), data, "signature_stale"),
        }  # fmt: skip
        found = {}
        for name, (headers, sent, _) in cases.items():
            answer = await raw(town, POST, headers, sent)
            found[name] = None if answer.status == 200 else reason(answer, answer.status)
        assert found == {name: expected for name, (_, _, expected) in cases.items()}


@pytest.mark.req("SCH-056", "SCH-062")
async def test_the_same_request_twice_is_a_replay_under_its_own_reason(tmp_path, clock):
    """Until the memory of its nonce is longer than its freshness, and by then it is stale."""
    async with open_town_on_file(tmp_path, clock) as town:
        key = PrivateKey.generate()
        data = strictjson.encode(ASK)
        ahead = signed(town, key, data, created=epoch(clock.now()) + 10)
        answers = [await raw(town, POST, ahead, data) for _ in range(2)]
        assert (answers[0].status, reason(answers[1], 401)) == (200, "replayed_nonce")
        clock.advance(timedelta(seconds=70))
        assert reason(await raw(town, POST, ahead, data), 401) == "replayed_nonce"
        clock.advance(timedelta(seconds=1))
        assert reason(await raw(town, POST, ahead, data), 401) == "signature_stale"


@pytest.mark.req("SCH-062")
async def test_a_nonce_stays_spent_though_its_request_was_refused(tmp_path, clock):
    """Otherwise a refused hold could be replayed by a stranger when the slot is free again."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        data = strictjson.encode(body(start="2026-10-15T13:05:00-04:00"))
        headers = [*signed(town, sam.agent, data, path="/schcp/v0/holds"), ("SchCP-Mandate", sam.mandate())]
        head = "POST /schcp/v0/holds HTTP/1.1"
        assert reason(await raw(town, head, headers, data), 409) == "not_bookable"
        assert reason(await raw(town, head, headers, data), 401) == "replayed_nonce"


@pytest.mark.req("SCH-013", "SCH-055", "SCH-058", "SCH-059", "SCH-341", "SCH-342")
async def test_other_things_that_do_not_belong(tmp_path, clock):
    """Foreign hosts, web pages, packed or oversized bodies, unknown paths, methods, queries, versions, media types."""
    async with open_town_on_file(tmp_path, clock) as town:
        key = PrivateKey.generate()
        data = strictjson.encode(ASK)
        good = signed(town, key, data)
        big = strictjson.encode({**ASK, "service_id": "x" * 20_000})
        odd = "/schcp/v0/holds/%00/release"
        cases = {
            "a foreign host": (POST, swapped(good, "Host", "evil.example"), data, 400, "header_invalid"),
            "a web page": (POST, [*good, ("Origin", "https://evil.example")], data, 400, "header_invalid"),
            "a packed body": (POST, [*good, ("Content-Encoding", "gzip")], data, 400, "header_invalid"),
            "a body too large": (POST, signed(town, key, big), big, 413, "too_large"),
            "two mandates": (
                POST, [*good, ("SchCP-Mandate", "a"), ("SchCP-Mandate", "b")], data, 400, "header_invalid"),
            "another media type": (POST, swapped(good, "Content-Type", "text/plain"), data, 400, "header_invalid"),
            "another version": (POST, [*good, ("SchCP-Version", "0.3")], data, 400, "unknown_version"),
            "another method": (POST.replace("POST", "PUT"), good, data, 405, "method_not_allowed"),
            "no such path": ("POST /schcp/v0/nothing HTTP/1.1", good, data, 404, "no_such_path"),
            "another base": ("POST /availability HTTP/1.1", good, data, 404, "no_such_path"),
            "a slash at the end": ("POST /schcp/v0/availability/ HTTP/1.1", good, data, 404, "no_such_path"),
            "a query": (
                "POST /schcp/v0/availability?x=1 HTTP/1.1", signed(town, key, data, path="/schcp/v0/availability?x=1"),
                data, 404, "no_such_path"),
            "an id that cannot be": (
                f"POST {odd} HTTP/1.1", signed(town, key, data, path=odd), data, 404, "no_such_path"),
            "posting to the document": (
                "POST /.well-known/scheduling.json HTTP/1.1", good, data, 405, "method_not_allowed"),
        }  # fmt: skip
        for name, (head, headers, sent, status, expected) in cases.items():
            answer = await raw(town, head, headers, sent)
            assert (answer.status, reason(answer, answer.status)) == (status, expected), name
        version = strictjson.parse((await raw(town, POST, [*good, ("SchCP-Version", "9")], data)).body)
        assert version["refusal"]["versions"] == ["0.4"]


@pytest.mark.req("SCH-115", "SCH-118")
async def test_availability_is_limited_to_sixty_a_minute_for_each_agent(tmp_path, clock):
    """The sixty-first waits as long as it is told, and another agent does not."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam, kim = town.guest(), town.guest()
        answers = [await sam.send("POST", "/availability", ASK) for _ in range(61)]
        assert [answer.status for answer in answers] == [200] * 60 + [429]
        assert reason(answers[-1], 429) == "rate_limited"
        wait = read(answers[-1], 429)["refusal"]["retry_after"]
        assert (answers[-1].header("retry-after"), wait >= 1) == (str(wait), True)
        read(await kim.send("POST", "/availability", ASK), 200)
        clock.advance(timedelta(seconds=wait))
        read(await sam.send("POST", "/availability", ASK), 200)


@pytest.mark.req("SCH-061")
async def test_reading_takes_no_body_and_is_not_stored_by_anybody(tmp_path, clock):
    """A GET signs the digest of nothing; its answer says no-store."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        hold = read(await sam.hold(sam.mandate()), 201)
        answer = await sam.send("GET", f"/holds/{hold['hold_id']}")
        assert (read(answer, 200)["offer"], answer.header("cache-control")) == (hold["offer"], "no-store")
        with_body = await sam.send("GET", f"/holds/{hold['hold_id']}", {"a": 1})
        assert reason(with_body, 400) == "schema_invalid"


PATHS = [path for path, methods in ROUTES.items() if "POST" in methods]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(PATHS),
            st.one_of(
                st.binary(max_size=60),
                st.recursive(
                    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.text(max_size=8),
                    lambda inner: st.dictionaries(
                        st.sampled_from([*HOLD, "window", "offer_sha256", "place", "x"]), inner, max_size=4
                    ),
                    max_leaves=6,
                ).map(lambda value: strictjson.encode(value) if not isinstance(value, bytes) else value),
            ),
        ),
        min_size=1,
        max_size=6,
    )
)
@pytest.mark.req("SCH-341")
def test_no_body_whatever_ends_in_a_server_error(tmp_path_factory, clock, requests):
    """Properly signed soup at every route: refused, typed, nothing changed."""

    async def play():
        async with open_town_on_file(tmp_path_factory.mktemp("soup"), clock) as town:
            sam = town.guest()
            mandate = sam.mandate()
            before = await town.rows()
            for path, data in requests:
                filled = re.sub(r"\{(\w)\w*\}", r"\1_1", path)
                answer = await sam.client.send("POST", BASE + filled, data, extra_headers=[("SchCP-Mandate", mandate)])
                assert 400 <= answer.status < 500
                assert reason(answer, answer.status)
            assert await town.rows() == before

    anyio.run(play)
