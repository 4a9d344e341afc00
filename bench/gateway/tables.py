"""The tables: calls a second, latencies, and what each step of one of ours takes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from bench.gateway.calls import CONNECTIONS, LEGACY, MODERN, Era, Round, load
from bench.gateway.contextforge import QUICKEST, VERSION, NotHere, contextforge, install
from bench.gateway.servers import Running, server
from bench.measure import Row, compare, report, table
from bench.receipts import fsyncs

FOLDER = Path("/var/tmp")  # not /tmp, which is often in memory, where a commit costs nothing
CACHE = "sayso-bench-contextforge"
SAYSO, FLOOR, OFFICIAL = "sayso gateway", "floor", f"mcp {version('mcp')}, nothing governed"
FORGE, FORGE_QUICKEST = f"contextforge {VERSION}", f"contextforge {VERSION}, no certificates"
ENDPOINT = "the endpoint behind contextforge"
_PERCENTILES = ("p50", "p95", "p99")
_WARM = 1.0
_STEPS = {
    "read": "standing: key, agent, rates, signature read at once",
    "signature": "HMAC",
    "act": "policy and act together",
    "again": "standing read and judged again, locked",
    "rate": "rates charged",
    "spend": "replay: the signature spent",
    "receipt": "receipt drafted into its batch",
    "settle": "the whole unit, to COMMIT",
}
"""The watch's steps in the order of a call; the ladder's other rungs are taken together."""
_NOT_OTHER = {*_STEPS, "file", "policy alone", "call"}


class Rounds:
    """One server's rounds: the rate goes to `compare`, the percentiles are kept here."""

    def __init__(self, running: Running, seconds: float) -> None:
        self.running = running
        self.seconds = seconds
        self.found: list[Round] = []

    def warm(self) -> None:
        with self.running.awake():
            load(self.running.target, _WARM)

    def __call__(self) -> float:
        with self.running.awake():
            self.found.append(load(self.running.target, self.seconds))
        return self.found[-1].rate

    def rows(self, name: str) -> list[Row]:
        return [Row(f"{name}, {each}", "ms", tuple(getattr(r, each) for r in self.found)) for each in _PERCENTILES]


def measure(
    *,
    quick: bool = False,
    folder: Path = FOLDER,
    cache: Path | None = None,
    python: str | None = None,
    without: frozenset[str] = frozenset(),
) -> list[dict[str, object]]:
    """Every table, printed; what cannot be measured here is named with its reason."""
    rounds, seconds = (3, 1.0) if quick else (5, 5.0)
    reports = []
    with tempfile.TemporaryDirectory(dir=folder) as place, ExitStack() as stack:
        servers: dict[str, Running] = {}
        for name, kind in ((SAYSO, "sayso"), (OFFICIAL, "mcp"), (FLOOR, "floor")):
            if kind not in without:
                servers[name] = stack.enter_context(server(kind, _below(place, kind)))
        if "contextforge" not in without:
            servers |= _contextforges(stack, Path(place), cache or folder / CACHE, python)
        for running in servers.values():
            running.rest()
        for era in (MODERN, LEGACY):
            reports += _compare(era, servers, rounds, seconds)
    if "sayso" not in without:
        reports.append(_steps(folder, seconds, rounds))
    return reports


def _compare(era: Era, servers: Mapping[str, Running], rounds: int, seconds: float) -> list[dict[str, object]]:
    """One revision: who speaks it, in turn. The floor and the endpoint know no revision and are asked the first way."""
    cases: dict[str, Rounds] = {}
    for name, running in servers.items():
        target = running.target if name in (FLOOR, ENDPOINT) else replace(running.target, era=era)
        cases[name] = Rounds(replace(running, target=target), seconds)
        cases[name].warm()
    title = f"governed MCP tools/call, {era.revision}, {CONNECTIONS} connections, synchronous=FULL"
    rates = compare(cases, rounds=rounds)
    latencies = [row for name, case in cases.items() for row in case.rows(name)]
    return [
        _print(title, rates, floor=FLOOR if FLOOR in cases else None),
        _print(f"the same calls, {era.revision}, latency", latencies),
    ]


def _contextforges(stack: ExitStack, place: Path, cache: Path, python: str | None) -> dict[str, Running]:
    found: dict[str, Running] = {}
    try:
        programs = install(cache, python)
        upstream = stack.enter_context(server("upstream", _below(place, "upstream")))
        for name, settings in ((FORGE, {}), (FORGE_QUICKEST, QUICKEST)):
            below = _below(place, name.replace(" ", "-"))
            found[name] = stack.enter_context(contextforge(programs, below, upstream, settings))
        found[ENDPOINT] = upstream
    except NotHere as why:
        print(f"contextforge is left out: {why}")
    return found


def _steps(folder: Path, seconds: float, rounds: int) -> dict[str, object]:
    """Where one call spends its time: one connection, so that nothing waits for anything but the disk."""
    from bench.gateway.policy import policy

    found: list[dict[str, float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            with server("watched", Path(place)) as running:
                load(running.target, _WARM, connections=1)
                alone = load(running.target, seconds, connections=1)
            disk = 1e6 / fsyncs(Path(place))
        other = sum(took for name, took in running.steps.items() if name not in _NOT_OTHER)
        found.append({**running.steps, **policy(), "other": other, "disk": disk, "call": 1000 * alone.p50})
    return _print("one call on one connection, step by step", [_step(*each, found) for each in _shown()])


def _shown() -> list[tuple[str, str]]:
    steps = list(_STEPS.items())
    steps.insert(2, ("other", "the ladder's other rungs"))
    steps.insert(3, ("policy alone", "policy: the constitution alone"))
    ends = [("disk", "one fdatasync of 4 KB here"), ("call", "the whole call, as the client sees it")]
    return [*steps, *ends]


def _step(key: str, name: str, found: list[dict[str, float]]) -> Row:
    return Row(name, "us", tuple(each.get(key, 0.0) for each in found))


def _below(place: str | Path, name: str) -> Path:
    made = Path(place) / name
    made.mkdir()
    return made


def _print(title: str, rows: list[Row], *, floor: str | None = None) -> dict[str, object]:
    print(table(title, rows, floor=floor))
    return report(title, rows, floor=floor)
