"""The semantic phase of model-provider-core: one inference, and what no envelope may carry (OAP-028, OAP-130..132).

An inference whose create request stands in the trace is whole, and judged by the machine of `control.provider` from its
answer to its terminal. One that the trace joined under way is judged by what it shows: each envelope alone, and, where
its start stands there, its final message against the parts that ended.
"""

from __future__ import annotations

from typing import Any

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import ContentPart, ReasoningPart, TextPart, ToolCallPart
from sayso.control.protocol.payloads.inference import PartEnded
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.types import PROVIDER_TYPES, Kind
from sayso.control.provider.machine import Inference, observe
from sayso.control.provider.machine import Phase as InferencePhase
from sayso.control.validator.diagnostics import MOST_KEPT, Finding, Findings, Phase
from sayso.core.refusal import Refused

__all__ = ("ProviderJudge",)

_HEADERS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key"))
_CREATE, _CREATED = "inference.create.request", "inference.create.response"
_TERMINALS = ("inference.completed", "inference.failed")
_CHANNEL = "provider.credential.grant.channel"
_CODES = {
    "unmatched_response": "unmatched_response",
    "scope_mismatch": "scope_mismatch",
    "terminal_not_assembly": "terminal_not_assembly",
    "illegal_part_transition": "illegal_run_transition",
}
Position = tuple[int, int | None, str]


class ProviderJudge:
    """Hears one trace."""

    def __init__(self) -> None:
        self.findings = Findings(MOST_KEPT)
        self._ids: set[str] = set()
        self._asked: dict[str, tuple[ProviderEnvelope[Wire], Position]] = {}
        self._answered: set[str] = set()
        self._excused: set[str] = set()
        self._whole: dict[str, tuple[Inference, Position]] = {}
        self._over: dict[str, bool] = {}
        self._parts: dict[str, dict[int, ContentPart]] = {}

    def hear(self, index: int, line: int | None, envelope: ProviderEnvelope[Wire]) -> None:
        """One envelope, in its place."""
        here = (index, line, envelope.id)
        is_leaking = self._judge_secrets(envelope, here)
        if envelope.id in self._ids:
            self._note(here, "duplicate_envelope_id", "an envelope has an id of its own")
            return
        self._ids.add(envelope.id)
        kind = PROVIDER_TYPES[envelope.type].kind
        if kind is Kind.REQUEST:
            self._asked[envelope.id] = (envelope, here)
            if is_leaking:
                # What should never have been sent is owed no answer.
                self._excused.add(envelope.id)
        elif kind is Kind.RESPONSE:
            self._answer(envelope, here)
        else:
            self._event(envelope, here)

    def conclude(self) -> None:
        """The trace is over: what is still owed is noted where it began."""
        for name, (_, here) in self._asked.items():
            if name not in self._excused:
                self._note(here, "missing_response", "a request was never answered")
        for state, here in self._whole.values():
            if not state.is_settled:
                self._note(here, "missing_run_terminal", "an accepted inference never ended")

    # --- secrets -----------------------------------------------------------------------------------------------------

    def _judge_secrets(self, envelope: ProviderEnvelope[Wire], here: Position) -> bool:
        payload: Any = envelope.payload
        before = len(self.findings)
        if envelope.type == "provider.credential.grant.request" and payload.value is not UNSET:
            self._note(here, "credential_in_trace", "a grant names a nonce; its value travels beside the trace")
        held = [payload, *(getattr(payload, "providers", None) or ())]
        for part in held:
            headers = getattr(part, "headers", UNSET)
            for name, value in () if headers is UNSET or headers is None else headers.items():
                if name.strip().lower() in _HEADERS or value.lstrip().lower().startswith("bearer "):
                    self._note(here, "credential_in_headers", f"the header `{name}` carries a credential")
        return len(self.findings) > before

    # --- requests ----------------------------------------------------------------------------------------------------

    def _answer(self, envelope: ProviderEnvelope[Wire], here: Position) -> None:
        name = str(envelope.in_reply_to)
        asked, asked_at = self._asked.get(name, (None, here))
        if asked is None:
            if name in self._answered:
                self._note(here, "duplicate_response", "a request is answered once")
            elif name in self._ids:
                self._note(here, "unmatched_response", "only a request is answered")
            return
        if envelope.type == _CHANNEL:
            return
        del self._asked[name]
        self._answered.add(name)
        if envelope.type != PROVIDER_TYPES[asked.type].answer:
            self._note(here, "unmatched_response", f"`{asked.type}` is not answered by `{envelope.type}`")
        elif asked.inference_id is not UNSET and envelope.inference_id != asked.inference_id:
            self._note(here, "scope_mismatch", "the answer is of another inference")
        elif envelope.type == _CREATED and envelope.inference_id is not UNSET:
            self._whole[envelope.inference_id] = (observe(Inference(request_id=name), envelope), asked_at)

    # --- one inference -----------------------------------------------------------------------------------------------

    def _event(self, envelope: ProviderEnvelope[Wire], here: Position) -> None:
        name = str(envelope.inference_id)
        if name in self._over:
            is_terminal = envelope.type in _TERMINALS
            code = "duplicate_run_terminal" if is_terminal else "event_after_terminal"
            if self._over[name]:
                self._note(here, code, "the inference has ended")
            return
        if name not in self._whole:
            self._join(name, envelope, here)
            return
        state, began = self._whole[name]
        try:
            state = observe(state, envelope)
        except Refused as refused:
            self._note(here, self._code_of(state, envelope, str(refused.refusal.reason)), refused.refusal.message)
            # What follows a fault would only be told from it; the inference is heard to its end in silence.
            del self._whole[name]
            self._over[name] = envelope.type in _TERMINALS
            return
        if state.is_settled:
            del self._whole[name]
            self._over[name] = True
        else:
            self._whole[name] = (state, began)

    def _code_of(self, state: Inference, envelope: ProviderEnvelope[Wire], reason: str) -> str:
        if reason == "sequence_gap":
            return "sequence_regression" if int(envelope.sequence or 0) <= state.last else "sequence_gap"
        if reason == "illegal_transition":
            return "missing_run_started" if state.phase is InferencePhase.ACCEPTED else "illegal_run_transition"
        return _CODES.get(reason, "illegal_run_transition")

    def _join(self, name: str, envelope: ProviderEnvelope[Wire], here: Position) -> None:
        """An inference whose beginning is elsewhere: what ended, and what the end made of it."""
        payload: Any = envelope.payload
        if envelope.type == "inference.started":
            self._parts[name] = {}
        elif isinstance(payload, PartEnded) and name in self._parts:
            self._parts[name][payload.part_index] = _part(payload)
        elif envelope.type in _TERMINALS:
            parts = self._parts.pop(name, None)
            if envelope.type == "inference.completed" and parts and not _is_assembly(payload.message.content, parts):
                self._note(here, "terminal_not_assembly", "the final message is not the parts that ended")
            self._over[name] = True

    def _note(self, here: Position, code: str, message: str) -> None:
        index, line, name = here
        finding = Finding(
            phase=Phase.SEMANTIC.value, code=code, message=message, index=index, line=line, envelope_id=name
        )
        self.findings.add(finding)


def _is_assembly(content: Any, parts: dict[int, ContentPart]) -> bool:
    whole = (TextPart(text=content),) if isinstance(content, str) else content
    return bool(whole == tuple(part for _, part in sorted(parts.items())))


def _part(payload: PartEnded) -> ContentPart:
    if payload.tool_call is not UNSET:
        call = payload.tool_call
        return ToolCallPart(
            tool_call_id=call.tool_call_id, name=call.name, arguments_json=call.arguments_json, carry=payload.carry
        )
    text = "" if payload.text is UNSET else payload.text
    if payload.part_kind == "reasoning":
        return ReasoningPart(reasoning=text, carry=payload.carry)
    return TextPart(text=text)
