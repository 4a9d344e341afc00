"""What an assistant does with invitations: it asks, it carries, and it believes a host only as far as the contract."""

from __future__ import annotations

import pytest

from sayso.governance.kernel import Asks
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.identity import principal_urn
from tests.scheduling.guest.hostile import HostileFetcher, edited
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.tools.household import HOLD, HOST, open_household

pytestmark = pytest.mark.anyio

LEE = {"person": PrivateKey.from_seed(b"l" * 32), "agent": PrivateKey.from_seed(b"m" * 32)}
ASKED = {"name": "Lee", "principal": principal_urn(LEE["person"].public)}


@pytest.fixture
async def two(tmp_path, clock):
    """Sam, who books, and Lee, who is asked along, at one shop."""
    async with (
        open_town_on_file(tmp_path, clock) as town,
        HostileFetcher(town.port) as wire,
        open_household(tmp_path / "sam", clock, town.fetcher) as sam,
        open_household(tmp_path / "lee", clock, wire, **LEE) as lee,
    ):
        yield sam, lee


async def booked(sam, **terms):
    hold = await sam.held(participants=[{**ASKED, **terms.pop("entry", {})}], **terms)
    done = await sam.call("approve_and_book", {"hold_id": hold["hold_id"]})
    assert not done.is_error, done.result
    return done.result


def ask(booking, answer=None):
    return {"host": HOST, "booking_id": booking["booking_id"], "answer": answer}


@pytest.mark.req("SCH-243", "SCH-244", "SCH-346")
async def test_each_answer_is_signed_by_the_person_and_a_refusal_to_sign_is_none(two):
    """Two questions; without a yes to both nothing is sent, and the invitation stays open."""
    sam, lee = two
    booking = await booked(sam)
    assert (booking["outcome"], booking["participants"]) == ("requested", ["Lee: not yet"])
    unread = await lee.call("answer_invitation", ask(booking, "yes"), says=lambda question, _shown: False)
    assert unread.result["refused"]["reason"] == "consent_refused"
    unsigned = await lee.call(
        "answer_invitation", ask(booking, "yes"), says=lambda question, _shown: question.kind == "invitation"
    )
    assert unsigned.result["refused"]["reason"] == "consent_refused"
    read = await lee.call("answer_invitation", ask(booking))
    assert (read.result["outcome"], read.result["status"]) == ("read", "tentative")
    assert "paid by whoever made the booking to Maple Street Auto" in read.result["price"]
    answered = await lee.call("answer_invitation", ask(booking, "yes"))
    assert (answered.result["outcome"], answered.result["status"]) == ("accepted", "confirmed")
    kinds = [question.kind for question, _ in lee.questions]
    assert kinds == ["invitation", "invitation", "coming", "coming"]
    assert all(question.text == shown.text for question, shown in lee.questions)
    again = await lee.start("answer_invitation", ask(booking, "yes"))
    assert not isinstance(again, Asks)
    assert again.result["outcome"] == "accepted"
    other = await lee.call("answer_invitation", ask(booking, "no"))
    assert other.result["refused"]["reason"] == "nothing_to_accept"


@pytest.mark.req("SCH-245", "SCH-247", "SCH-251")
async def test_terms_that_nobody_named_are_the_careful_ones(two):
    """A day to answer, and silence is a no; who comes instead of the one who signs stands in what both approve."""
    sam, lee = two
    booking = await booked(sam, entry={"attendee": "Theo"})
    approved = next(shown.text for question, shown in sam.questions if question.kind == "offer")
    terms = "Lee (for Theo) has to say yes by Wednesday 14 October 2026 at 9:05 a.m.; no answer by then counts as a no"
    assert terms in approved
    await lee.call("answer_invitation", ask(booking, "no"))
    assert "I answer for Theo." in lee.questions[-1][1].text
    final = (await sam.call("booking_status", {"booking_id": booking["booking_id"]})).result["bookings"][0]
    assert (final["status"], final["note"]) == ("declined", "Lee said no, so nothing is booked.")
    alone = await sam.call("hold_slot", {**HOLD, "silence": "yes"})
    assert alone.result["refused"]["reason"] == "outside_request"


@pytest.mark.req("SCH-069", "SCH-244")
async def test_an_answer_whose_answer_was_lost_is_given_once(two):
    """The host has it; the call made again finds it there and asks the person nothing."""
    sam, lee = two
    booking = await booked(sam)
    lee.fetcher.lose = {"/answer": 3}
    failed = await lee.call("answer_invitation", ask(booking, "yes"))
    assert failed.result["refused"]["message"].endswith("the answer was lost")
    asked = len(lee.questions)
    done = await lee.call("answer_invitation", ask(booking, "yes"))
    assert (done.result["outcome"], done.result["status"], len(lee.questions)) == ("accepted", "confirmed", asked)


LIES = {
    "another booking": ("/invitation", lambda view: view.update(booking_id="b_else")),
    "others asked along": ("/invitation", lambda view: view["participants"][0].update(name="Leo")),
    "another answer": ("/answer", lambda view: view["participants"][0]["answer"].update(said="no")),
    "silence for an answer": ("/answer", lambda view: view["participants"][0]["answer"].update(by_default=True)),
}


@pytest.mark.req("SCH-158", "SCH-194")
@pytest.mark.parametrize("lie", sorted(LIES))
async def test_a_host_that_shows_something_else_than_its_contract_is_not_believed(two, lie):
    """Whatever stands beside the signed bytes has to be what they say."""
    sam, lee = two
    booking = await booked(sam)
    path, edit = LIES[lie]
    lee.fetcher.rules[path] = edited(edit)
    done = await lee.call("answer_invitation", ask(booking, "yes"))
    assert done.result["refused"]["reason"] == "answer_invalid"
    assert "guest.invitation_answered" not in await lee.kinds()


@pytest.mark.req("SCH-186", "SCH-251", "SCH-346")
@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"participants": [ASKED], "answer_within": "P1M"}, "outside_request"),
        ({"silence": "yes"}, "outside_request"),
        ({"in_person": True}, "no_person_answers"),
    ],
)
async def test_nobody_signs_limits_for_what_makes_no_sense(two, terms, reason):
    """It is refused before the person is asked for anything."""
    sam, _ = two
    done = await sam.call("hold_slot", {**HOLD, **terms})
    assert (done.result["refused"]["reason"], sam.questions) == (reason, [])


@pytest.mark.req("SCH-245")
@pytest.mark.parametrize(
    ("entry", "terms", "counts"),
    [({}, {"silence": "yes"}, "a yes"), ({}, {}, "a no"), ({"required": False}, {}, None)],
)
async def test_whoever_is_asked_along_reads_until_when_and_what_their_silence_means(two, entry, terms, counts):
    """Before they decide whether to answer at all; of somebody optional it means nothing."""
    sam, lee = two
    booking = await booked(sam, entry=entry, answer_within="PT2H", **terms)
    read = (await lee.call("answer_invitation", ask(booking))).result
    assert read["answer_by"] == "Tuesday 13 October 2026 at 11:05 a.m. Eastern time, about 2 hours from now"
    assert read.get("no_answer_counts_as") == counts
