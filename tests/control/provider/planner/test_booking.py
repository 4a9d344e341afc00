"""From the person's words to a booking: the calls in their order, their limits, and the sentence at the end."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sayso.control.provider.planner.steps import Outcome, Topic
from tests.control.provider.planner.shop import Refusal, Shop, Town, refusal


def test_a_clear_wish_is_booked_in_four_calls() -> None:
    """Discover, find within two hours of the time asked for, hold under the limits said, approve (SCH-377)."""
    town = Town()
    said = town.say("Book my beard trim Thursday around 1 PM, under $100")
    salon, window = "salon@harbour.example", ("2026-10-15T11:00", "2026-10-15T15:00")
    assert town.calls == [
        ("discover_host", {}),
        (
            "find_slots",
            {"host": salon, "service_id": "trim", "earliest_start": window[0], "latest_start": window[1]},
        ),
        (
            "hold_slot",
            {
                "host": salon,
                "service_id": "trim",
                "start": "2026-10-15T13:00:00-04:00",
                "earliest_start": window[0],
                "latest_start": window[1],
                "max_price": {"amount": "100", "currency": "CAD"},
                "asked_start": "2026-10-15T13:00",
            },
        ),
        ("approve_and_book", {"hold_id": "h_2026-10-15T13:00:00-04:00"}),
    ]
    assert said.startswith("Booked: ")
    assert town.last.outcome is Outcome.DONE


@pytest.mark.parametrize(
    ("busy", "start"),
    [((), "13:00"), (("13:00",), "12:45"), (("13:00", "12:45"), "13:15"), (("13:00", "12:45", "13:15"), "12:30")],
)
def test_the_nearest_start_is_taken_and_the_earlier_of_two(busy: tuple[str, ...], start: str) -> None:
    """Ties go to the earlier start."""
    town = Town([Shop(busy={f"2026-10-15T{clock}" for clock in busy})])
    town.say("Book my beard trim Thursday around 1 PM")
    assert [hold["start"][11:16] for hold in town.made("hold_slot")] == [start]


def test_limits_are_no_wider_than_what_was_said_or_is_free() -> None:
    """Where no time was said, the limits end with the free starts of the day that is booked."""
    town = Town([Shop(hours=(9 * 60, 16 * 60))])
    town.say("Book a haircut on Thursday or Friday")
    hold = town.made("hold_slot")[0]
    assert (hold["earliest_start"], hold["latest_start"]) == ("2026-10-15T09:00", "2026-10-15T16:00")
    assert "max_price" not in hold
    assert "asked_start" not in hold


def test_what_differs_is_told_before_the_person_is_asked_to_approve() -> None:
    """The words stand in front of the call."""
    told = "It is at 1:15 p.m.; asked for was 1:00 p.m."
    town = Town(answers={"hold_slot": lambda a: {"hold_id": "h_2026-10-15T13:15", "differs_from_request": [told]}})
    town.say("Book a beard trim Thursday around 1 PM")
    texts = [part.text for m in town.messages if m.role == "assistant" for part in m.content if hasattr(part, "text")]
    assert texts[0] == told


def test_no_service_no_day_and_two_that_fit_are_asked_one_by_one() -> None:
    """One plain question at a time, naming the choices; each answer carries the wish on."""
    town = Town()
    assert town.say("I need an appointment") == (
        "Which service would you like: Beard trim, Haircut, Classic facial or Deluxe facial?"
    )
    assert town.say("a facial") == "More than one fits. Which do you mean: Classic facial or Deluxe facial?"
    assert town.say("the deluxe one") == "Which day would you like for Deluxe facial at Harbour Salon?"
    assert town.made("find_slots", "hold_slot") == []
    town.say("Friday at 2 pm")
    assert [(h["service_id"], h["start"][:16]) for h in town.made("hold_slot")] == [("deluxe", "2026-10-16T14:00")]


def test_an_unknown_service_is_said_and_what_is_offered_is_named() -> None:
    """Nothing near it is taken in its place."""
    town = Town()
    said = town.say("Book a massage on Friday at 10 am")
    assert said == "Nobody I know offers “massage”. There is: Beard trim, Haircut, Classic facial or Deluxe facial?"
    assert town.last.topic is Topic.SERVICE
    assert town.made("find_slots", "hold_slot") == []


def test_a_service_that_only_shares_a_word_is_asked_about() -> None:
    """Near is good enough to ask, never to choose."""
    town = Town()
    said = town.say("Book a mustache trim on Friday at 10 am")
    assert said == "Nobody I know offers “mustache trim” by that name. Do you mean: Beard trim?"
    town.say("yes")
    assert [hold["service_id"] for hold in town.made("hold_slot")] == ["trim"]


def test_two_hosts_with_the_same_service_are_asked_apart() -> None:
    """The business decides, unless the person named it."""
    shops = [Shop(), Shop(host="kid@cuts.example", name="Kid Cuts")]
    town = Town(shops)
    said = town.say("Book a haircut on Friday at 10 am")
    assert said == "More than one fits. Which do you mean: Haircut at Harbour Salon or Haircut at Kid Cuts?"
    town.say("kid cuts")
    named = Town(shops)
    named.say("Book a haircut at Kid Cuts on Friday at 10 am")
    assert [t.made("hold_slot")[0]["host"] for t in (town, named)] == ["kid@cuts.example"] * 2


def test_an_unknown_business_is_said_and_not_replaced() -> None:
    """A name nobody bears is no reason to take another."""
    town = Town()
    said = town.say("Book a haircut at Kid Cuts on Friday at 10 am")
    assert said == "I know no business called “kid cuts”. I know Harbour Salon. Where shall it be?"
    town.say("Harbour Salon")
    assert len(town.made("hold_slot")) == 1


def test_a_person_who_cannot_be_asked_for_is_not_dropped_silently() -> None:
    """The wish for somebody in particular is said to be out of reach first."""
    town = Town()
    said = town.say("Book a haircut with Dana on Friday at 10 am")
    assert said == "I cannot ask for “dana” in particular. Shall I go on without that?"
    assert town.made("hold_slot") == []
    town.say("yes please")
    assert len(town.made("hold_slot")) == 1


def test_one_of_the_hosts_people_is_asked_for_by_name() -> None:
    """Their slots are looked at and their time is held; who is not there is told with those who are."""
    town = Town([Shop(people=("Marcus", "Dev"))])
    town.say("Book a haircut with Marcus on Friday at 10 am")
    assert [call["with"] for call in town.made("find_slots", "hold_slot")] == ["Marcus", "Marcus"]
    other = Town([Shop(people=("Marcus", "Dev"))])
    said = other.say("Book a haircut with Dana on Friday at 10 am")
    assert said == "I cannot ask for “dana” in particular. There: Marcus or Dev. Shall I go on without that?"
    other.say("yes please")
    assert ["with" in hold for hold in other.made("hold_slot")] == [False]


def test_a_price_above_the_limit_is_said_before_anything_is_held() -> None:
    """And a higher limit in the next breath carries on."""
    town = Town()
    said = town.say("Book a beard trim Friday at 10 am under $50")
    assert said == (
        "Beard trim at Harbour Salon costs CAD 89.27 in total, above your limit of CAD 50. Nothing was booked."
    )
    assert (town.last.outcome, town.made("hold_slot")) == (Outcome.REFUSED, [])
    town.say("ok, make it 90")
    assert [hold["max_price"] for hold in town.made("hold_slot")] == [{"amount": "90", "currency": "CAD"}]


def test_another_currency_is_asked_and_never_converted() -> None:
    """Euros say nothing about Canadian dollars; plain dollars are the host's own."""
    town = Town()
    said = town.say("Book a beard trim Friday at 10 am, at most €80")
    assert said == (
        "Harbour Salon charges in CAD, and I do not convert money. What is the most you want to pay in CAD?"
    )
    town.say("a hundred dollars")
    assert [hold["max_price"] for hold in town.made("hold_slot")] == [{"amount": "100", "currency": "CAD"}]


def test_dollars_are_no_limit_where_prices_are_in_euros() -> None:
    """The sign belongs to dollars of some country, and to nothing else."""
    town = Town([Shop(currency="EUR")])
    assert "charges in EUR" in town.say("Book a haircut Friday at 10 am, at most $80")
    assert town.made("hold_slot") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Book a haircut on Feb 30", "There is no such date or time. Which day and time do you mean?"),
        (
            "Book a haircut today at 8 am",
            "Tuesday 13 October at 8:00 a.m. has already gone by. Which later day and time do you mean?",
        ),
        (
            "Book a haircut next Thursday at 10 am",
            "Which day do you mean: Thursday 15 October or Thursday 22 October?",
        ),
        (
            "Book a haircut tomorrow, Friday, at 3 pm",
            "I could not put that together into one wish with one day and one time, so I have done nothing. Please say "
            "it again with one of each.",
        ),
        (
            "Book a haircut every Friday at 3 pm",
            "I can only arrange one appointment at a time, not a series. Which day shall the first be?",
        ),
        (
            "Book a haircut on Friday at 10 am for around $40",
            "What is the most you want to pay? I need an upper limit, such as: at most 50.",
        ),
    ],
)
def test_what_cannot_be_or_is_open_is_asked_before_any_call(words: str, said: str) -> None:
    """No tool is called on a wish that nobody could fulfil."""
    town = Town()
    assert (town.say(words), town.calls, town.last.outcome) == (said, [], Outcome.ASKS)


@pytest.mark.req("SCH-096")
def test_a_start_taken_meanwhile_is_replaced_once_inside_the_limits() -> None:
    """The host names the nearest alternatives; one outside the window is never taken."""

    def taken(arguments: Mapping[str, object]) -> object:
        if arguments["start"] == "2026-10-15T13:00:00-04:00":
            others = [{"start": "2026-10-15T16:00:00-04:00"}, {"start": "2026-10-15T13:30:00-04:00"}]
            raise Refusal(refusal("slot_taken", "That time is not free.", alternatives=others))
        return {"hold_id": f"h_{arguments['start']}"}

    town = Town(answers={"hold_slot": taken})
    assert town.say("Book a beard trim Thursday around 1 PM").startswith("Booked")
    assert [hold["start"][11:16] for hold in town.made("hold_slot")] == ["13:00", "13:30"]


def test_two_starts_taken_in_a_row_end_the_search() -> None:
    """No hunting: the person is told and asked."""

    def taken(arguments: Mapping[str, object]) -> object:
        raise Refusal(refusal("slot_taken", "That time is not free."))

    town = Town(answers={"hold_slot": taken})
    said = town.say("Book a beard trim Thursday around 1 PM")
    assert (len(town.made("hold_slot")), town.last.outcome) == (2, Outcome.REFUSED)
    assert "Nothing was booked" in said


@pytest.mark.parametrize(
    ("tool", "reason", "message", "said"),
    [
        (
            "hold_slot",
            "consent_refused",
            "The person said no.",
            "You did not say yes, so I stopped. Nothing was booked.",
        ),
        (
            "approve_and_book",
            "consent_refused",
            "The person said no.",
            "You did not say yes, so I stopped. Nothing was booked.",
        ),
        (
            "discover_host",
            "host_unreachable",
            "Harbour Salon could not be reached: no answer.",
            "Harbour Salon could not be reached: no answer. Nothing was booked.",
        ),
        (
            "hold_slot",
            "above_price",
            "Haircut costs CAD 40.00 in total, above the limit of CAD 30.00.",
            "Haircut costs CAD 40.00 in total, above the limit of CAD 30.00. Nothing was booked.",
        ),
        (
            "approve_and_book",
            "host_unreachable",
            "Harbour Salon could not be reached: no answer.",
            "Harbour Salon could not be reached: no answer. Whether it was booked I cannot tell. Ask me later what you "
            "have booked.",
        ),
    ],
)
def test_a_refusal_becomes_a_plain_sentence(tool: str, reason: str, message: str, said: str) -> None:
    """It ends the turn, says what follows, and claims nothing it cannot know."""

    def refuse(arguments: Mapping[str, object]) -> object:
        raise Refusal(refusal(reason, message))

    town = Town(answers={tool: refuse})
    assert (town.say("Book a haircut Friday at 10 am"), town.last.outcome) == (said, Outcome.REFUSED)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"hosts": [], "note": "No host is known yet."}, "No host is known yet. Nothing was booked."),
        (
            {"hosts": [], "could_not_be_read": ["salon@harbour.example: could not be reached"]},
            "I could not read salon@harbour.example: could not be reached. Nothing was booked.",
        ),
        ({"nonsense": 1}, "I know no business to ask. Nothing was booked."),
    ],
)
def test_no_host_is_said(answer: object, said: str) -> None:
    """Also where the one there is does not answer."""
    assert Town(answers={"discover_host": lambda a: answer}).say("Book a haircut Friday at 10 am") == said


def test_change_my_service_is_asked_where_its_name_has_no_such_verb() -> None:
    """ "Change my haircut" may want another time; only a service whose name says so is simply booked."""
    town = Town()
    assert town.say("Change my haircut on Thursday") == "Do you want a new booking, or to move one you already have?"
    assert town.say("a new one please").startswith("Booked")
    named = Town([Shop(services=(("bulb", "Bulb change", 30, "40.00"),))])
    assert named.say("Change the bulb on Thursday at 10 am").startswith("Booked")
