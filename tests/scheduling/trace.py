"""The walkthrough of SCH-377 as it goes over the wire, with fixed keys, ids and clock: what the specification shows.

`python -m tests.scheduling.trace` writes it into docs/spec/scheduling.md; a test compares. The texts of section 15 come
from the same run.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sayso.core import strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.net.fetch import Fetcher, Response
from sayso.proof.jws import read_jws
from sayso.scheduling.tools.printed import PRINTED
from sayso.testing.store import START
from tests.scheduling.host.town import DOMAIN, open_town_on_file
from tests.scheduling.tools.household import HOLD, Household, open_household

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec" / "scheduling.md"
_SHOWN = ("Content-Digest", "Signature-Input", "Signature", "SchCP-Agent-Key", "SchCP-Version", "SchCP-Mandate")
_TITLES = {
    "/.well-known/scheduling.json": "Discovery",
    "/availability": "Availability",
    "/holds": "The hold, and the host's offer",
    "/confirm": "Confirm, and the host's receipt",
    "/cancel": "Cancelling on Wednesday",
}


class TracingFetcher(Fetcher):
    """A fetcher that keeps what went out and what came back."""

    def __init__(self, resolve: dict[str, str]) -> None:
        super().__init__(resolve)
        self.seen: list[tuple[str, str, list[tuple[str, str]], bytes, Response]] = []

    async def request(
        self, method: str, url: str, *, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", **settings: Any
    ) -> Response:
        sent = list(headers)
        response = await super().request(method, url, headers=sent, body=body, **settings)
        self.seen.append((method, url, sent, body, response))
        return response


async def walk(folder: Path) -> tuple[TracingFetcher, Household]:
    """Discover, look, sign limits, hold, approve, book, sign the management, cancel a day later."""
    clock = ManualClock(START)
    async with open_town_on_file(folder, clock) as town:
        fetcher = TracingFetcher({DOMAIN: f"127.0.0.1:{town.port}"})
        async with fetcher, open_household(folder / "guest", clock, fetcher, ids=CountingIds()) as home:
            await home.call(
                "find_slots",
                {
                    "host": DOMAIN,
                    "service_id": "oil-change",
                    "earliest_start": "2026-10-15T11:00",
                    "latest_start": "2026-10-15T15:00",
                },
            )
            held = await home.call("hold_slot", HOLD)
            booked = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
            clock.advance(WEDNESDAY - START)
            await home.call("cancel_booking", {"booking_id": booked.result["booking_id"]})
            return fetcher, home


WEDNESDAY = START.replace(day=14)


def texts(home: Household) -> str:
    """The three texts that Sam is shown."""
    titles = {"limits": "The limits", "offer": "The offer", "management": "The management of the booking"}
    return "\n".join(f"*{titles[question.kind]}:*\n\n> {shown.text}\n" for question, shown in home.questions)


def trace(fetcher: TracingFetcher) -> str:
    """The exchange, message by message; the precise look at one slot before the hold is left out."""
    parts, seen = [], set()
    for method, url, headers, body, response in fetcher.seen:
        path = url.removeprefix(f"https://{DOMAIN}")
        title = next(_TITLES[end] for end in sorted(_TITLES, key=len, reverse=True) if path.endswith(end))
        if title in seen:
            continue
        seen.add(title)
        parts.append(f"### 17.{len(seen) + 1} {title}\n")
        parts.append(_exchange(method, url, headers, body, response))
        parts.extend(_decoded(headers, response))
    return "\n".join(parts)


def _exchange(method: str, url: str, headers: list[tuple[str, str]], body: bytes, response: Response) -> str:
    lines = [f"{method} {url}"]
    for name, value in headers:
        if name in _SHOWN:
            lines.append(f"{name}: {_short(value) if name == 'SchCP-Mandate' else value}")
    if body:
        lines += ["", _pretty(strictjson.parse(body))]
    lines += ["", f"-> {response.status}", "", _pretty(strictjson.parse(response.body))]
    return "```\n" + "\n".join(lines) + "\n```\n"


def _decoded(headers: list[tuple[str, str]], response: Response) -> Iterable[str]:
    tokens = [("The mandate presented", value) for name, value in headers if name == "SchCP-Mandate"]
    body = strictjson.parse(response.body)
    assert isinstance(body, dict)
    tokens += [(f"The {name}", str(body[name])) for name in ("offer", "receipt") if name in body]
    for title, token in tokens:
        read = read_jws(token)
        header = strictjson.encode(read.header).decode()
        payload = _pretty(strictjson.parse(read.payload))
        yield f"{title}, whole and decoded:\n\n```\n{token}\n\n{header}\n{payload}\n```\n"


def _short(token: str) -> str:
    return f"{token[:60]}..."


def _pretty(value: Any) -> str:
    text = json.dumps(_elided(value), indent=2, ensure_ascii=False)
    # Small objects and lists on one line, as people write them.
    return re.sub(r"([{\[])\n\s+([^{}\[\]\n]*(?:,\n\s+[^{}\[\]\n]*){0,3})\n\s+([}\]])", _joined, text)


def _joined(match: re.Match[str]) -> str:
    inside = re.sub(r"\n\s+", " ", match[2])
    return f"{{ {inside} }}" if match[1] == "{" else f"[{inside}]"


def _elided(value: Any) -> Any:
    if isinstance(value, dict):
        signed = ("offer", "receipt")
        return {name: _short(inner) if name in signed else _elided(inner) for name, inner in value.items()}
    if isinstance(value, list) and len(value) > 8:
        return [_elided(value[0]), f"... {len(value) - 2} more ...", _elided(value[-1])]
    return [_elided(each) for each in value] if isinstance(value, list) else value


def blocks() -> dict[str, str]:
    """Every block of the specification that the code prints."""
    with tempfile.TemporaryDirectory() as folder:
        fetcher, home = asyncio.run(walk(Path(folder)))
    printed = {name: print_() for name, print_ in PRINTED.items()}
    return {**printed, "schcp-texts": texts(home), "schcp-walkthrough": trace(fetcher)}


def filled(document: str, found: dict[str, str]) -> str:
    """The document with each block of ours as it should be."""
    for name, text in found.items():
        pattern = re.compile(rf"(<!-- (?:printed|traced): {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert len(pattern.findall(document)) == 1, name
        document = pattern.sub(lambda match, text=text: match[1] + text + match[2], document)
    return document


if __name__ == "__main__":
    SPEC.write_text(filled(SPEC.read_text(), blocks()))
