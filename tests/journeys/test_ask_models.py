"""`sayso ask` on any model: the same booking, signed the same way, whichever wire the model speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.house import ASKS, facts, sayso
from tests.journeys.models import WIRES, scripted_model


@pytest.mark.req("OAP-155", "OAP-131", "OAP-138")
@pytest.mark.parametrize("wire", WIRES)
def test_a_booking_over_each_wire(tmp_path: Path, wire: str) -> None:
    """The model finds the host and the time, the key app signs, and the log holds the booking."""
    home = tmp_path / "home"
    with scripted_model(wire, "booking_turn") as model:
        arguments = ["ask", "--world", "--home", str(home), "--yes", "--model", model.ref, ASKS]
        done = sayso(*arguments, **model.environ)
    assert done.code == 0, done
    assert "offline planner" not in done.out
    assert "Signed: this exact offer." in done.out
    assert "guest.booking_confirmed" in [record["kind"] for record in facts(home)]
