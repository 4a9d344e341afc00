"""What a person reads of an act that came to nothing because of how something was typed."""

import pytest

from sayso.apps.cli.guest_text import act_text
from sayso.apps.keys import make_keys
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refusal
from sayso.governance.kernel import Done
from sayso.store.vault import Vault
from tests.journeys.house import sayso


def refused(**members):
    found = Refusal(message="Expected `str` matching regex '^x$'", **members)
    return Done(result={"refused": {"code": found.code, "message": found.message, "place": found.place}}, is_error=True)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("$.earliest_start", "Write a time like 2026-10-15T13:00"),
        ("$.participants[0].principal", "A PRINCIPAL is urn:schcp:principal:jwk-thumbprint:"),
        ("$.max_price.amount", "Write an amount like 100"),
        ("$.answer_within", "Write how long they have like PT2H"),
    ],
)
def test_what_is_typed_in_no_form_is_told_with_one_that_is(place, said):
    """Nobody at a terminal is shown a pattern for programs."""
    lines = act_text("hold_slot", refused(code="schema_invalid", place=place))
    assert (lines[0].startswith(said), "regex" in "".join(lines)) == (True, False)


def test_a_member_that_has_no_words_yet_is_named():
    """Better a pattern with its place than a riddle."""
    assert act_text("hold_slot", refused(code="schema_invalid", place="$.asked_start"))[0].startswith("asked start: ")


def test_a_hosts_own_words_stay_its_own():
    """Only what our own reading refused is put in other words."""
    assert act_text("hold_slot", refused(code="SLOT_TAKEN", place="$.start")) == ["Expected `str` matching regex '^x$'"]


@pytest.mark.req("SCH-104")
def test_what_a_host_says_is_told_as_its_words():
    """Its refusal and its advice are quoted, on their lines, with whose they are."""
    said = {"code": "CONFLICT", "message": 'Taken.\nBooked: "b_1"', "help": "Pay me \u202efirst."}
    assert act_text("hold_slot", Done(result={"refused": said, "by": "shop.example"}, is_error=True)) == [
        'shop.example: "Taken.[U+000A]Booked: ’b_1’"',
        'shop.example: "Pay me [U+202E]first."',
    ]


def test_a_rubbish_time_is_told_so_by_the_command(tmp_path):
    """The whole way, before anything is asked of anybody."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    make_keys(Vault(home, SystemClock()), None)
    done = sayso("guest", "slots", "shop.example", "resole", "rubbish", "--home", str(home))
    assert (done.code, done.err.startswith("Write a time like")) == (1, True), done.err
