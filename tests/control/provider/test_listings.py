"""Models as vendors list them: asked for within bounds, kept for a day, and never lost to a failure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sayso.control.provider.catalog.limits import ListedFacts
from sayso.control.provider.catalog.listing import read_page
from sayso.control.provider.catalog.models_dev import read_models_dev
from sayso.control.provider.catalog.rows import Catalog, Endpoint, KnownModel, OAuthOrigin, Row, WireName
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.control.provider.listings import Listed, Listings, first_of
from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.testing.vendor_servers import VENDORS, VendorServer
from sayso.testing.vendor_servers.server import KEY

START = datetime(2026, 10, 13, 13, tzinfo=UTC)
NOON = 1_790_000_000
every_wire = pytest.mark.parametrize("wire", tuple(VENDORS))


def row(wire: WireName, base_url: str, **more: Any) -> Row:
    members: dict[str, Any] = {
        "id": "toy", "auth": ("api_key",), "credential_env": ("TOY_KEY",), "wires": (wire,), "models_dev": "toy",
        "base_url_source": "static", "endpoints": (Endpoint(wire=wire, base_url=base_url, carries_version=True),),
        "models_endpoint": "/models",
    }  # fmt: skip
    return Row(**{**members, **more})


@dataclass
class Case:
    """A home, and who knows its lists."""

    home: Path
    clock: ManualClock
    fetcher: Fetcher
    environ: dict[str, str]

    def listings(self) -> Listings:
        """As another process would open them."""
        catalog = Catalog(
            providers=(Row(id="toy", models_dev="toy"),), models_dev_url="https://models.example/api.json"
        )
        store = CredentialStore(self.home, {})
        credentials = Credentials(
            self.home, store, environ=self.environ, clock=self.clock, fetcher=lambda: self.fetcher
        )
        return Listings(self.home, catalog, credentials, clock=self.clock, fetcher=lambda: self.fetcher)


@asynccontextmanager
async def case(home: Path, document: object = None) -> AsyncIterator[Case]:
    """With models.dev on loopback."""

    async def get(_: Request) -> Response:
        return JSONResponse({"toy": {"models": document or {}}})

    async with (
        serving(Starlette(routes=[Route("/api.json", get)])) as address,
        Fetcher({"models.example": f"127.0.0.1:{address.port}"}) as fetcher,
    ):
        yield Case(home, ManualClock(START), fetcher, {"TOY_KEY": KEY})


@asynccontextmanager
async def vendor(
    wire: str, models: Sequence[str] = ("fixture",), **more: Any
) -> AsyncIterator[tuple[VendorServer, Row]]:
    server = VendorServer(VENDORS[wire], models=models, **more)
    async with serving(server, grace=0.1) as address:
        base = server.vendor.base or "/v1"
        yield server, row(wire, f"{address.url}{base}")  # type: ignore[arg-type]


@asynccontextmanager
async def answering(answer: Callable[[Request], Response]) -> AsyncIterator[tuple[list[Request], Row]]:
    asked: list[Request] = []

    async def get(request: Request) -> Response:
        asked.append(request)
        return answer(request)

    async with serving(Starlette(routes=[Route("/v1/models", get)]), grace=0.1) as address:
        yield asked, row("openai-chat-completions", f"{address.url}/v1")


def ids(listings: Listings, it: Row) -> list[str]:
    return [model.id for model in listings.known(it)]


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-144", "OAP-147")
async def test_every_page_of_every_vendor_is_kept_for_the_next_process(wire: str, tmp_path: Path) -> None:
    """In the vendor's order, in a file of one's own; reading it asks nobody."""
    names = [f"model-{number}" for number in range(2500)]
    async with case(tmp_path) as it, vendor(wire, names) as (server, toy):
        assert it.listings().known(toy) == ()
        assert await it.listings().refresh(toy) == 2500
        assert ids(it.listings(), toy) == names
        assert len(server.received) == (1 if wire.startswith("openai-") else 3)
        assert all(server.vendor.credential(received) == KEY for received in server.received)
    (kept,) = (tmp_path / "model_catalog").glob("listing-*")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert KEY not in kept.read_text()


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_list_is_renewed_after_a_day_and_not_before(tmp_path: Path) -> None:
    """A refresh that is told asks at once."""
    async with case(tmp_path) as it, vendor("openai-responses") as (server, toy):
        await it.listings().renew([toy])
        it.clock.advance(timedelta(hours=24) - timedelta(seconds=1))
        await it.listings().renew([toy])
        assert len(server.received) == 1
        it.clock.advance(timedelta(seconds=1))
        await it.listings().renew([toy])
        assert len(server.received) == 2
        await it.listings().refresh(toy)
        assert len(server.received) == 3


SAID = {
    "a failure": ("endpoint_error", None), "a refused key": ("credential_rejected", None),
    "no list": ("endpoint_error", "not_a_listing"), "no JSON": ("endpoint_error", "not_a_listing"),
    "a redirect": ("endpoint_error", "redirect"), "too much": ("endpoint_error", "too_large"),
}  # fmt: skip
BAD: dict[str, Callable[[Request], Response]] = {
    "a failure": lambda _: JSONResponse({"error": {"message": "no"}}, status_code=500),
    "a refused key": lambda _: JSONResponse({"error": {"message": "no"}}, status_code=401),
    "no list": lambda _: JSONResponse({"data": {"id": "x"}}),
    "no JSON": lambda _: Response(b"<html>"),
    "a redirect": lambda _: Response(status_code=302, headers={"location": "https://elsewhere.example/models"}),
    "too much": lambda _: Response(b" " * (8 * 1024 * 1024 + 1)),
}


@pytest.mark.anyio
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.req("OAP-147")
async def test_whatever_goes_wrong_an_old_list_stays(kind: str, tmp_path: Path) -> None:
    """A refresh that was told says why; one in the background is quiet."""
    good = JSONResponse({"data": [{"id": "old"}]})
    answers = [good]
    async with (
        case(tmp_path) as it,
        answering(lambda request: answers.pop() if answers else BAD[kind](request)) as (
            asked,
            toy,
        ),
    ):
        listings = it.listings()
        await listings.refresh(toy)
        it.clock.advance(timedelta(days=9))
        with pytest.raises(Refused) as failed:
            await listings.refresh(toy)
        assert (failed.value.refusal.code, failed.value.refusal.reason) == SAID[kind]
        assert KEY not in str(failed.value)
        await listings.renew([toy])
        assert len(asked) == 3
        assert ids(listings, toy) == ids(it.listings(), toy) == ["old"]


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_nobody_there_and_nothing_known_is_nothing(tmp_path: Path) -> None:
    """And the background's attempt ends by itself."""
    async with case(tmp_path) as it, vendor("openai-responses") as (_, toy):
        pass
    async with case(tmp_path) as it:
        await it.listings().renew([toy])
        with pytest.raises(PeerUnreachable):
            await it.listings().refresh(toy)
        assert it.listings().known(toy) == ()


@pytest.mark.anyio
async def test_a_cursor_that_comes_again_ends_the_list(tmp_path: Path) -> None:
    """A vendor's mistake, or its malice, costs two requests."""
    page = {"data": [{"id": "a"}, {"id": "b"}], "has_more": True, "last_id": "b"}
    async with case(tmp_path) as it, answering(lambda _: JSONResponse(page)) as (asked, toy):
        assert await it.listings().refresh(toy) == 2
        assert [request.query_params.get("after_id") for request in asked] == [None, "b"]


@pytest.mark.anyio
async def test_a_list_without_end_is_cut(tmp_path: Path) -> None:
    """Twenty pages."""

    def page(request: Request) -> Response:
        number = int(request.query_params.get("after_id", "0")) + 1
        return JSONResponse({"data": [{"id": f"m{number}"}], "has_more": True, "last_id": str(number)})

    async with case(tmp_path) as it, answering(page) as (asked, toy):
        assert await it.listings().refresh(toy) == 20
        assert len(asked) == 20


DEV = {
    "both": {"limit": {"context": 1, "output": 2}, "status": "deprecated", "tool_call": True, "name": "Dev",
             "release_date": "2026-03", "modalities": {"output": ["text"]}},
    "other": {"limit": {"context": 3, "output": 4}, "tool_call": False, "release_date": "2026-03-04"},
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.req("OAP-145", "OAP-147")
async def test_models_dev_fills_in_and_never_replaces(tmp_path: Path) -> None:
    """The row's entry, the listing, the row, models.dev: the first that says a thing is believed."""
    listing = {"data": [{"id": "both", "context_length": 100, "name": "Listed"}, {"id": "other", "created": NOON},
                        {"id": "mine"}]}  # fmt: skip
    async with case(tmp_path, DEV) as it, answering(lambda _: JSONResponse(listing)) as (_, bare):
        toy = row(
            "openai-chat-completions", bare.endpoints[0].base_url, max_tokens=50,
            models=(KnownModel(id="mine", name="Mine", context_window=9),),
        )  # fmt: skip
        listings = it.listings()
        await listings.renew([toy])
        march = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())
        assert listings.known(toy) == (
            Listed(id="mine", display_name="Mine", context_window=9, max_output_tokens=50, source="row"),
            Listed(id="both", display_name="Listed", context_window=100, max_output_tokens=50, created=march,
                   is_deprecated=True, has_tools=True, is_chat=True, source="listing"),
            Listed(id="other", context_window=3, max_output_tokens=50, created=march + 3 * 86400, has_tools=False,
                   source="listing"),
        )  # fmt: skip
        listed, dev = listings.facts(toy, "both")
        assert (listed and listed.context_window, dev and dev.context_window) == (100, 1)


@pytest.mark.req("OAP-145")
def test_a_list_may_say_what_a_model_is_in_members_of_members() -> None:
    """As GitHub Copilot's does: limits, kind, the paths it is served on, and what the account may not use."""
    limits = {"max_context_window_tokens": 128_000, "max_output_tokens": 16_384}
    chat = {"type": "chat", "limits": limits, "supports": {"tool_calls": True}}
    page = {"data": [
        {"id": "both", "name": "Both", "capabilities": chat,
         "supported_endpoints": ["/responses", "/chat/completions"]},
        {"id": "new", "capabilities": chat, "supported_endpoints": ["ws:/responses", "/responses", 7]},
        {"id": "far", "capabilities": chat, "supported_endpoints": ["/v1/messages"], "policy": {"state": "enabled"}},
        {"id": "live", "supported_endpoints": ["/realtime"]},
        {"id": "off", "capabilities": chat, "policy": {"state": "disabled"}},
        {"id": "vector", "capabilities": {"type": "embeddings"}, "supported_endpoints": "/responses"},
    ]}  # fmt: skip
    found = {model.id: model.facts for model in read_page(json.dumps(page).encode()).models}
    said = {"context_window": 128_000, "max_tokens": 16_384, "has_tools": True}
    assert found == {
        "both": ListedFacts(name="Both", wire="openai-chat-completions", **said),  # type: ignore[arg-type]
        "new": ListedFacts(wire="openai-responses", **said),  # type: ignore[arg-type]
        "far": ListedFacts(wire="anthropic-messages", **said),  # type: ignore[arg-type]
        "live": ListedFacts(is_chat=False),
        "vector": ListedFacts(is_chat=False),
    }


@pytest.mark.req("OAP-145")
@pytest.mark.parametrize("id_", ["a\u202eb", "a\x1b[31m", "a\nb", " a", "", "m" * 201, "m" * 1_000_000, 7, None])
def test_a_name_that_no_terminal_should_see_is_no_model(id_: object) -> None:
    """Neither in a vendor's list nor at models.dev; its neighbour is."""
    page = read_page(json.dumps({"data": [{"id": id_}, {"id": "good"}]}).encode())
    assert [model.id for model in page.models] == ["good"]
    document = {"toy": {"models": {str(id_): {}, "good": {}}}}
    found = read_models_dev(json.dumps(document).encode(), ["toy"])["toy"]
    assert list(found) == (["good"] if isinstance(id_, str) else [str(id_), "good"])


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_without_a_list_models_dev_names_models_to_choose_from(tmp_path: Path) -> None:
    """They are marked as its, and none counts as the vendor's."""
    async with case(tmp_path, DEV) as it:
        listings = it.listings()
        toy = row("openai-responses", "https://toy.example/v1")
        it.environ.clear()
        await listings.renew([toy])
        assert [(model.id, model.source) for model in listings.known(toy)] == [
            ("both", "models_dev"), ("other", "models_dev"),
        ]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_models_dev_model_is_none_of_a_vendor_that_lists_its_own(tmp_path: Path) -> None:
    """An account may not have all that the vendor sells."""
    async with case(tmp_path, DEV) as it, vendor("openai-responses", ["mine"]) as (_, toy):
        listings = it.listings()
        await listings.renew([toy])
        assert ids(listings, toy) == ["mine"]


@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_row_that_was_moved_does_not_show_the_list_of_where_it_was(tmp_path: Path) -> None:
    """Until it is asked there."""
    async with case(tmp_path) as it, vendor("openai-responses", ["here"]) as (_, first):
        toy = row("openai-responses", first.endpoints[0].base_url, base_url_env=("TOY_URL",))
        await it.listings().refresh(toy)
        assert ids(it.listings(), toy) == ["here"]
        it.environ["TOY_URL"] = "http://127.0.0.1:9/v1"
        assert ids(it.listings(), toy) == []


@pytest.mark.anyio
@pytest.mark.req("OAP-153", "OAP-154")
async def test_a_token_goes_to_no_list_it_is_not_for(tmp_path: Path) -> None:
    """Refused before anything is sent; and without a credential nobody is asked."""
    async with case(tmp_path) as it, vendor("openai-responses") as (server, first):
        toy = row(
            "openai-responses", first.endpoints[0].base_url, auth=("oauth",), credential_env=(),
            oauth_origin=OAuthOrigin(exact=("https://toy.example",)),
        )  # fmt: skip
        with pytest.raises(Refused, match="There is no credential"):
            await it.listings().refresh(toy)
        CredentialStore(tmp_path, {}).put("toy", OAuthToken(access_token="at-1"))
        with pytest.raises(Refused) as refused:
            await it.listings().refresh(toy)
        await it.listings().renew([toy])
    assert (refused.value.refusal.reason, server.received) == ("origin_not_allowed", [])


@pytest.mark.anyio
@pytest.mark.parametrize("header", ["bearer", "x-api-key"])
@pytest.mark.req("OAP-154")
async def test_a_vendor_that_quotes_the_credential_is_not_repeated(header: str, tmp_path: Path) -> None:
    """In whichever header it came, and however long the vendor's sentence is."""

    def quote(request: Request) -> Response:
        sent = request.headers.get("x-api-key") or request.headers["authorization"].removeprefix("Bearer ")
        message = f"{'x' * 200} who is {sent}? {'y' * 60} {sent}"
        return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status_code=400)

    async with case(tmp_path) as it, answering(quote) as (asked, toy):
        toy = replace(toy, key_header=header)
        with pytest.raises(Refused) as refused:
            await it.listings().refresh(toy)
    assert len(asked) == 1
    assert refused.value.refusal.code == "invalid_request"
    assert KEY[:8] not in f"{refused.value!r} {refused.value} {refused.value.refusal}"


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["sk-s3cr3t\u00e9", "sk-s3cr3t\r\nx: y", " sk-s3cr3t"])
@pytest.mark.req("OAP-154")
async def test_a_stored_key_that_no_header_can_hold_is_told_and_not_sent(key: str, tmp_path: Path) -> None:
    """Somebody else may have written it into the file."""
    async with case(tmp_path) as it, answering(lambda _: JSONResponse({"data": []})) as (asked, toy):
        it.environ = {}
        CredentialStore(tmp_path, {}).put(toy.id, ApiKey(key=key))
        with pytest.raises(Refused) as refused:
            await it.listings().refresh(toy)
    assert (refused.value.refusal.code, asked) == ("credential_rejected", [])
    assert "s3cr3t" not in f"{refused.value!r} {refused.value}"


@pytest.mark.anyio
async def test_a_server_that_needs_no_credential_is_asked_without_one(tmp_path: Path) -> None:
    """And given one where there is one."""
    async with case(tmp_path) as it, vendor("openai-chat-completions", ["llama"], is_open=True) as (server, first):
        it.environ.clear()
        toy = row("openai-chat-completions", first.endpoints[0].base_url, auth=("none", "api_key"))
        assert await it.listings().refresh(toy) == 1
        CredentialStore(tmp_path, {}).put("toy", ApiKey(key="k-1"))
        await it.listings().refresh(toy)
    assert [received.headers.get("authorization") for received in server.received] == [None, "Bearer k-1"]


@pytest.mark.parametrize("data", [b"", b"\xff", b'{"v": 2, "fetched_at": 0, "url": "", "models": []}', b'{"v": 1}'])
@pytest.mark.anyio
@pytest.mark.req("OAP-147")
async def test_a_damaged_copy_is_none(data: bytes, tmp_path: Path) -> None:
    """It is a cache: nobody is told, and it is written anew."""
    (tmp_path / "model_catalog").mkdir()
    (tmp_path / "model_catalog" / "listing-toy.json").write_bytes(data)
    async with case(tmp_path) as it, vendor("openai-responses") as (_, toy):
        assert it.listings().known(toy) == ()
        await it.listings().renew([toy])
        assert ids(it.listings(), toy) == ["fixture"]


def model(id_: str, **more: Any) -> Listed:
    return Listed(id=id_, source="listing", **more)


DAY = 86_400
CHOICES: dict[str, tuple[list[Listed], str | None]] = {
    "none": ([], None),
    "the newest": ([model("a", created=DAY), model("b", created=3 * DAY), model("c", created=2 * DAY)], "b"),
    "of one day the shortest name": ([model("big-pro", created=DAY), model("big", created=DAY + 9)], "big"),
    "then the alphabet": ([model("b"), model("a")], "a"),
    "one that calls tools": ([model("new", created=9 * DAY), model("old", created=DAY, has_tools=True)], "old"),
    "none that is known not to": ([model("a", has_tools=False), model("b")], "b"),
    "none that is deprecated": ([model("a", is_deprecated=True), model("b")], "b"),
    "none that does not talk": ([model("a", is_chat=False), model("b")], "b"),
    "none whose name says what it is": ([model("a-embedding"), model("b")], "b"),
    "one that is said to talk, whatever its name": ([model("a-video", is_chat=True)], "a-video"),
    "nobody": ([model("a", is_deprecated=True)], None),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.req("OAP-212")
def test_who_is_asked_where_nobody_said_whom(name: str) -> None:
    """Two machines that know the same choose the same, in whatever order they heard it."""
    models, wanted = CHOICES[name]
    assert first_of(models) == first_of(reversed(models)) == wanted


@pytest.mark.anyio
@pytest.mark.req("OAP-152", "OAP-212")
async def test_a_row_that_names_models_needs_nobody_and_another_asks_once(tmp_path: Path) -> None:
    """So that a key in the environment is enough for a first run."""
    async with case(tmp_path) as it, vendor("anthropic-messages", ["alpha", "be"]) as (server, toy):
        listings = it.listings()
        named = row("anthropic-messages", toy.endpoints[0].base_url, models=(KnownModel(id="z"), KnownModel(id="a")))
        assert (await listings.choose(named), server.received) == ("z", [])
        assert listings.default_model(toy) is None
        assert await listings.choose(toy) == "be"
        assert await listings.choose(toy) == "be"
        assert len(server.received) == 1


@pytest.mark.anyio
@pytest.mark.req("OAP-212")
async def test_models_dev_is_asked_only_where_there_is_a_choice(tmp_path: Path) -> None:
    """A server with one model needs nobody's opinion of it; where the vendor tells nothing, any opinion helps."""
    async with case(tmp_path, DEV) as it, vendor("openai-responses", ["only"]) as (_, toy):
        listings = it.listings()
        assert await listings.choose(toy) == "only"
        assert listings.facts(toy, "both")[1] is None
    async with case(tmp_path / "two", {"m": {"tool_call": True}}) as it, answering(BAD["a failure"]) as (_, toy):
        assert await it.listings().choose(toy) == "m"


@pytest.mark.anyio
async def test_many_are_asked_side_by_side_and_one_that_fails_costs_no_other(tmp_path: Path) -> None:
    """In one call."""
    async with (
        case(tmp_path) as it,
        vendor("openai-responses", ["a"]) as (_, first),
        answering(BAD["no list"]) as (_, second),
        vendor("google-generate-content", ["c"]) as (_, third),
    ):
        rows = [
            row(each.wires[0], each.endpoints[0].base_url, id=f"toy-{number}")
            for number, each in enumerate((first, second, third))
        ]
        with anyio.fail_after(30):
            await it.listings().renew(rows)
        assert [ids(it.listings(), each) for each in rows] == [["a"], [], ["c"]]


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["data", "models", "id", "name", "created", "created_at", "meta", "lifecycle",
                                       "supported_parameters", "architecture", "nextPageToken", "last_id", "has_more",
                                       "policy", "capabilities", "limits", "supported_endpoints"]),
                      inner, max_size=5),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_any_answer_is_a_page_or_no_list(data: bytes) -> None:
    """Whatever a server sends, one typed refusal is the worst of it."""
    try:
        reason, models = None, read_page(data).models
    except Refused as refused:
        reason, models = refused.refusal.reason, ()
    assert reason in (None, "not_a_listing")
    assert all(each.id for each in models)
