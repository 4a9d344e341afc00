"""The bench can be run: each row is there, what it measures is judged before it counts, what is missing is said."""

from __future__ import annotations

import importlib
import inspect
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.__main__ import AGENT, ROWS, chosen
from bench.loop import PIECES, follow, hub_over, take, wire_to
from bench.measure import table
from bench.provider.litellm import NotHere, install, litellm
from bench.provider.load import Round, load
from bench.provider.servers import provider_service, vendor
from bench.provider.tables import less
from sayso.control.client.local import LocalClient


@pytest.mark.parametrize("name", ROWS)
def test_every_row_can_be_measured(name: str) -> None:
    """A row is a module with `measure`, and `--quick` reaches it."""
    measure = importlib.import_module(f"bench.{name}").measure
    assert inspect.signature(measure).parameters["quick"].default is False


def test_the_rows_that_are_meant_are_measured_once() -> None:
    """None named is all; `agent` names nothing that cannot be named alone."""
    assert chosen([]) == list(ROWS)
    assert chosen(["agent", "tui", "hub"]) == ["hub", *AGENT]


def test_an_answer_that_is_not_whole_is_no_figure() -> None:
    """Straight to the vendor: times for right answers, a failure for one without the end that is asked for."""
    with vendor() as asked:
        found = load(asked.question, 50, 0.2)
        assert 0 < found.first <= found.p50 <= found.p99
        assert asked.question.terminal == b"[DONE]"
        for wrong in ({"key": "no such key"}, {"terminal": b"[NEVER]"}):
            with pytest.raises(AssertionError):
                load(asked.question.but(**wrong), 50, 0.1)


def test_our_service_answers_in_its_turn(tmp_path: Path) -> None:
    """The same question through `sayso serve provider`, at rest in between; what it took of the processor is told."""
    with vendor() as asked, provider_service(tmp_path / "home", asked) as running:
        running.rest()
        with running.awake():
            before = running.processor()
            found = load(running.question, 50, 0.2)
        assert 0 < found.first <= found.p50
        assert running.processor() >= before > 0


@pytest.mark.anyio
async def test_every_piece_comes_through_the_loop_as_through_the_wire() -> None:
    """What is compared is the same answer, whole."""
    with vendor("slow_text") as asked:
        async with wire_to(asked) as wire, hub_over(asked) as hub:
            assert await take(wire) == PIECES
            assert await follow(LocalClient(hub)) == PIECES


def test_added_is_less_the_straight_way_of_the_same_round() -> None:
    """Not less a median of other rounds: a slow moment of the machine is in both."""
    rounds = [Round(3.0, 9.0, 2.0), Round(8.0, 20.0, 7.0)]
    row = less("ours", "p50", rounds, [1.0, 5.0])
    assert (row.samples, row.median) == ((2.0, 3.0), 2.5)
    assert "2.50 ms" in table("added", [row])


def test_what_does_not_start_is_left_out_with_its_reason(tmp_path: Path) -> None:
    """The other rows are measured all the same."""
    programs = tmp_path / "litellm" / "bin"
    programs.mkdir(parents=True)
    program = programs / "litellm"
    program.write_text("#!/bin/sh\necho it has no licence to run\nexit 1\n", encoding="utf-8")
    program.chmod(0o700)
    with vendor() as asked, ExitStack() as stack, pytest.raises(NotHere, match="it has no licence to run"):
        stack.enter_context(litellm(install(tmp_path / "litellm"), tmp_path, asked))
