"""Runs acts: classify, decode, ask for consent, receipt the intent, run, receipt the outcome.

The kernel is re-entrant and holds nothing between calls: when consent is missing it answers with the question, and is
called again with the answers so far. Waiting for the person is the caller's row, never a coroutine in here.

What is receipted (GTW-030, GTW-050, GTW-051): a disclosure costs one commit, its leaf durable before the answer. An
execution is chained step by step: `consent.asked` with the hash of the text, `act.started` with the evidence before
anything outside is touched, then `act.done` or `act.failed`; or `consent.refused` or `act.refused` where it ends
earlier. Every receipt names the act and its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.governance.acts import Act, ActClass, Operation, Registry
from sayso.governance.consent import Answer, Consent, ConsentSource, Question, decide
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.proof.hashes import sha256_b64u

__all__ = ("DONE", "FAILED", "ActCall", "Asks", "Done", "Kernel", "run_operation")

ASKED = declare("consent.asked", "A person was asked; the hash of the text shown and of the document it came from.")
SAID_NO = declare("consent.refused", "The person said no, and the act did not run.")
STARTED = declare("act.started", "An act began, on the evidence named; nothing outside was touched before this.")
DONE = declare("act.done", "An act ended; the hash of what it answered.")
FAILED = declare("act.failed", "An act began and did not succeed; the code says why.")
REFUSED = declare("act.refused", "An act did not run; the code says why.")

PEER_UNREACHABLE = "peer_unreachable"
_ARTICLES = {ActClass.DISCLOSURE: "I", ActClass.EXECUTION: "II"}
_LONGEST_NAME = 64


class ActCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request to act. `actor` is who asks (an agent's id); `call_id` names this call in every receipt of it.

    `door` and `scopes` tell through which door an outside agent came and what its key allows; the governor asks the
    constitution with them, and without them it answers no.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    actor: str
    door: str = ""
    scopes: frozenset[str] = frozenset()


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The act ran, or was refused: `result` is what the caller may see."""

    result: Mapping[str, Any]
    is_error: bool


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """The act waits for a person."""

    question: Question


class Kernel:
    """One house's way to act."""

    def __init__(self, registry: Registry, sources: Sequence[ConsentSource], ledger: Ledger) -> None:
        self._registry = registry
        self._sources = tuple(sources)
        self._ledger = ledger

    async def call(self, call: ActCall, answers: Sequence[Answer] = ()) -> Done | Asks:
        """Runs the call as far as it can go with the answers given. Refusals come back as `Done(is_error=True)`."""
        act: Act | None = None
        try:
            act, operation = self._registry.find(call.name)
            arguments = act.decode(call.arguments)
            if act.act_class is ActClass.DISCLOSURE:
                return await self._disclose(call, act, operation, arguments)
            consent = await self._consent(act, arguments, answers)
            if isinstance(consent, Question):
                return await self._ask(call, act, consent)
            await self._ledger.append(_draft(STARTED, call, act, inputs=call.arguments, consent=consent))
            return await self._execute(call, act, operation, arguments, consent)
        except Refused as refused:
            said_no = bool(answers) and not answers[-1].granted
            facts = {"code": refused.refusal.code}
            await self._ledger.append(
                _draft(SAID_NO if said_no else REFUSED, call, act, inputs=call.arguments, facts=facts)
            )
            return Done(result=_refusal_of(refused.refusal), is_error=True)

    async def _consent(self, act: Act, arguments: msgspec.Struct, answers: Sequence[Answer]) -> Consent | Question:
        found: list[Consent] = []
        for source in self._sources:
            answer = await source.consent(act.name, arguments, answers)
            if isinstance(answer, Question):
                return answer
            if answer is not None:
                found.append(answer)
        return decide(act, found)

    async def _ask(self, call: ActCall, act: Act, question: Question) -> Asks:
        facts = {
            "kind": question.kind,
            "text_sha256": sha256_b64u(question.text.encode()),
            "document_sha256": sha256_b64u(question.document),
        }
        await self._ledger.append(_draft(ASKED, call, act, facts=facts))
        return Asks(question=question)

    async def _disclose(self, call: ActCall, act: Act, operation: Operation, arguments: msgspec.Struct) -> Done:
        result, code = await run_operation(operation, arguments, None)
        kind, facts = (DONE, {}) if code is None else (FAILED, {"code": code})
        await self._ledger.disclose(_draft(kind, call, act, inputs=call.arguments, output=result, facts=facts))
        return Done(result=result, is_error=code is not None)

    async def _execute(
        self, call: ActCall, act: Act, operation: Operation, arguments: msgspec.Struct, consent: Consent
    ) -> Done | Asks:
        result, code = await run_operation(operation, arguments, consent)
        if isinstance(result, Question):
            return await self._ask(call, act, result)
        kind, facts = (DONE, {}) if code is None else (FAILED, {"code": code})
        await self._ledger.append(_draft(kind, call, act, output=result, consent=consent, facts=facts))
        return Done(result=result, is_error=code is not None)


async def run_operation(
    operation: Operation, arguments: msgspec.Struct, consent: Consent | None
) -> tuple[Any, str | None]:
    """What the operation answers, a question among them, and the code of what stopped it, if anything did: the answer
    is then `{"refused": ...}`, with `by` where another party said no or nothing.
    """
    try:
        return await operation(arguments, consent), None
    except Refused as refused:
        return _refusal_of(refused.refusal), refused.refusal.code
    except PeerRefused as peer:
        return {**_refusal_of(peer.refusal), "by": peer.peer}, peer.refusal.code
    except PeerUnreachable as peer:
        refusal = Refusal(code=PEER_UNREACHABLE, message=str(peer), help="Try again later.")
        return {**_refusal_of(refusal), "by": peer.peer}, PEER_UNREACHABLE


def _refusal_of(refusal: Refusal) -> dict[str, Any]:
    return {"refused": msgspec.to_builtins(refusal)}


def _draft(
    kind: str,
    call: ActCall,
    act: Act | None,
    *,
    inputs: Mapping[str, Any] | None = None,
    output: Mapping[str, Any] | None = None,
    consent: Consent | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Draft:
    """A receipt of one step. Payloads and words never go in: only their hashes do."""
    body = {"act": call.name[:_LONGEST_NAME], "call": call.call_id, **(facts or {})}
    links: tuple[Link, ...] = ()
    if act is not None:
        body["class"] = act.act_class.value
    if consent is not None:
        body |= {"evidence": int(consent.evidence), "mode": consent.mode}
        if consent.document_sha256 is not None:
            links = (Link(role="consent", sha256=consent.document_sha256),)
    return Draft(
        kind=kind,
        actor=call.actor,
        article=None if act is None else _ARTICLES[act.act_class],
        inputs_sha256=None if inputs is None else sha256_b64u(strictjson.encode(inputs)),
        output_sha256=None if output is None else sha256_b64u(strictjson.encode(output)),
        links=links,
        body=body,
    )
