"""The tables: what each way takes, and what it adds to the straight one."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx2
import uvloop

from bench.measure import Row, report, table
from bench.provider.litellm import CACHE, VERSION, NotHere, install, litellm
from bench.provider.load import FIRST, Asked, Round, load, round_of, tick
from bench.provider.servers import Running, Vendor, create_request, provider_service, vendor
from sayso.control.protocol.payloads.inference import InferenceCompleted, PartDelta

STRAIGHT, SERVICE, INSIDE = "straight to the vendor", "sayso serve provider", "sayso in process"
CLIENT = "its HTTP client alone"
LITELLM = f"litellm {VERSION} proxy"
Case = Callable[[int, float], Round]


def measure(
    *, quick: bool = False, cache: Path | None = None, without: frozenset[str] = frozenset()
) -> list[dict[str, object]]:
    """Whole answers, what is added to them and until their first word, and processor time, at both rates."""
    rounds, spans = (2, {100: 0.5, 20: 1.0}) if quick else (5, {100: 2.0, 20: 2.5})
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        asked = stack.enter_context(vendor())
        cases: dict[str, Case] = {STRAIGHT: lambda rate, span: load(asked.question, rate, span)}
        home = Path(place) / "home"
        cases[SERVICE] = _awake(stack.enter_context(provider_service(home, asked)))
        cases[INSIDE] = lambda rate, span: _inside(home, asked, rate, span)
        cases[CLIENT] = lambda rate, span: _client(asked, rate, span)
        if "litellm" not in without:
            cases |= _litellm(stack, Path(place), cache or CACHE, asked)
        for case in cases.values():
            case(20, spans[20] / 2)
        found = {rate: _rounds(cases, rounds, rate, span) for rate, span in spans.items()}
    return _tell(found[100], 100, ("p50", "p99", "processor")) + _tell(found[20], 20, ("p50", "first"))


def _rounds(cases: Mapping[str, Case], rounds: int, rate: int, span: float) -> dict[str, list[Round]]:
    """Every case in every round, each round beginning with another one."""
    names = list(cases)
    found: dict[str, list[Round]] = {name: [] for name in names}
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            found[name].append(cases[name](rate, span))
    return found


def _tell(found: Mapping[str, list[Round]], rate: int, figures: Sequence[str]) -> list[dict[str, object]]:
    """Added is less the straight way of the same round."""
    floor = LITELLM if LITELLM in found else None
    whole = [Row(name, "ms", tuple(each.p50 for each in rounds)) for name, rounds in found.items()]
    reports = [_print(f"whole answers at {rate} a second, p50", whole, STRAIGHT)]
    for figure in figures:
        base = [0.0 if figure == "processor" else getattr(each, figure) for each in found[STRAIGHT]]
        rows = [less(name, figure, rounds, base) for name, rounds in found.items() if name != STRAIGHT]
        kept = [row for row in rows if any(row.samples)]
        reports.append(_print(_TITLES[figure].format(rate=rate), kept, floor))
    return reports


_TITLES = {
    "p50": "added to whole answers at {rate} a second, p50",
    "p99": "added to whole answers at {rate} a second, p99",
    "first": "added until the first word at {rate} a second, p50",
    "processor": "processor time the server takes for an answer",
}


def less(name: str, figure: str, rounds: Sequence[Round], base: Sequence[float]) -> Row:
    return Row(name, "ms", tuple(getattr(each, figure) - less for each, less in zip(rounds, base, strict=True)))


def _print(title: str, rows: list[Row], floor: str | None) -> dict[str, object]:
    print(table(title, rows, floor=floor))
    return report(title, rows, floor=floor)


def _awake(running: Running) -> Case:
    running.rest()

    def ask(rate: int, span: float) -> Round:
        with running.awake():
            before = running.processor()
            found = load(running.question, rate, span)
            took = running.processor() - before
        return replace(found, processor=1000 * took / int(rate * span))

    return ask


def _litellm(stack: ExitStack, place: Path, cache: Path, asked: Vendor) -> dict[str, Case]:
    try:
        return {LITELLM: _awake(stack.enter_context(litellm(install(cache), place, asked)))}
    except NotHere as why:
        print(f"litellm is left out: {why}")
        return {}


def _inside(home: Path, asked: Vendor, rate: int, span: float) -> Round:
    """The layer as a program embeds it."""
    from sayso.apps.home import open_home
    from sayso.apps.models import open_models

    async def run() -> list[Asked]:
        async with open_models(open_home(home, is_world=False), environ=asked.environ) as models:

            async def ask() -> Asked:
                began, first, last = time.perf_counter(), 0.0, None
                async for envelope in models.service.create(create_request()):
                    last = envelope.payload
                    if not first and isinstance(last, PartDelta):
                        first = time.perf_counter()
                assert isinstance(last, InferenceCompleted), last
                return Asked(first - began, time.perf_counter() - began)

            await ask()  # opens the model's wire
            return await tick(ask, rate, span)

    gc.collect()
    return round_of(uvloop.run(run()))


def _client(asked: Vendor, rate: int, span: float) -> Round:
    """What the layer in process cannot do without: httpx2 asks and takes the bytes."""
    question = asked.question
    headers = {"content-type": "application/json", "authorization": f"Bearer {asked.key}"}

    async def run() -> list[Asked]:
        async with httpx2.AsyncClient(trust_env=False, headers=headers) as client:

            async def ask() -> Asked:
                began, first, body = time.perf_counter(), 0.0, b""
                url = f"http://127.0.0.1:{question.port}{question.path}"
                async with client.stream("POST", url, content=question.body) as response:
                    async for data in response.aiter_bytes():
                        body += data
                        if not first and FIRST in body:
                            first = time.perf_counter()
                assert question.terminal in body, body
                return Asked(first - began, time.perf_counter() - began)

            await ask()
            return await tick(ask, rate, span)

    gc.collect()
    return round_of(uvloop.run(run()))
