"""The console on a real house in the sample world: a booking that an agent asked for, shown, signed and approved."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import pytest

from sayso.apps.gateway_home import opening_desk
from sayso.apps.home import open_home
from sayso.apps.house import Wishes
from sayso.apps.place import open_place
from sayso.governance.machine import ProposalState
from sayso.governance.proposal import Ask
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.world.process import running_world
from tests.apps.cli.test_gate import SLOT
from tests.apps.console.desks import add, browsing

pytestmark = pytest.mark.anyio
HIDDEN = re.compile(r'name="(text_sha256|document_sha256)" value="([\w-]+)"')
TEXT = re.compile(r'<blockquote class="consent">(.+?)</blockquote>')


@pytest.mark.req("GTW-032", "GTW-060")
async def test_what_is_signed_for_a_booking_is_what_the_page_showed(folder: Path) -> None:
    """The limits are drafted anew when the form is sent, from the same arguments and the same host: the same bytes."""
    async with running_world(folder):
        async with open_place(folder, is_world=True, wishes=Wishes(), told=io.StringIO()):
            pass
        async with opening_desk(open_home(folder, is_world=True)) as desk, browsing(desk) as browser:
            await add(desk)
            agent = (await desk.agents.issue("helper", by="test")).agent
            ask = Ask(
                agent=agent.id, owner=desk.owner, door="mcp", act="book_slot", arguments=SLOT, scopes=agent.scopes
            )
            asked = await desk.gate.file(desk.gate.prepare(ask))
            await browser.sign_in()
            page = (await browser.open(f"/gate/{asked.id}")).text
            shown = TEXT.search(page)
            assert shown is not None
            answer = await browser.send(f"/gate/{asked.id}/approve", reason="it is due", **dict(HIDDEN.findall(page)))
            done = await desk.gate.find(asked.id)
            assert (answer.status_code, done.state) == (303, ProposalState.APPROVED)
            consent = verify_mandate(done.answers[0].document or "").claims.consent
            assert (consent.statement, consent.mode) == (html.unescape(shown[1]), "human_present")
