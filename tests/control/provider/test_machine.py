"""One inference: the order of its envelopes, and the message that must be its parts."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sayso.control.protocol.envelope import ProviderEnvelope, convert_provider_envelope
from sayso.control.protocol.payloads.content import TextPart
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.provider.machine import SETTLED, TABLE, Inference, Move, Phase, assembly, observe
from sayso.core.refusal import Refused


def said(type_: str, payload: dict[str, Any], **head: Any) -> ProviderEnvelope[Wire]:
    return convert_provider_envelope(
        {
            "protocol": "open-agent-protocol",
            "version": "0.1",
            "profile": "open-agent-protocol.model-provider-core",
            "type": type_,
            "id": f"e{head.get('sequence', 0)}",
            "payload": payload,
            **head,
        }
    )


def told(sequence: int, type_: str, **payload: Any) -> ProviderEnvelope[Wire]:
    return said(f"inference.{type_}", payload, inference_id="i1", sequence=sequence)


ACCEPT = said(
    "inference.create.response",
    {"accepted": True, "honoured": {"include_snapshot": "never"}},
    in_reply_to="q1",
    inference_id="i1",
)
REFUSE = said(
    "inference.create.response",
    {"accepted": False, "error": {"code": "model_not_found", "message": "no"}},
    in_reply_to="q1",
)
BEGUN = [ACCEPT, told(1, "started", model_ref="m")]
TEXT = [
    told(2, "part.started", part_index=0, part_kind="text"),
    told(3, "part.delta", part_index=0, delta="hell"),
    told(4, "part.ended", part_index=0, part_kind="text", text="hello"),
]


def complete(sequence: int, *content: dict[str, Any], reason: str = "stop") -> ProviderEnvelope[Wire]:
    message = {"role": "assistant", "content": list(content) or ""}
    return told(sequence, "completed", message=message, stop_reason=reason)


def hear(*envelopes: ProviderEnvelope[Wire]) -> Inference:
    state = Inference(request_id="q1")
    for envelope in envelopes:
        state = observe(state, envelope)
    return state


def reason(*envelopes: ProviderEnvelope[Wire]) -> str | None:
    state = hear(*envelopes[:-1])
    with pytest.raises(Refused) as refused:
        observe(state, envelopes[-1])
    assert refused.value.refusal.code == "protocol_violation"
    return refused.value.refusal.reason


HELLO = {"type": "text", "text": "hello"}


@pytest.mark.req("OAP-131")
def test_the_final_message_is_the_ended_parts() -> None:
    """What ended replaces what the deltas added up to."""
    settled = hear(*BEGUN, *TEXT, complete(5, HELLO))
    assert (settled.phase, settled.is_settled, assembly(settled)) == (Phase.COMPLETED, True, (TextPart(text="hello"),))


@pytest.mark.req("OAP-131")
def test_a_final_message_that_is_not_its_parts_is_refused() -> None:
    """Dropping a part, changing one, or inventing one."""
    for content in ([], [{"type": "text", "text": "hell"}], [HELLO, HELLO]):
        assert reason(*BEGUN, *TEXT, complete(5, *content)) == "terminal_not_assembly"


@pytest.mark.req("OAP-131", "OAP-132")
def test_parts_that_never_ended_are_lost_with_an_aborted_inference() -> None:
    """Partial arguments never reach the final message."""
    opened = told(5, "part.started", part_index=1, part_kind="tool_call", tool_call_id="t1", name="look")
    settled = hear(*BEGUN, *TEXT, opened, complete(6, HELLO, reason="aborted"))
    assert settled.phase is Phase.COMPLETED


@pytest.mark.req("OAP-130")
def test_a_unary_answer_brings_its_message_whole(shared: Path) -> None:
    """The upstream trace that streams no part."""
    path = shared / "oap" / "fixtures" / "provider" / "valid" / "unary-completion.json"
    state = Inference(request_id="c0")
    for value in json.loads(path.read_text()):
        state = observe(state, convert_provider_envelope(value))
    assert state.phase is Phase.COMPLETED


@pytest.mark.req("OAP-130")
def test_a_refused_create_is_the_end() -> None:
    """It allocates nothing and owes no terminal."""
    assert hear(REFUSE).is_settled
    assert reason(REFUSE, told(1, "started", model_ref="m")) == "illegal_transition"


@pytest.mark.req("OAP-130", "OAP-131")
@pytest.mark.parametrize(
    ("envelopes", "why"),
    [
        ([told(1, "started", model_ref="m")], "illegal_transition"),
        ([ACCEPT, ACCEPT], "illegal_transition"),
        ([*BEGUN, told(3, "part.started", part_index=0, part_kind="text")], "sequence_gap"),
        ([*BEGUN, told(1, "part.started", part_index=0, part_kind="text")], "sequence_gap"),
        ([*BEGUN, told(2, "part.delta", part_index=0, delta="x")], "illegal_part_transition"),
        ([*BEGUN, *TEXT, told(5, "part.delta", part_index=0, delta="x")], "illegal_part_transition"),
        ([*BEGUN, *TEXT, told(5, "part.started", part_index=0, part_kind="text")], "illegal_part_transition"),
        (
            [*BEGUN, TEXT[0], told(3, "part.ended", part_index=0, part_kind="reasoning", text="x")],
            "illegal_part_transition",
        ),
        ([*BEGUN, *TEXT, complete(5, HELLO), complete(6, HELLO)], "illegal_transition"),
        (
            [ACCEPT, said("inference.started", {"model_ref": "m"}, inference_id="i2", sequence=1)],
            "scope_mismatch",
        ),
        (
            [
                said(
                    "inference.create.response",
                    {"accepted": True, "honoured": {"include_snapshot": "never"}},
                    in_reply_to="q9",
                    inference_id="i1",
                )
            ],
            "unmatched_response",
        ),
        (
            [said("inference.cancel.response", {"accepted": True}, in_reply_to="q1", inference_id="i1")],
            "illegal_transition",
        ),
    ],
)
def test_an_envelope_out_of_its_order_is_refused(envelopes: list[ProviderEnvelope[Wire]], why: str) -> None:
    """Before the create, twice, skipped, of another inference, or inside a part that is not open."""
    assert reason(*envelopes) == why


def test_a_tool_call_ends_under_the_name_it_started_with() -> None:
    """Else a model could be shown one call and made to pay for another."""
    opened = told(2, "part.started", part_index=0, part_kind="tool_call", tool_call_id="t1", name="look")
    call = {"tool_call_id": "t1", "name": "book", "arguments_json": {}}
    ended = told(3, "part.ended", part_index=0, part_kind="tool_call", tool_call=call)
    assert reason(*BEGUN, opened, ended) == "illegal_part_transition"


def test_settled_inferences_are_left_by_nothing_and_every_phase_is_reached() -> None:
    """The table is complete."""
    assert [pair for pair in product(SETTLED, Move) if pair in TABLE] == []
    assert {*TABLE.values(), Phase.ASKED} == set(Phase)
    assert {move for _, move in TABLE} == set(Move)
