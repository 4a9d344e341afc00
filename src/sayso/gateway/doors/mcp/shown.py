"""What this door shows of the house itself: the constitution, and the agent's own proposals; then what others show.

A proposal is shown to the agent that asked for it and to no other: to everybody else it looks like one that does not
exist (GTW-034, GTW-041).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from sayso.core.refusal import Refused
from sayso.core.strictjson import encode
from sayso.gateway.crossing import Agent
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.surface import (
    UNKNOWN_PROMPT,
    UNKNOWN_RESOURCE,
    Completes,
    Contents,
    Prompt,
    PromptText,
    Readable,
    Surface,
    Template,
)
from sayso.governance.constitution import Constitution
from sayso.governance.moving import channel
from sayso.governance.proposal import Proposal
from sayso.governance.telling import tell

__all__ = ("CONSTITUTION_URI", "Gate", "Shown", "is_own", "proposal_id_of", "unknown_resource")

CONSTITUTION_URI = "osz://constitution"
_PROPOSALS = "osz://proposals/"
_AN_HOUR_MS = 3_600_000
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Gate(Protocol):
    """The part of the Promotion Gate that is read here."""

    async def find(self, proposal_id: str, *, agent: str | None = None) -> Proposal:
        """A proposal. Refused `unknown_proposal`, the same for another agent's."""
        ...


class Shown:
    """The house's own surface in front of further ones, as one."""

    def __init__(self, *, gate: Gate, constitution: Constitution, others: Sequence[Surface] = ()) -> None:
        self._gate = gate
        self._constitution = _written(constitution)
        self._others = tuple(others)

    def resources(self) -> Sequence[Readable]:
        """The constitution first, then what the others have, each address once."""
        own = Readable(
            uri=CONSTITUTION_URI,
            name="constitution",
            title="The constitution",
            description="The articles that every operation is judged by, in words, with their version.",
        )
        more = (resource for other in self._others for resource in other.resources())
        return tuple({each.uri: each for each in (own, *more)}.values())

    def templates(self) -> Sequence[Template]:
        """Proposals first, then what the others have, each template once."""
        own = Template(
            uri_template=f"{_PROPOSALS}{{id}}",
            name="proposal",
            title="A proposal of yours",
            description="Where one of your proposals stands, who decides until when, and what came of it.",
        )
        more = (template for other in self._others for template in other.templates())
        return tuple({each.uri_template: each for each in (own, *more)}.values())

    async def read(self, uri: str, agent: Agent) -> Contents:
        """Reads from the first surface that knows the address."""
        if uri == CONSTITUTION_URI:
            return Contents(uri=uri, text=self._constitution, ttl_ms=_AN_HOUR_MS)
        if (proposal_id := proposal_id_of(uri)) is not None:
            found = await self._find(proposal_id, uri, agent)
            return Contents(uri=uri, text=encode(tell(found)).decode())
        _demand_disclosure(agent)
        for other in self._others:
            try:
                return await other.read(uri, agent)
            except Refused as no:
                if no.refusal.code != UNKNOWN_RESOURCE:
                    raise
        raise unknown_resource(uri)

    async def moves(self, uri: str, agent: Agent) -> int:
        """How often a resource has moved; one that exists and is never announced has not. Refused as `read`."""
        proposal_id = proposal_id_of(uri)
        if proposal_id is not None:
            return (await self._find(proposal_id, uri, agent)).moves
        await self.read(uri, agent)
        return 0

    def channel(self, uri: str) -> str | None:
        """The wake channel of a resource that moves."""
        proposal_id = proposal_id_of(uri)
        return None if proposal_id is None else channel(proposal_id)

    def prompts(self) -> Sequence[Prompt]:
        """What the others have, each name once."""
        found = (prompt for other in self._others for prompt in other.prompts())
        return tuple({each.name: each for each in found}.values())

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> PromptText:
        """Fills in the prompt of the first surface that has it."""
        for other in self._others:
            if any(each.name == name for each in other.prompts()):
                return await other.prompt(name, arguments)
        raise Refused.because(UNKNOWN_PROMPT, "There is no such prompt", place="$.params.name")

    def complete(self, of: str, argument: str, value: str) -> Sequence[str]:
        """What the others propose."""
        completing = (other for other in self._others if isinstance(other, Completes))
        return [found for other in completing for found in other.complete(of, argument, value)]

    async def _find(self, proposal_id: str, uri: str, agent: Agent) -> Proposal:
        try:
            return await self._gate.find(proposal_id, agent=agent.id)
        except Refused:
            # A proposal that is another agent's must not be told from one that does not exist.
            raise unknown_resource(uri) from None


def _demand_disclosure(agent: Agent) -> None:
    """Refused `missing_scope` where an agent's key does not let it look: reading is disclosure like any other. The
    constitution is everybody's, and its own proposals are the agent's.
    """
    if "disclose" not in agent.scopes:
        raise Refused(refusal("missing_scope", place="disclose"))


def is_own(uri: str) -> bool:
    """Whether an address is of the house's own surface: the constitution, or a proposal."""
    return uri == CONSTITUTION_URI or proposal_id_of(uri) is not None


def unknown_resource(uri: str) -> Refused:
    """The refusal of an address that leads nowhere this agent may look."""
    return Refused.because(
        UNKNOWN_RESOURCE, "There is no such resource", place="$.params.uri", help="List them.", details={"uri": uri}
    )


def proposal_id_of(uri: str) -> str | None:
    """The proposal that an address names, or None."""
    rest = uri.removeprefix(_PROPOSALS)
    return rest if rest != uri and _ID.fullmatch(rest) else None


def _written(constitution: Constitution) -> str:
    articles = [{"number": each.number, "title": each.title, "text": each.text} for each in constitution.articles]
    told = {
        "version": constitution.version,
        "sha256": constitution.sha256,
        "title": constitution.title,
        "preamble": constitution.preamble,
        "articles": articles,
    }
    return encode(told).decode()
