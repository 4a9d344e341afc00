"""Acts run by class, with consent, and every step leaves a receipt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.consent import Answer, Consent, Evidence, Question
from sayso.governance.kernel import ActCall, Asks, Done, Kernel
from sayso.ledger.ledger import Ledger
from sayso.proof.hashes import sha256_b64u
from sayso.testing.store import fresh_store

pytestmark = pytest.mark.anyio

QUESTION = Question(kind="limits", title="May I?", text="I allow it.", document=b"{}", media_type="application/json")
SIGNED = "signed"


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    what: str


class Signatures:
    """A consent source that asks once and takes one signed document for a yes."""

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        if act_name != "take":
            return None
        if not answers:
            return QUESTION
        if not answers[0].granted:
            raise Refused.because("consent_refused", "the person said no")
        if answers[0].document != SIGNED:
            return None
        digest = sha256_b64u(SIGNED)
        return Consent(
            by="urn:person", evidence=Evidence.SIGNED_LIMITS, subject_sha256=digest, mode="human_present",
            document=SIGNED, document_sha256=digest,
        )  # fmt: skip


class House:
    """A kernel over a real ledger, and the acts that ran."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.ran: list[tuple[str, str]] = []
        self.fails: Exception | None = None
        self.asks_midway = False
        registry = Registry()
        for name, kind in (("look", ActClass.DISCLOSURE), ("take", ActClass.EXECUTION), ("orphan", ActClass.EXECUTION)):
            act = Act(
                name=name, act_class=kind, title=name, description="", arguments=Wanted, touches_others=name != "look"
            )
            registry.register(act, self._operation(name))
        self.kernel = Kernel(registry, [Signatures()], ledger)

    def _operation(self, name: str):
        async def run(arguments: Wanted, consent: Consent | None) -> Mapping[str, Any] | Question:
            self.ran.append((name, arguments.what))
            if self.fails is not None:
                raise self.fails
            if self.asks_midway and len(self.ran) == 1:
                return QUESTION
            return {"took": arguments.what}

        return run

    async def call(self, name: str, *answers: Answer, arguments: Mapping[str, Any] | None = None) -> Done | Asks:
        arguments = {"what": "tea"} if arguments is None else arguments
        return await self.kernel.call(ActCall(call_id="c1", name=name, arguments=arguments, actor="agent"), answers)

    async def kinds(self) -> list[str]:
        return [record.kind for record in await self.ledger.records()]


@pytest.fixture
async def house(tmp_path: Path, clock: ManualClock) -> AsyncIterator[House]:
    with fresh_store(tmp_path, clock) as store:
        yield House(Ledger(store, "test", clock))


YES = Answer(granted=True, document=SIGNED)


@pytest.mark.req("GTW-030")
async def test_an_act_without_a_class_never_runs(house: House) -> None:
    """What nobody classified, nobody can call; the attempt is receipted."""
    done = await house.call("launch")
    assert isinstance(done, Done)
    assert (done.is_error, done.result["refused"]["code"]) == (True, "unclassified_act")
    assert (house.ran, await house.kinds()) == ([], ["act.refused"])


@pytest.mark.req("GTW-030", "GTW-051")
async def test_a_disclosure_runs_at_once_and_leaves_one_leaf(house: House) -> None:
    """Reads cost one commit and wait for a batch; the chain itself does not grow."""
    assert await house.call("look") == Done(result={"took": "tea"}, is_error=False)
    (leaf,) = await house.ledger.disclosures()
    assert (leaf.kind, leaf.body["class"], leaf.output_sha256) == (
        "act.done",
        "disclosure",
        sha256_b64u(b'{"took":"tea"}'),
    )
    assert await house.kinds() == []


async def test_an_execution_asks_before_it_runs(house: House) -> None:
    """The question comes back to the caller, and its text's hash is in the receipt."""
    assert await house.call("take") == Asks(question=QUESTION)
    (asked,) = await house.ledger.records()
    assert (house.ran, asked.kind, asked.body["text_sha256"]) == ([], "consent.asked", sha256_b64u(b"I allow it."))


@pytest.mark.req("GTW-030", "GTW-050")
async def test_a_signed_answer_lets_it_run_between_two_receipts(house: House) -> None:
    """The intent is durable before anything happens, with the evidence it rests on."""
    assert await house.call("take", YES) == Done(result={"took": "tea"}, is_error=False)
    started, done = await house.ledger.records()
    assert (started.kind, started.body["evidence"], started.links[0].sha256) == (
        "act.started",
        Evidence.SIGNED_LIMITS,
        sha256_b64u(SIGNED),
    )
    assert (done.kind, house.ran) == ("act.done", [("take", "tea")])


@pytest.mark.parametrize("document", [None, "another document"])
async def test_a_grant_without_the_signed_document_does_not_run(house: House, document: str | None) -> None:
    """A yes is a message; only what it carries can prove anything."""
    done = await house.call("take", Answer(granted=True, document=document))
    assert isinstance(done, Done)
    assert (done.result["refused"]["code"], house.ran) == ("consent_required", [])
    assert await house.kinds() == ["act.refused"]


async def test_a_no_is_receipted_as_the_persons_no(house: House) -> None:
    """So that nobody can later say that nobody was asked."""
    await house.call("take", Answer(granted=False))
    assert (house.ran, await house.kinds()) == ([], ["consent.refused"])


async def test_an_execution_that_no_source_knows_is_refused(house: House) -> None:
    """No evidence from anywhere is a no."""
    done = await house.call("orphan", YES)
    assert isinstance(done, Done)
    assert (done.result["refused"]["code"], house.ran) == ("consent_required", [])


async def test_arguments_outside_the_schema_run_nothing(house: House) -> None:
    """The refusal names the member."""
    done = await house.call("take", YES, arguments={"what": "tea", "price": 1})
    assert isinstance(done, Done)
    assert (done.result["refused"]["code"], house.ran) == ("schema_invalid", [])


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (PeerRefused("a shop", Refusal(code="SLOT_TAKEN", message="taken")), "SLOT_TAKEN"),
        (PeerUnreachable("a shop", "no answer"), "peer_unreachable"),
        (Refused.because("offer_invalid", "the offer does not verify"), "offer_invalid"),
    ],
)
async def test_a_failure_after_the_start_is_receipted_with_its_code(
    house: House, failure: Exception, code: str
) -> None:
    """An intent never stays without an outcome."""
    house.fails = failure
    done = await house.call("take", YES)
    assert isinstance(done, Done)
    assert (done.is_error, done.result["refused"]["code"]) == (True, code)
    assert [(r.kind, r.body.get("code")) for r in await house.ledger.records()] == [
        ("act.started", None),
        ("act.failed", code),
    ]


async def test_an_act_that_needs_a_second_signature_midway_asks_and_goes_on(house: House) -> None:
    """The body is called again with all answers, and decides itself what is already done."""
    house.asks_midway = True
    assert await house.call("take", YES) == Asks(question=QUESTION)
    assert await house.call("take", YES, YES) == Done(result={"took": "tea"}, is_error=False)
    assert await house.kinds() == ["act.started", "consent.asked", "act.started", "act.done"]
