"""Knowledge as resources and prompts: the addresses under `osz://` that are not the Gate's (GTW-041, GTW-042).

Reading is disclosure and the same for every agent that was let in: domains, hypotheses, insights and counts are the
house's, and receipts stand in an export that anybody may have. What is not there is refused in one way only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from sayso.core import b64u, strictjson
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.crossing import Agent
from sayso.gateway.knowledge import prompts
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.rules.taxonomy import Domain
from sayso.gateway.surface import UNKNOWN_RESOURCE, Contents, Prompt, PromptText, Readable, Template
from sayso.ledger.ledger import Ledger

__all__ = ("KnowledgeSurface",)

_Read: TypeAlias = "Callable[[str], Awaitable[JsonValue | msgspec.Raw | None]]"

_HOUR_MS = 3_600_000
_MOST_COMPLETIONS = 100
_LONGEST_NUMBER = 15
DOMAINS, INSIGHTS, STATS = "osz://domains", "osz://insights/recent", "osz://stats"
_RESOURCES = (
    Readable(
        uri=DOMAINS,
        name="domains",
        title="All 1,000 domains",
        description="Every domain: key, title, parent, description. Searches and proposals name domains by their keys.",
    ),
    Readable(
        uri=INSIGHTS,
        name="insights",
        title="Recent insights",
        description="The newest evidence and what it did to which hypothesis, newest first.",
    ),
    Readable(
        uri=STATS,
        name="stats",
        title="How much is known",
        description="Documents by writer, observations, hypotheses by kind, and whether search understands meaning.",
    ),
)
_TEMPLATES = (
    Template(
        uri_template="osz://domains/{key}",
        name="domain",
        title="One domain",
        description="A domain with its path, children, surest hypotheses and latest observations.",
    ),
    Template(
        uri_template="osz://hypotheses/{id}",
        name="hypothesis",
        title="One hypothesis",
        description="A hypothesis with every piece of evidence, each with its weight and the rule that weighed it.",
    ),
    Template(
        uri_template="osz://receipts/{seq}",
        name="receipt",
        title="One receipt",
        description="A receipt of the log by its number, with its hash.",
    ),
)


class KnowledgeSurface:
    """Implements `Surface` and `Completes` over one owner's knowledge and log."""

    def __init__(self, knowledge: Knowledge, ledger: Ledger) -> None:
        self._knowledge = knowledge
        self._ledger = ledger
        self._whole: Mapping[str, Callable[[], Awaitable[JsonValue]]] = {
            DOMAINS: self._domains,
            INSIGHTS: self._insights,
            STATS: self._stats,
        }
        self._families: Mapping[str, _Read] = {
            "osz://domains/": self._domain,
            "osz://hypotheses/": self._hypothesis,
            "osz://receipts/": self._receipt,
        }

    def resources(self) -> Sequence[Readable]:
        """As `Surface.resources`."""
        return _RESOURCES

    def templates(self) -> Sequence[Template]:
        """As `Surface.templates`."""
        return _TEMPLATES

    async def read(self, uri: str, agent: Agent) -> Contents:
        """As `Surface.read`. `osz://domains` may be kept for an hour, nothing else at all."""
        if uri in self._whole:
            return _contents(uri, await self._whole[uri](), ttl_ms=_HOUR_MS if uri == DOMAINS else 0)
        for prefix, read in self._families.items():
            if uri.startswith(prefix):
                found = await read(uri.removeprefix(prefix))
                if found is not None:
                    return _contents(uri, found)
        raise Refused.because(
            UNKNOWN_RESOURCE,
            "there is no such resource",
            place="uri",
            help=f"Resources are {', '.join(self._whole)}; templates {', '.join(t.uri_template for t in _TEMPLATES)}.",
        )

    def prompts(self) -> Sequence[Prompt]:
        """As `Surface.prompts`."""
        return prompts.PROMPTS

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> PromptText:
        """As `Surface.prompt`; also refused: `unknown_domain` and `unknown_hypothesis`."""
        return await prompts.fill_in(name, arguments, self._knowledge, self._show)

    def complete(self, of: str, argument: str, value: str) -> Sequence[str]:
        """Keys of domains, wherever one is asked for, and the depths of an analysis."""
        offered: Sequence[str] = ()
        if argument == "depth":
            offered = prompts.DEPTHS
        elif argument in ("domain_key", "other_key") or (of, argument) == ("osz://domains/{key}", "key"):
            offered = [domain.key for domain in self._knowledge.domains.all()]
        return [each for each in offered if each.startswith(value)][:_MOST_COMPLETIONS]

    async def _show(self, uri: str) -> Contents:
        """A resource for a prompt, which no agent asks for by its address."""
        for prefix, read in self._families.items():
            if uri.startswith(prefix) and (found := await read(uri.removeprefix(prefix))) is not None:
                return _contents(uri, found)
        raise Refused.because(UNKNOWN_RESOURCE, "there is no such resource", place="uri")

    async def _domains(self) -> JsonValue:
        return {"domains": [_plain(each) for each in self._knowledge.domains.all()]}

    async def _insights(self) -> JsonValue:
        return {"insights": [_plain(each) for each in await self._knowledge.insights()]}

    async def _stats(self) -> JsonValue:
        return _plain(await self._knowledge.stats())

    async def _domain(self, key: str) -> JsonValue | None:
        found = self._knowledge.domains.get(key)
        if found is None:
            return None
        return {
            **_members(found),
            "path": list(self._knowledge.domains.path(key)),
            "children": [{"key": each.key, "title": each.title} for each in self._knowledge.domains.children(key)],
            "hypotheses": [_plain(each) for each in await self._knowledge.hypotheses(domain_key=key, limit=10)],
            "latest": [_plain(each) for each in await self._knowledge.latest(key)],
        }

    async def _hypothesis(self, identity: str) -> JsonValue | None:
        try:
            return _plain(await self._knowledge.hypothesis(identity))
        except Refused:
            return None

    async def _receipt(self, seq: str) -> msgspec.Raw | None:
        if not (seq.isascii() and seq.isdigit() and len(seq) <= _LONGEST_NUMBER) or str(int(seq)) != seq:
            return None
        found = await self._ledger.records(int(seq), int(seq) + 1)
        if not found:
            return None
        # The record as it was hashed, byte for byte, so that a reader can hash it again.
        return msgspec.Raw(b'{"hash":"%b","record":%b}' % (b64u.encode(found[0].hash).encode(), found[0].data))


def _contents(uri: str, value: JsonValue | msgspec.Raw, *, ttl_ms: int = 0) -> Contents:
    data = bytes(value) if isinstance(value, msgspec.Raw) else strictjson.encode(value)
    return Contents(uri=uri, text=data.decode(), ttl_ms=ttl_ms)


def _plain(value: msgspec.Struct) -> JsonValue:
    shown: JsonValue = msgspec.to_builtins(value)
    return shown


def _members(domain: Domain) -> Mapping[str, JsonValue]:
    return msgspec.structs.asdict(domain)
