"""Every provider behind one port: routing, lists, refusals and snapshots, over real vendors' fixtures."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.protocol.payloads.content import ReasoningPart, TextPart
from sayso.control.protocol.payloads.inference import PartDelta, PartEnded, SnapshotToolCall
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.catalog.providers import open_providers
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.planner.provider import MODEL
from sayso.control.provider.service import Providers
from sayso.control.validator.judging import judge
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.net.fetch import Fetcher
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import VENDORS, Said, Stream
from tests.control.provider.credentials.keyrings import Silent, using
from tests.control.provider.service.vendors import (
    ROWS,
    TURN,
    Judge,
    ask,
    cancel_request,
    describe_request,
    models_request,
    open_service,
    open_vendor,
    shown,
    sync_request,
    to_lines,
)
from tests.control.provider.wires.bench import ALL, PATIENCE

pytestmark = pytest.mark.anyio
every_wire = pytest.mark.parametrize("wire", ALL)


@pytest.fixture
def heard(provider_schema: Any) -> Judge:
    return Judge(provider_schema)


@every_wire
@pytest.mark.req("OAP-130", "OAP-131")
async def test_a_model_is_reached_through_its_row(wire: str, tmp_path: Path, heard: Judge) -> None:
    """Twice over one connection; the whole trace is sound to our validator."""
    async with open_vendor(wire, [TURN, Said([Say("done")])]) as vendor, open_service(tmp_path, vendor.environ) as all_:
        first = await heard.infer(all_, ask(vendor.ref))
        second = await heard.infer(all_, ask(vendor.ref, name="q2"))
    assert (first.stop_reason, second.parts) == ("tool_use", (TextPart(text="done"),))
    assert len({received.client for received in vendor.server.received}) == 1
    report = judge(to_lines(heard.envelopes), profile="model-provider-core")
    assert (report.diagnostics, report.envelopes) == ((), len(heard.envelopes))


@pytest.mark.req("OAP-130")
async def test_the_planner_is_listed_last_and_answers(tmp_path: Path, heard: Judge) -> None:
    """Without any credential."""
    async with open_service(tmp_path, {}) as all_:
        described, listed = await all_.describe(describe_request()), await all_.models(models_request())
        heard.hear(described)
        heard.hear(listed)
        answered = await heard.infer(all_, ask(MODEL))
        assert await all_.first_model() is None
    assert described.payload.providers[-1].id == "sayso-offline"
    assert listed.payload.models[-1].model_ref == MODEL
    assert described.capability_revision == listed.capability_revision != UNSET
    assert answered.stop_reason == "stop"
    assert described.payload.providers[0].id == "openai"
    assert {each.credential_grant for each in described.payload.providers} == {"none"}


@pytest.mark.req("OAP-130")
async def test_models_say_how_their_provider_stands(tmp_path: Path, heard: Judge) -> None:
    """One has a credential, another none, a third needs none; another provider's models are none."""
    (tmp_path / "providers.json").write_text(
        '{"providers": {"near": {"base_url": "http://127.0.0.1:9", "models": [{"id": "tiny", "context_window": 4096}]},'
        '"far": {"base_url": "https://far.example/v1", "credential_env": ["FAR_KEY"], "models": [{"id": "big"}]}}}'
    )
    async with open_service(tmp_path, {"KIMI_API_KEY": "k" * 20}) as all_:
        listed = await all_.models(models_request())
        heard.hear(listed)
        only = await all_.models(models_request("near"))
        nobody = await all_.models(models_request("nobody"))
        assert await all_.first_model() == "kimi/kimi-for-coding"
    stands = {each.model_ref: each.auth_status for each in listed.payload.models}
    assert stands["kimi/kimi-for-coding"] == "authenticated"
    assert stands["near/tiny"] == "unknown"
    assert stands["far/big"] == "login_required"
    assert [(each.model_id, each.context_window) for each in only.payload.models] == [("tiny", 4096)]
    assert nobody.payload.models == ()


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        ("nobody/gpt", "model_not_found"),
        ("gpt-5", "model_not_found"),
        ("openai/", "model_not_found"),
        ("openai/fixture", "credential_missing"),
        ("openai/anthropic-messages@fixture", "unsupported_feature"),
        ("azure/fixture", "credential_missing"),
    ],
)
@pytest.mark.req("OAP-130")
async def test_what_is_known_beforehand_is_refused_at_create(ref: str, code: str, tmp_path: Path, heard: Judge) -> None:
    """And a refusal allocates nothing."""
    async with open_service(tmp_path, {}) as all_:
        refused = await heard.infer(all_, ask(ref))
    assert (refused.types, refused.error.code) == (["create.response"], code)
    assert refused.envelopes[0].inference_id is UNSET


@pytest.mark.req("OAP-130", "OAP-134")
async def test_settings_that_lead_nowhere_and_granted_credentials_are_refused(tmp_path: Path, heard: Judge) -> None:
    """No base URL for a deployment; a reference to a credential nobody was granted."""
    async with open_service(tmp_path, {"AZURE_OPENAI_API_KEY": "a" * 20}) as all_:
        nowhere = await heard.infer(all_, ask("azure/fixture"))
        granted = await heard.infer(all_, ask(MODEL, name="q2", credential_ref="g1"))
    assert nowhere.error.code == "provider_unavailable"
    assert "AZURE_OPENAI_BASE_URL" in nowhere.error.message
    assert granted.error.code == "credential_missing"


@pytest.mark.req("OAP-130")
async def test_a_model_may_be_named_with_its_wire(tmp_path: Path, heard: Judge) -> None:
    """As the upstream draft writes it: the row's second wire is chosen."""
    wire = "openai-chat-completions"
    async with open_vendor(wire, [Said([Say("hi")])]) as vendor:
        environ = {"OPENAI_API_KEY": vendor.environ["DEEPSEEK_API_KEY"]}
        environ["OPENAI_BASE_URL"] = vendor.environ["DEEPSEEK_BASE_URL"]
        async with open_service(tmp_path, environ) as all_:
            answered = await heard.infer(all_, ask(f"openai/{wire}@fixture"))
    assert answered.parts == (TextPart(text="hi"),)
    assert vendor.server.received[0].path.endswith("/chat/completions")


@pytest.mark.req("OAP-130")
async def test_a_credential_that_comes_later_is_used(tmp_path: Path, heard: Judge) -> None:
    """A refused create leaves nothing behind that remembers the refusal."""
    environ: dict[str, str] = {}
    async with open_vendor("openai-responses", [Said([Say("hi")])]) as vendor, open_service(tmp_path, environ) as all_:
        before = await heard.infer(all_, ask(vendor.ref))
        environ.update(vendor.environ)
        after = await heard.infer(all_, ask(vendor.ref, name="q2"))
    assert before.error.code == "credential_missing"
    assert after.stop_reason == "stop"


@every_wire
@pytest.mark.req("OAP-130")
async def test_every_delta_brings_the_message_so_far(wire: str, tmp_path: Path, heard: Judge) -> None:
    """A call in flight as text, an ended one with its arguments and its carry."""
    async with open_vendor(wire, [TURN]) as vendor, open_service(tmp_path, vendor.environ) as all_:
        told = await heard.infer(all_, ask(vendor.ref, include_snapshot="every_delta"))
    assert told.envelopes[0].payload.honoured.include_snapshot == "every_delta"  # type: ignore[attr-defined]
    texts = {0: "", 1: "", 2: ""}
    for envelope in told.envelopes:
        payload = envelope.payload
        if isinstance(payload, PartDelta):
            texts[payload.part_index] += payload.delta
            part = shown(payload.snapshot)[payload.part_index]
            grown = getattr(part, "text", None) or getattr(part, "reasoning", None) or part.arguments_partial
            assert grown == texts[payload.part_index]
    ends = [envelope.payload for envelope in told.envelopes if isinstance(envelope.payload, PartEnded)]
    last = shown(ends[-1].snapshot)
    assert [type(part) for part in last] == [ReasoningPart, TextPart, SnapshotToolCall]
    assert (last[2].arguments_json, last[2].arguments_partial) == ({"q": "x"}, UNSET)
    assert (last[0].carry, last[2].carry) == (ends[0].carry, ends[-1].carry)


@pytest.mark.req("OAP-130")
async def test_on_part_end_brings_it_then_alone(tmp_path: Path, heard: Judge) -> None:
    """And never, or nothing asked, brings none."""
    turns = [TURN, TURN]
    async with open_vendor("anthropic-messages", turns) as vendor, open_service(tmp_path, vendor.environ) as all_:
        ends = await heard.infer(all_, ask(vendor.ref, include_snapshot="on_part_end"))
        none = await heard.infer(all_, ask(vendor.ref, name="q2"))
    kept = [envelope.type for envelope in ends.envelopes if getattr(envelope.payload, "snapshot", UNSET) is not UNSET]
    assert kept == ["inference.part.ended"] * 3
    assert not any(getattr(envelope.payload, "snapshot", UNSET) for envelope in none.envelopes)


@pytest.mark.req("OAP-130")
async def test_sync_shows_an_inference_under_way_and_nothing_afterwards(tmp_path: Path, heard: Judge) -> None:
    """While the vendor is silent, then once it is over; of one nobody knows there is nothing either."""
    frames = VENDORS["openai-chat-completions"].stream(TURN)[:-1]
    async with (
        open_vendor("openai-chat-completions", [Stream(frames, hangs=True)]) as vendor,
        open_service(tmp_path, vendor.environ) as all_,
        aclosing(all_.create(ask(vendor.ref))) as envelopes,
    ):
        name = (await anext(envelopes)).inference_id
        while (envelope := await anext(envelopes)).type != "inference.part.delta":
            pass
        under_way = await all_.sync(sync_request(name))
        assert isinstance(envelope.payload, PartDelta)
        assert shown(under_way.payload.snapshot)[0].reasoning == envelope.payload.delta
        assert (await all_.cancel(cancel_request(name))).payload.accepted is True
        rest = [each async for each in envelopes]
        assert rest[-1].payload.stop_reason == "aborted"  # type: ignore[attr-defined]
        after = await all_.sync(sync_request(name, "s2"))
        late = await all_.cancel(cancel_request(name, "c2"))
        with anyio.fail_after(PATIENCE):
            await vendor.server.gone.wait()
    assert (after.payload.snapshot, after.inference_id, late.payload.accepted) == (UNSET, name, False)
    for each in (under_way, after, late):
        heard.hear(each)


@pytest.mark.req("OAP-130")
async def test_a_caller_that_leaves_lets_the_vendor_go(tmp_path: Path) -> None:
    """Closing the iterator closes the connection, and the wire is used again."""
    wire = "openai-responses"
    frames = VENDORS[wire].stream(TURN)[:-1]
    answers = [Stream(frames, hangs=True), Said([Say("hi")])]
    async with open_vendor(wire, answers) as vendor, open_service(tmp_path, vendor.environ) as all_:
        async with aclosing(all_.create(ask(vendor.ref))) as envelopes:
            for _ in range(3):
                await anext(envelopes)
        with anyio.fail_after(PATIENCE):
            await vendor.server.gone.wait()
        assert [each.type async for each in all_.create(ask(vendor.ref))][-1] == "inference.completed"


def test_every_wire_has_a_row() -> None:
    """What is proven here is proven of all wires."""
    assert set(ROWS) == set(VENDORS)


@pytest.mark.req("OAP-130", "OAP-150")
async def test_whoever_leaves_while_the_keyring_is_silent_is_let_go(tmp_path: Path) -> None:
    """A desktop may ask for as long as it likes: no request and no end of a service waits for it."""
    silent, clock = Silent(), SystemClock()
    store = CredentialStore(tmp_path, {})
    credentials = Credentials(tmp_path, store, environ={}, clock=clock, fetcher=Fetcher)
    service = Providers(catalog=open_providers(tmp_path), credentials=credentials, clock=clock, ids=SystemIds())
    try:
        with using(silent):
            async with service as all_:
                async with anyio.create_task_group() as tasks:

                    async def create() -> None:
                        async for _ in all_.create(ask("openai/fixture")):
                            raise AssertionError("it was answered")

                    tasks.start_soon(create)
                    while not silent.asked:
                        await anyio.lowlevel.checkpoint()
                    described = await all_.describe(describe_request())
                    tasks.cancel_scope.cancel()
                assert store.trouble is None  # nobody gave the keyring up: it is still asked
            assert described.payload.providers
    finally:
        silent.answer.set()
