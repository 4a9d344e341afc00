"""The Gate in the console: what a decider is shown, what they sign, and who may decide."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from sayso.apps.console.desk import Desk
from sayso.apps.console.forms import new_token
from sayso.apps.console.users import Role
from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerUnreachable
from sayso.governance.consent import Consent, Question
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Decider
from sayso.scheduling.terms.mandate_checks import verify_mandate
from tests.apps.console.desks import (
    BOOK,
    MIDWAY,
    PASSPHRASE,
    Browser,
    add,
    browsing,
    carrying_out,
    open_desk,
    propose,
    until,
)

pytestmark = pytest.mark.anyio
HIDDEN = re.compile(r'name="(text_sha256|document_sha256|moves)" value="([\w-]+)"')


async def decided(browser: Browser, path: str, action: str, **fields: object) -> int:
    """Opens the proposal's page and sends one of its forms, as a person does."""
    await browser.open(path)
    return (await browser.send(f"{path}/{action}", **{**dict(HIDDEN.findall(browser.page)), **fields})).status_code


async def state(desk: Desk, proposal_id: str) -> ProposalState:
    return (await desk.gate.find(proposal_id)).state


@pytest.mark.req("GTW-032", "GTW-060")
async def test_what_touches_nobody_else_is_approved_with_a_reason(folder: Path) -> None:
    """By the person who is signed in, in their role and words; without a reason nothing is decided."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk, "ada")
        await add(desk, "ben", "approver")
        await browser.sign_in("ben")
        asked = await propose(desk)
        path = f"/gate/{asked.id}"
        assert await decided(browser, path, "approve", reason="  ") == 422
        assert await state(desk, asked.id) is ProposalState.PENDING
        assert await decided(browser, path, "approve", reason="we need milk") == 303
        done = await desk.gate.find(asked.id)
        assert done.decision is not None
        assert (done.state, done.decision.by, done.decision.name, done.decision.role, done.decision.reason) == (
            ProposalState.APPROVED, "console:ben", "ben", "approver", "we need milk",
        )  # fmt: skip
        assert "we need milk" in (await browser.open(path)).text


@pytest.mark.req("GTW-032", "GTW-060")
async def test_a_rejection_stands_and_cannot_be_decided_again(folder: Path) -> None:
    """The page has no form any more, and one that was open meanwhile is told that somebody was first."""
    async with open_desk(folder) as desk, browsing(desk) as browser, browsing(desk) as other:
        await add(desk)
        await browser.sign_in()
        await other.sign_in()
        asked = await propose(desk)
        path = f"/gate/{asked.id}"
        await other.open(path)
        assert await decided(browser, path, "reject", reason="no money") == 303
        answer = await other.send(f"{path}/approve", reason="yes please")
        assert (answer.status_code, await state(desk, asked.id)) == (409, ProposalState.REJECTED)
        await browser.open(path)
        assert [action for action in browser.tokens if action.startswith("/gate")] == []


@pytest.mark.req("GTW-032", "GTW-060")
async def test_what_touches_others_is_signed_over_the_text_on_the_page(folder: Path) -> None:
    """The key app wrote the text from the question's bytes; the passphrase is asked; the signature says it was seen."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, BOOK, "oil")
        path = f"/gate/{asked.id}"
        page = (await browser.open(path)).text
        text = re.search(r'<blockquote class="consent">(.+?)</blockquote>', page, re.DOTALL)
        assert text is not None
        assert text[1].startswith("I allow my assistant to hold and book one appointment at Maple Street Auto")
        assert await decided(browser, path, "approve", reason="due") == 422
        assert await decided(browser, path, "approve", reason="due", passphrase="not this one") == 422
        assert (await state(desk, asked.id), desk.vault.is_unlocked) == (ProposalState.PENDING, False)
        assert await decided(browser, path, "approve", reason="due", passphrase=PASSPHRASE) == 303
        done = await desk.gate.find(asked.id)
        assert done.state is ProposalState.APPROVED
        claims = verify_mandate(done.answers[0].document or "").claims
        assert (claims.iss, claims.consent.mode, claims.consent.statement) == (desk.owner, "human_present", text[1])


@pytest.mark.req("GTW-060")
async def test_a_text_that_is_another_by_now_is_not_signed(folder: Path) -> None:
    """The form says which text was on the page; nothing is decided, and the page shows the new one."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, BOOK, "oil")
        path = f"/gate/{asked.id}"
        for shown in ("A" * 43, ""):
            await browser.open(path)
            answer = await browser.send(f"{path}/approve", reason="due", passphrase=PASSPHRASE, text_sha256=shown)
            assert (answer.status_code, "the text is not the one" in answer.text.lower()) == (409, True)
        assert await state(desk, asked.id) is ProposalState.PENDING


@pytest.mark.req("GTW-032", "GTW-060")
async def test_a_document_that_reads_the_same_and_is_another_is_not_signed(folder: Path) -> None:
    """What is signed is the document that was shown, and not one whose text happens to be alike."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, BOOK, "oil")
        path = f"/gate/{asked.id}"
        await browser.open(path)
        fields = {**dict(HIDDEN.findall(browser.page)), "reason": "due", "passphrase": PASSPHRASE}
        asks = desk.gate.sources[0]
        asks.question = msgspec.structs.replace(asks.question, document=asks.document + b" ")
        answer = await browser.send(f"{path}/approve", **fields)
        assert (answer.status_code, await state(desk, asked.id)) == (409, ProposalState.PENDING)
        # The page that says so shows the other one: with its form the person decides on that.
        fields |= dict(HIDDEN.findall(browser.page))
        assert (await browser.send(f"{path}/approve", **fields)).status_code == 303


@pytest.mark.req("GTW-060")
async def test_a_question_that_cannot_be_verified_cannot_be_signed(folder: Path) -> None:
    """The page says so and has only the form that says no."""
    async with open_desk(folder, reachable=False) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, BOOK, "oil")
        page = (await browser.open(f"/gate/{asked.id}")).text
        assert "could not be verified" in page
        assert [a for a in browser.tokens if a.startswith("/gate")] == [f"/gate/{asked.id}/reject"]


class Away:
    """A consent source whose host does not answer."""

    async def consent(self, *_asked: object) -> Consent | Question | None:
        raise PeerUnreachable("Maple Street Auto", "nobody answers there")


@pytest.mark.req("GTW-060")
async def test_a_host_that_does_not_answer_is_named_and_nothing_is_decided(folder: Path) -> None:
    """On the page, and to a form that was opened before; never as if the form were broken."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk)
        path = f"/gate/{asked.id}"
        await browser.open(path)
        desk.gate.sources = [Away()]
        answer = await browser.send(f"{path}/approve", reason="we need milk")
        assert (answer.status_code, "Maple Street Auto could not be reached" in answer.text) == (409, True)
        assert "Nothing was decided" in answer.text
        assert "could not be reached" in (await browser.open(path)).text
        assert await state(desk, asked.id) is ProposalState.PENDING
        assert (await browser.send(f"{path}/reject", reason="too slow")).status_code == 303


@pytest.mark.req("GTW-032", "GTW-060")
async def test_a_decision_that_a_pipe_made_says_so(folder: Path) -> None:
    """Beside the name, so that nobody takes it for a person who read it."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk)
        piped = Decider(id=desk.owner, name="a script", role="owner", mode="preapproved")
        await desk.gate.approve(asked.id, piped, reason="milk is always fine")
        assert "nobody was seen to read it" in (await browser.open(f"/gate/{asked.id}")).text


@pytest.mark.req("GTW-032", "GTW-060")
@pytest.mark.parametrize("role", ["viewer"])
async def test_who_only_looks_decides_nothing(folder: Path, role: Role) -> None:
    """They see the proposal and no form, and what they send all the same is refused."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await add(desk, "vic", role)
        await browser.sign_in("vic")
        asked = await propose(desk)
        path = f"/gate/{asked.id}"
        assert "Take a note" in (await browser.open(path)).text
        assert list(browser.tokens) == ["/sign-out"]
        for action in ("approve", "reject", "answer"):
            assert (await browser.send(f"{path}/{action}", reason="mine", form_token="x")).status_code == 403
        assert await state(desk, asked.id) is ProposalState.PENDING


@pytest.mark.req("GTW-032", "GTW-060")
async def test_silence_is_a_no_on_the_page_too(folder: Path, clock: ManualClock) -> None:
    """After its deadline a form that was open decides nothing."""
    async with open_desk(folder, clock=clock) as desk, browsing(desk) as browser:
        await add(desk)
        asked = await propose(desk)
        clock.advance(asked.expires_at - clock.now() - timedelta(minutes=1))
        await browser.sign_in()
        path = f"/gate/{asked.id}"
        await browser.open(path)
        clock.advance(timedelta(minutes=1))
        assert (await browser.send(f"{path}/approve", reason="late")).status_code == 409
        assert await state(desk, asked.id) is ProposalState.EXPIRED


@pytest.mark.req("GTW-060")
async def test_what_an_agent_writes_is_shown_as_text(folder: Path) -> None:
    """In the list and on its own page: no markup of theirs, no direction marks, every line of it."""
    hostile = "<script>alert(1)</script>\u202egnp.exe\nsecond line"
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, text=hostile)
        for path in ("/", "/gate", f"/gate/{asked.id}"):
            page = (await browser.open(path)).text
            assert ("<script>alert" in page, "\u202e" in page) == (False, False)
            assert ("&lt;script&gt;alert(1)&lt;/script&gt;?gnp.exe" in page, "second line" in page) == (True, True)


async def test_the_queue_shows_what_waits_newest_first_page_by_page(folder: Path) -> None:
    """Each list of states on its own address; a proposal that is none is not found."""
    async with open_desk(folder) as desk, browsing(desk) as browser:
        await add(desk)
        await browser.sign_in()
        asked = []
        for number in range(27):
            desk.clock.advance(timedelta(seconds=1))
            asked.append(await propose(desk, text=f"note {number}"))
        first = (await browser.open("/gate")).text
        assert ("note 26" in first, "note 1<" in first, 'class="count">25+<' in first) == (True, False, True)
        older = re.search(r'href="(/gate\?state=pending&amp;after=\w+)"', first)
        assert older is not None
        second = (await browser.open(older[1].replace("&amp;", "&"))).text
        assert [f'href="/gate/{each.id}"' in second for each in asked[:3]] == [True, True, False]
        # What changes meanwhile is fetched for the page that is open, and not for the first one.
        assert f'data-live-from="/gate?part=queue&amp;state=pending&amp;after={asked[2].id}"' in second
        assert (await browser.open("/gate/prop_none")).status_code == 404
        part = await browser.open("/gate?part=queue", **{"HX-Request": "true"})
        assert ("<!doctype" in part.text, asked[26].id in part.text) == (False, True)


@pytest.mark.req("GTW-032", "GTW-060")
@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
async def test_a_second_question_is_shown_with_its_deadline_and_answered(folder: Path, *, yes: bool) -> None:
    """On the overview, at the head of the queue and on its own page; a yes is signed, a no has a reason."""
    async with open_desk(folder) as desk, browsing(desk) as browser, carrying_out(desk):
        await add(desk)
        await browser.sign_in()
        asked = await propose(desk, MIDWAY, "a filter", agent=(await desk.agents.issue("helper", by="a")).agent.id)
        path = f"/gate/{asked.id}"
        assert await decided(browser, path, "approve", reason="due") == 303
        await until(desk, asked.id, ProposalState.AWAITING_PERSON)
        for page in ("/", "/gate"):
            text = (await browser.open(page)).text
            assert (asked.id in text, "answer <strong>in 1 h 0 min</strong>" in text) == (True, True)
        assert "Answer <strong>in 1 h 0 min</strong>" in (await browser.open(path)).text
        assert await decided(browser, path, "answer", say="hm", reason="hm", passphrase=PASSPHRASE) == 422
        assert await decided(browser, path, "answer", say="no", reason="an older page", moves="1") == 409
        # What is decided already opens no key: it is not signed first and refused afterwards.
        token = new_token(desk.ids, browser.client.cookies["sayso_console"], f"{path}/approve")
        again = {"reason": "again", "passphrase": PASSPHRASE, "form_token": token}
        assert await decided(browser, path, "approve", **again) == 409
        assert (await state(desk, asked.id), desk.vault.is_unlocked) == (ProposalState.AWAITING_PERSON, False)
        if yes:
            assert await decided(browser, path, "answer", say="yes", passphrase="wrong") == 422
            assert await decided(browser, path, "answer", say="yes", passphrase=PASSPHRASE) == 303
            done = await until(desk, asked.id, ProposalState.EXECUTED)
            assert verify_mandate(done.answers[-1].document or "").claims.consent.mode == "human_present"
            assert "a filter" in (await browser.open(path)).text
        else:
            assert await decided(browser, path, "answer", say="no", reason="") == 422
            assert await decided(browser, path, "answer", say="no", reason="too dear") == 303
            done = await until(desk, asked.id, ProposalState.FAILED)
            assert (done.answers[-1].granted, done.answers[-1].reason) == (False, "too dear")
        await browser.open(path)
        assert [action for action in browser.tokens if action.startswith("/gate")] == []
