"""The one layer that every door calls: disclosures run here at once, executions are prepared for the gate (GTW-030).

Order of a disclosure: the act's class, its arguments' shape, the constitution, then the operation. The receipt is
drafted and handed back, so that the caller's unit makes it durable together with everything else of the crossing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.arguments import names_secret
from sayso.governance.consent import Consent, Question
from sayso.governance.constitution import Constitution, Verdict
from sayso.governance.gate import Gate
from sayso.governance.kernel import DONE, FAILED, ActCall, run_operation
from sayso.governance.proposal import Ask, Prepared
from sayso.governance.telling import Told, tell
from sayso.ledger.rules.record import Draft
from sayso.proof.hashes import sha256_b64u

__all__ = ("PROPOSAL_STATUS", "Disclosed", "Governor", "asking_agent")

NOT_A_DISCLOSURE = "not_a_disclosure"

_asking: ContextVar[str] = ContextVar("asking_agent")


class ProposalStatus(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which proposal."""

    proposal_id: str


PROPOSAL_STATUS = Act(
    name="proposal_status",
    act_class=ActClass.DISCLOSURE,
    title="Look at a proposal",
    description=(
        "Tells how one of your own proposals stands: waiting for a person, decided, being carried out, or over, with "
        "its result. The id is in the answer that the proposal was made with."
    ),
    arguments=ProposalStatus,
    touches_others=False,
    result=Told,
)


class Disclosed(msgspec.Struct, frozen=True, kw_only=True):
    """What a disclosure answered, and the receipt that is still to be kept. A failed one has `{"refused": ...}`."""

    result: Mapping[str, Any]
    is_error: bool
    draft: Draft


class Governor:
    """One house's acts, as agents at its doors reach them."""

    def __init__(self, registry: Registry, gate: Gate, constitution: Constitution) -> None:
        """Registers `proposal_status`. Misuse: the gate judges by another constitution or knows other acts."""
        if gate.registry is not registry or gate.constitution is not constitution:
            raise Misuse("a governor and its gate share one registry and one constitution")
        self.registry = registry
        self.gate = gate
        self.constitution = constitution
        registry.register(PROPOSAL_STATUS, self._proposal_status)

    async def disclose(self, call: ActCall) -> Disclosed:
        """Runs an act that only discloses. What the operation itself refuses comes back as an error, not as a refusal.

        Refused: `unclassified_act`, `not_a_disclosure`, `schema_invalid`, `refused_by_constitution`.
        """
        act, operation = self.registry.find(call.name)
        arguments, data, verdict = self._judged(call, act)
        token = _asking.set(call.actor)
        try:
            result, code = await run_operation(operation, arguments, None)
        finally:
            _asking.reset(token)
        if isinstance(result, Question):
            raise Misuse(f"{act.name} is a disclosure and asked for consent")
        return Disclosed(
            result=result, is_error=code is not None, draft=_draft(call, act, verdict, data, result=result, code=code)
        )

    def look(self, call: ActCall, act: Act) -> Disclosed:
        """Judges what a door shows by itself (a resource, a prompt), under an act of the door's own. Nothing runs here:
        the result is the door's to find, and stays empty.

        Refused: as `disclose`.
        """
        _arguments, data, verdict = self._judged(call, act)
        return Disclosed(result={}, is_error=False, draft=_draft(call, act, verdict, data))

    def _judged(self, call: ActCall, act: Act) -> tuple[msgspec.Struct, bytes, Verdict]:
        if act.act_class is not ActClass.DISCLOSURE:
            raise Refused.because(
                NOT_A_DISCLOSURE, f"{act.name} changes something, so it has to be proposed", place="name"
            )
        data = strictjson.encode(call.arguments)
        arguments = strictjson.convert(call.arguments, act.arguments)
        verdict = self.constitution.judge_disclosure(
            call.actor, act, door=call.door, scopes=call.scopes, names_secret=names_secret(data)
        )
        if not verdict.allowed:
            raise Refused(verdict.refusal(act.title))
        return arguments, data, verdict

    def prepare(self, ask: Ask) -> Prepared:
        """Judges an execution for the gate; `Gate.file_in` files it. Refused: as `Gate.prepare`."""
        return self.gate.prepare(ask)

    async def _proposal_status(self, ask: ProposalStatus, _consent: Consent | None) -> dict[str, Any]:
        found = await self.gate.find(ask.proposal_id, agent=asking_agent())
        told: dict[str, Any] = msgspec.to_builtins(tell(found))
        return told


def _draft(
    call: ActCall,
    act: Act,
    verdict: Verdict,
    data: bytes,
    *,
    result: Mapping[str, Any] | None = None,
    code: str | None = None,
) -> Draft:
    body = {"act": act.name, "call": call.call_id[:64], "class": act.act_class.value}
    return Draft(
        kind=DONE if code is None else FAILED,
        actor=call.actor,
        article=verdict.article,
        inputs_sha256=sha256_b64u(data),
        output_sha256=None if result is None else sha256_b64u(strictjson.encode(result)),
        body=body if code is None else {**body, "code": code},
    )


def asking_agent() -> str:
    """The agent on whose behalf a disclosure runs now, for operations that show an agent its own. Misuse elsewhere."""
    try:
        return _asking.get()
    except LookupError:
        raise Misuse("no agent asks here") from None
