"""What a decision is bound to, and what else the person has to have signed for the act to run (GTW-032).

A decision is evidence 3. The binding is the canonical JSON of proposal, agent, act, hash of the arguments and the
constitution's version and hash; its SHA-256 is what the decision's receipts and the consent name. The consent sources
are asked with every answer the person gave, in order: they answer with stronger evidence, with the question that is
still open, or with nothing where the act is none of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.canonical import canonical
from sayso.governance.acts import Act
from sayso.governance.consent import Answer, Consent, ConsentSource, Evidence, Question, decide
from sayso.governance.proposal import Decision, Proposal
from sayso.proof.hashes import sha256_b64u

__all__ = ("bind", "consult", "strongest")


def bind(proposal: Proposal, constitution: str) -> str:
    """The hash (base64url) of exactly what is decided."""
    return sha256_b64u(
        canonical(
            {
                "act": proposal.act,
                "agent": proposal.agent,
                "arguments_sha256": proposal.arguments_sha256,
                "constitution": constitution,
                "proposal": proposal.id,
            }
        )
    )


async def consult(
    sources: Sequence[ConsentSource], act: Act, arguments: msgspec.Struct, answers: Sequence[Answer]
) -> list[Consent] | Question:
    """The evidence there is beside the decision, or what the person still has to be asked.

    Refused, as the sources say, where an answer is a no or does not prove what it should.
    """
    found: list[Consent] = []
    for source in sources:
        answer = await source.consent(act.name, arguments, answers)
        if isinstance(answer, Question):
            return answer
        if answer is not None:
            found.append(answer)
    return found


def strongest(act: Act, proposal: Proposal, decision: Decision, found: Sequence[Consent]) -> Consent:
    """The consent the act runs on, given to this agent for this proposal. Refused: `consent_required`."""
    gate = Consent(
        by=decision.by,
        evidence=Evidence.GATE_DECISION,
        subject_sha256=decision.subject_sha256,
        mode=decision.mode,
    )
    return msgspec.structs.replace(decide(act, [*found, gate]), agent=proposal.agent, call_id=proposal.id)
