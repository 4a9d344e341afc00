"""A house without the `semantic` extra starts, searches by words and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sayso.testing.store import fresh_file

PROGRAM = """
import sys
from importlib.abc import MetaPathFinder

GONE = ("numpy", "wordllama", "sqlite_vec")

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(name)

import importlib.util
whole = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in GONE else whole(name, *more)
sys.meta_path.insert(0, Missing())

import anyio
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.ledger.ledger import Ledger
from sayso.store.open import open_store

async def main():
    clock = SystemClock()
    with open_store(sys.argv[1], clock) as store:
        house = Knowledge(store, Ledger(store, "house.example/log", clock), owner="p", clock=clock, ids=SystemIds())
        await house.open()
        await house.ingest(title="Seen", text="The sleeper may fail.", by="p", domain_keys=("travel",))
        found = await house.search("sleeper", limit=1)
        print(found.how, len(house.domains), found.hits[0].title)
        print(found.note)
        (risk,) = await house.hypotheses()
        print(risk.kind, risk.confidence)
        try:
            await house.simulate(risk.id, call_id="c", by="p")
        except Refused as no:
            print(no.refusal.code)

anyio.run(main)
"""


@pytest.mark.req("GTW-043")
def test_search_goes_on_by_words_alone(tmp_path: Path) -> None:
    """In a process that has neither model, numpy nor sqlite-vec."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(fresh_file(tmp_path / "sayso.db"))],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    how, note, risk, code = done.stdout.splitlines()
    assert how == "full_text 1000 Seen"
    assert "extra `semantic`" in note
    assert (risk, code) == ("risk 0.6", "simulation_unavailable")
