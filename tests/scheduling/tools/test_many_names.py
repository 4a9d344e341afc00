"""As many people as may be asked along, with names as long as may be: still shown whole, signed, and believed."""

from __future__ import annotations

import pytest

from sayso.proof.keys import PrivateKey
from sayso.scheduling.rules.asking_along import LONGEST_NAMES
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.participant import MOST_PARTICIPANTS
from tests.scheduling.host.town import open_town_on_file
from tests.scheduling.tools.household import HOLD, open_household

pytestmark = pytest.mark.anyio


def crowd(characters):
    """Sixteen people whose names come to so many characters, of three bytes each."""
    each, left = divmod(characters, MOST_PARTICIPANTS)
    return [
        {
            "name": "ア" * (each + (number < left)),
            "principal": principal_urn(PrivateKey.from_seed(bytes([number]) * 32).public),
        }
        for number in range(MOST_PARTICIPANTS)
    ]


@pytest.mark.req("SCH-104", "SCH-246", "SCH-251")
async def test_whoever_may_be_asked_along_can_be_approved(tmp_path, clock):
    """At the bound the offer is read, shown whole and accepted; past it nothing is held."""
    async with (
        open_town_on_file(tmp_path, clock) as town,
        open_household(tmp_path / "sam", clock, town.fetcher) as sam,
    ):
        many = await sam.call("hold_slot", {**HOLD, "participants": crowd(LONGEST_NAMES + 1)})
        assert many.result["refused"]["reason"] == "invitation_invalid"
        hold = await sam.held(participants=crowd(LONGEST_NAMES))
        done = await sam.call("approve_and_book", {"hold_id": hold["hold_id"]})
        assert (done.is_error, done.result["outcome"]) == (False, "requested"), done.result
        assert all("ア" * 62 in shown.text for question, shown in sam.questions if question.kind == "offer")
