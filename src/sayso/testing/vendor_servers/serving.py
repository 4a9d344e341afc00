"""A vendor on a port of this machine, whose model follows a script: what a whole product is driven against.

    async with serve_model("anthropic-messages", SCRIPTS["tool_turn"]) as served:
        ...  # ANTHROPIC_BASE_URL=served.base_url ANTHROPIC_API_KEY=served.key

From another process: `python -m sayso.testing.vendor_servers --wire messages --script tool_turn --port-file F`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sayso.core import strictjson
from sayso.net.listen import serving
from sayso.testing.vendor_servers.chat import CHAT
from sayso.testing.vendor_servers.generate import GENERATE
from sayso.testing.vendor_servers.hearing import hear
from sayso.testing.vendor_servers.messages import MESSAGES
from sayso.testing.vendor_servers.responses import RESPONSES
from sayso.testing.vendor_servers.scripts import Ongoing, Script
from sayso.testing.vendor_servers.server import KEY, Answer, Received, Stream, Vendor, VendorServer
from sayso.testing.vendor_servers.turns import Said

__all__ = ("SHORT_NAMES", "VARIABLES", "Served", "serve_model")

SHORT_NAMES: Mapping[str, Vendor] = {
    "chat": CHAT, "responses": RESPONSES, "messages": MESSAGES, "generate": GENERATE,
}  # fmt: skip
VARIABLES: Mapping[str, tuple[str, str, str]] = {
    CHAT.wire: ("deepseek", "DEEPSEEK_BASE_URL", "DEEPSEEK_API_KEY"),
    RESPONSES.wire: ("openai", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    MESSAGES.wire: ("anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    GENERATE.wire: ("google", "GOOGLE_BASE_URL", "GOOGLE_API_KEY"),
}
"""A row of the catalog that speaks the wire, and the variables that move it here and hold its key."""


@dataclass(frozen=True, slots=True)
class Served:
    """Where a model is, and what it takes to ask it. `environ` moves a catalogued provider here, by variables alone."""

    server: VendorServer
    base_url: str
    key: str = KEY
    model: str = "fixture"

    @property
    def model_ref(self) -> str:
        """The model as a person names it, with the provider that `environ` moves here."""
        return f"{VARIABLES[self.server.vendor.wire][0]}/{self.model}"

    @property
    def environ(self) -> dict[str, str]:
        _, base_url, key = VARIABLES[self.server.vendor.wire]
        return {base_url: self.base_url, key: self.key}


@asynccontextmanager
async def serve_model(
    wire: str,
    script: Script,
    *,
    port: int = 0,
    pace: float = 0.0,
    models: Sequence[str] = ("fixture",),
    is_open: bool = False,
) -> AsyncIterator[Served]:
    """Serves one wire (its name in the catalog, or `chat`, `responses`, `messages`, `generate`). `pace` is the time
    between two frames, in seconds; `is_open` asks for no credential, as servers on one's own machine do.
    """
    vendor = SHORT_NAMES.get(wire) or next(each for each in SHORT_NAMES.values() if each.wire == wire)

    def decide(received: Received) -> Answer:
        return _stream(vendor, script(hear(vendor.wire, received)), pace)

    server = VendorServer(vendor, decide=decide, models=models, is_open=is_open, keeps_carries=True)
    async with serving(server, port=port, grace=0.1) as address:
        yield Served(server, f"{address.url}{vendor.base}", model=models[0])


def _stream(vendor: Vendor, answer: Said | Ongoing, pace: float) -> Stream:
    if isinstance(answer, Said):
        return Stream(vendor.stream(answer), pace=pace)
    frames = vendor.stream(answer.said)
    return Stream(frames[: _last_words(frames, answer.said)], hangs=True, pace=pace)


def _last_words(frames: Sequence[bytes], said: Said) -> int:
    """How many frames it takes until the last piece has been said."""
    last = getattr(said.steps[-1], "deltas", ("",))[-1]
    quoted = strictjson.encode(last)[1:-1]
    return next(at for at, frame in enumerate(frames, 1) if quoted in frame)
