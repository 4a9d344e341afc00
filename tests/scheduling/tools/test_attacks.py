"""A grant is a message; only the person's own signature, over exactly what was asked, is a yes."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.governance.acts import ActClass
from sayso.governance.consent import Answer
from sayso.proof.jws import read_jws, sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.keyapp.app import KeyApp
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.tools.acts import ACTS
from tests.scheduling.tools.household import AGENT, HOLD, SAM, OpenKeys

pytestmark = pytest.mark.anyio

STRANGER = PrivateKey.from_seed(b"x" * 32)


def resigned(token, key=SAM, **changed):
    """The same mandate with other claims, as somebody with that key would sign it."""
    claims = {**strictjson.parse(read_jws(token).payload), **changed}
    if key is not SAM:
        claims |= {"iss": principal_urn(key.public), "principal_jwk": key.public.jwk()}
    return sign_jws(claims, key, typ="schcp-mandate+jwt")


async def answered(home, question, forge):
    yes = await home.answer(question)
    return Answer(granted=True, document=forge(yes.document))


FORGERIES = {
    "a stranger's key": lambda token: resigned(token, STRANGER),
    "another host": lambda token: resigned(token, aud="evil@evil.example"),
    "another agent": lambda token: resigned(token, cnf={"jkt": STRANGER.public.thumbprint}),
    "a wider scope": lambda token: resigned(token, scope=["hold", "book"]),
    "no constraints": lambda token: resigned(token, constraints={}),
    "a status nobody asked for": lambda token: resigned(token, status="https://keyapp.example/s"),
    "altered bytes": lambda token: token[:-4] + "AAAA",
    "not a token": lambda token: "yes",
}


async def test_a_bare_grant_for_the_limits_holds_nothing(home, town):
    """Whoever sent it."""
    await home.start("hold_slot", HOLD)
    done = await home.start("hold_slot", HOLD, [Answer(granted=True)])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_unsigned")
    assert (await town.rows())["host_hold"] == []


async def test_a_bare_grant_for_the_offer_books_nothing_and_releases_the_hold(home, town):
    """The kernel demands the signed document."""
    held = await home.held()
    done = await home.start("approve_and_book", {"hold_id": held["hold_id"]}, [Answer(granted=True)])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_unsigned")
    rows = await town.rows()
    assert (rows["host_booking"], rows["host_allocation"]) == ([], [])


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_mandate_that_is_not_this_persons_answer_to_these_limits_holds_nothing(home, town, forge):
    """Another key, host, agent, scope or ceiling than was asked for."""
    step = await home.start("hold_slot", HOLD)
    done = await home.start("hold_slot", HOLD, [await answered(home, step.question, forge)])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    assert (await town.rows())["host_hold"] == []


@pytest.mark.req("SCH-088", "SCH-162")
@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
async def test_a_mandate_that_is_not_this_persons_answer_to_this_offer_books_nothing(home, town, forge):
    """And the hold goes back."""
    held = await home.held()
    step = await home.start("approve_and_book", {"hold_id": held["hold_id"]})
    answer = await answered(home, step.question, forge)
    done = await home.start("approve_and_book", {"hold_id": held["hold_id"]}, [answer])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    rows = await town.rows()
    assert (rows["host_booking"], rows["host_allocation"]) == ([], [])


async def test_the_approval_of_one_offer_does_not_book_another(home, town):
    """A yes to one o'clock is no yes to two o'clock."""
    one = await home.held()
    step = await home.start("approve_and_book", {"hold_id": one["hold_id"]})
    yes = await home.answer(step.question)
    await home.start("approve_and_book", {"hold_id": one["hold_id"]}, [Answer(granted=False)])
    two = await home.held(start="2026-10-15T14:00")
    done = await home.start("approve_and_book", {"hold_id": two["hold_id"]}, [yes])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    assert (await town.rows())["host_booking"] == []


async def test_limits_alone_do_not_book_where_the_person_wants_to_be_asked(home, town):
    """The buying mandate sent back as the answer to the offer is not the offer's approval."""
    held = await home.held()
    (buying,) = await home.guest.book.mandates("buying", held["what"] and HOLD["host"])
    done = await home.start(
        "approve_and_book", {"hold_id": held["hold_id"]}, [Answer(granted=True, document=buying.token)]
    )
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    assert (await town.rows())["host_booking"] == []


async def test_a_key_app_of_another_person_signs_nothing_that_counts(home, town):
    """A second key app on the machine, with its own key, says yes to everything."""
    other = KeyApp(
        OpenKeys(STRANGER), home.fetcher, home.clock, SystemIds(), name="principal", agent=AGENT.public.thumbprint
    )
    step = await home.start("hold_slot", HOLD)
    shown = await other.present(step.question.kind, step.question.document)
    answer = Answer(granted=True, document=other.sign(shown, "human_present"))
    done = await home.start("hold_slot", HOLD, [answer])
    assert (done.is_error, done.result["refused"]["reason"]) == (True, "consent_mismatch")
    assert (await town.rows())["host_hold"] == []


async def test_every_tool_is_classified_and_those_that_touch_others_need_a_signature():
    """Looking runs at once; holding, booking, cancelling and moving do not."""
    assert [(act.name, act.act_class, act.touches_others) for act in ACTS] == [
        ("discover_host", ActClass.DISCLOSURE, False),
        ("find_slots", ActClass.DISCLOSURE, False),
        ("hold_slot", ActClass.EXECUTION, True),
        ("approve_and_book", ActClass.EXECUTION, True),
        ("cancel_booking", ActClass.EXECUTION, True),
        ("change_booking", ActClass.EXECUTION, True),
        ("reconfirm_booking", ActClass.EXECUTION, True),
        ("booking_status", ActClass.DISCLOSURE, False),
        ("join_waitlist", ActClass.EXECUTION, True),
        ("leave_waitlist", ActClass.EXECUTION, True),
        ("waitlist_status", ActClass.DISCLOSURE, False),
        ("answer_invitation", ActClass.EXECUTION, True),
        ("request_limits", ActClass.EXECUTION, True),
    ]
