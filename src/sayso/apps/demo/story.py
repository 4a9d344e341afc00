"""The walkthrough: Sam's oil change, from the words to a log that anybody can verify.

A scripted Sam answers, so what is signed says `preapproved`: nobody is claimed to have been asked.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

from sayso.apps.agent_home import AgentWishes, open_agent
from sayso.apps.asking.conversation import Ending, Outcome
from sayso.apps.asking.person import PreapprovedPerson
from sayso.apps.asking.session import converse
from sayso.apps.cli.receipt_text import verdict_text
from sayso.apps.demo.trace import Trace
from sayso.apps.house import House, Wishes
from sayso.apps.keys import LEDGER
from sayso.apps.place import open_place
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.ledger.rules.verify import Verdict, verify_export
from sayso.scheduling.terms.spoken import spoken_clock, spoken_day
from sayso.world.people import SAM
from sayso.world.timekeeping import open_clock

__all__ = ("tell",)


async def tell(home: Path | None, out: TextIO) -> bool:
    """Tells the whole story on `out`; whether everything was booked, cancelled and verified.

    Without a home it happens in one of its own that is gone afterwards.
    """
    async with _home(home) as place:
        trace = Trace(out)
        _opening(trace, place)
        async with open_place(place, is_world=True, wishes=Wishes(), told=io.StringIO(), watch=trace.exchange) as house:
            ending = await _run(house, trace, SAM.asks)
            if ending.outcome is not Outcome.DONE:
                return False
            await _mandates(house, trace)
            await _receipts(house, trace)
            verdict = await _verify(house, trace)
        for line in verdict_text(verdict).splitlines():
            trace.row(line)
        return True


@asynccontextmanager
async def _home(home: Path | None) -> AsyncIterator[Path]:
    if home is not None:
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="sayso-demo-") as folder:
        yield Path(folder)


def _opening(trace: Trace, home: Path) -> None:
    zone, now = find_zone(SAM.timezone), open_clock(home).now()
    trace.say(
        f"The sample world, on loopback. It is {spoken_day(now, zone)}, {spoken_clock(now, zone)} in Toronto. "
        "The model is the offline planner, which is no language model. A script answers for Sam, and what is signed "
        "says so."
    )
    trace.heading("The host, found and verified")


async def _run(house: House, trace: Trace, words: str) -> Ending:
    trace.heading(f"{SAM.name}")
    trace.say(words)
    person = PreapprovedPerson(house.vault, io.StringIO(), _no_passphrase)
    async with open_agent(house.home, AgentWishes(is_offline=True), house=house) as agent:
        ending = await converse(agent, house, words, person, trace)
    trace.heading("What the assistant says")
    trace.say(ending.text)
    return ending


async def _no_passphrase() -> str | None:
    """The world's keys are not locked."""
    return None


async def _mandates(house: House, trace: Trace) -> None:
    trace.heading("What was signed")
    for host in await house.guest.book.hosts():
        for kind in ("buying", "closed", "management"):
            for kept in await house.guest.book.mandates(kind, host.host):
                trace.say(f"{kind} mandate {kept.jti}")
                trace.mandate(kept.token)
        for booking in await house.guest.book.bookings():
            trace.say(f"the host's receipt for {booking.booking_id}")
            trace.mandate(booking.receipt)


async def _receipts(house: House, trace: Trace) -> None:
    trace.heading("Receipts")
    for record in await house.ledger.records():
        facts = [str(record.body[name]) for name in ("act", "shape", "kind", "code") if name in record.body]
        trace.row(f"  {record.seq:>4}  {record.kind:<24} {' '.join(facts)}")


async def _verify(house: House, trace: Trace) -> Verdict:
    """Exports the log and verifies the file with nothing but the public key, as anybody could."""
    trace.heading("Verified from an export, with the public key alone")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "receipts.jsonl"
        await house.ledger.export(path, with_evidence=True)
        with path.open("rb") as lines:
            verdict = verify_export(lines, key=house.vault.public(LEDGER))
    if verdict.records == 0:
        raise Refused.because("no_receipts", "there is nothing to verify")
    return verdict
