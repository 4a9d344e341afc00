"""What the specification prints from the code: registry, texts, zones, tools, schemas (docs/spec/scheduling.md).

Each function gives the block between its marks, byte for byte; a test compares, and the documents' builder writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sayso.scheduling.terms.acceptance import AcceptanceClaims, AnswerDraft
from sayso.scheduling.terms.attestation import AttestationClaims
from sayso.scheduling.terms.availability import AvailabilityAnswer, AvailabilityRequest
from sayso.scheduling.terms.booking import CancelRequest
from sayso.scheduling.terms.change import AbandonRequest, AcceptRequest, ChangeRequest, ChangeView
from sayso.scheduling.terms.claim import ClaimAnswer, ClaimAsk, ClaimClaims, ClaimRequestClaims
from sayso.scheduling.terms.codes import ROWS
from sayso.scheduling.terms.delegation import DelegationClaims
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.draft import InvitationDraft, LimitsDraft, ManagementDraft
from sayso.scheduling.terms.events import EventClaims
from sayso.scheduling.terms.hold import ConfirmRequest, HoldRequest, HoldView, ReleaseRequest, Settled
from sayso.scheduling.terms.mandate import MandateClaims
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.operator import OperatorDocument
from sayso.scheduling.terms.participant import AnswerInvitationRequest, InvitationView
from sayso.scheduling.terms.receipt import ReceiptClaims
from sayso.scheduling.terms.reconfirm import ReconfirmRequest
from sayso.scheduling.terms.refusal import RefusalBody
from sayso.scheduling.terms.rule import KeepRuleRequest, KeptRule, KeptRules, RuleClaims, RuleDraft, WithdrawRuleRequest
from sayso.scheduling.terms.shared_limits import SharedLimitsDraft
from sayso.scheduling.terms.spoken import SPOKEN_ZONES
from sayso.scheduling.terms.staff import (
    AnswerRequest,
    CallOffRequest,
    DeclineRequest,
    DeskBooking,
    DeskBookings,
    MarkRequest,
    ProposeRequest,
)
from sayso.scheduling.terms.status import StatusAnswer, StatusClaims
from sayso.scheduling.terms.waitlist import JoinRequest, LeaveRequest, WaitlistEntry
from sayso.scheduling.terms.walk_in import GiveUpWalkInRequest, WalkInRequest, WalkInView
from sayso.scheduling.tools.acts import ACTS

__all__ = ("DOCUMENTS", "PRINTED", "SCHEMA_ID", "schema_document")

SCHEMA_ID = "https://sayso.example/schema/schcp/0.4"
_ANCHOR = r"$(?!\n)"

DOCUMENTS: tuple[type[msgspec.Struct], ...] = (
    Discovery,
    OperatorDocument,
    AvailabilityRequest,
    AvailabilityAnswer,
    HoldRequest,
    HoldView,
    ConfirmRequest,
    ReleaseRequest,
    Settled,
    CancelRequest,
    ReconfirmRequest,
    ChangeRequest,
    ChangeView,
    AcceptRequest,
    AbandonRequest,
    JoinRequest,
    WaitlistEntry,
    LeaveRequest,
    WalkInRequest,
    GiveUpWalkInRequest,
    WalkInView,
    AnswerInvitationRequest,
    InvitationView,
    AnswerRequest,
    DeclineRequest,
    CallOffRequest,
    MarkRequest,
    ProposeRequest,
    DeskBooking,
    DeskBookings,
    KeepRuleRequest,
    WithdrawRuleRequest,
    KeptRule,
    KeptRules,
    RefusalBody,
    MandateClaims,
    DelegationClaims,
    StatusAnswer,
    StatusClaims,
    ClaimAsk,
    ClaimRequestClaims,
    ClaimAnswer,
    ClaimClaims,
    AttestationClaims,
    RuleClaims,
    AcceptanceClaims,
    OfferClaims,
    ReceiptClaims,
    EventClaims,
    LimitsDraft,
    ManagementDraft,
    SharedLimitsDraft,
    InvitationDraft,
    RuleDraft,
    AnswerDraft,
)
"""Every document of the protocol, in the order of the text."""


def schema_document() -> dict[str, Any]:
    """One JSON Schema with a definition for each document and each part, printed from the types that decode them."""
    _, parts = msgspec.json.schema_components(DOCUMENTS, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "$defs": {name: _plain(parts[name]) for name in sorted(parts)},
    }


def _plain(value: Any) -> Any:
    """Without the guard that only Python's `$` needs."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.replace(_ANCHOR, "$") if isinstance(value, str) else value


def _schemas() -> str:
    document = schema_document()
    lines = [
        "```json",
        f'{{"$schema": "{document["$schema"]}", "$id": "{document["$id"]}", "$defs": {{',
    ]
    parts = [f'"{name}": {_json(part)}' for name, part in document["$defs"].items()]
    lines.append(",\n".join(parts))
    lines.append("}}")
    lines.append("```")
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _codes() -> str:
    rows = ["| reason | code | status | stored | what would help | section |", "|---|---|---|---|---|---|"]
    rows += [
        f"| `{row.reason}` | {row.code} | {row.status or '-'} | {'yes' if row.stored else 'no'} | {row.help} "
        f"| {row.section} |"
        for row in ROWS
    ]
    return "\n".join(rows) + "\n"


def _zones() -> str:
    names: dict[str, list[str]] = {}
    for zone, name in SPOKEN_ZONES.items():
        names.setdefault(name, []).append(f"`{zone}`")
    rows = ["| said | zones |", "|---|---|"]
    rows += [f"| {name} | {', '.join(zones)} |" for name, zones in names.items()]
    return "\n".join(rows) + "\n"


def _tools() -> str:
    parts = []
    for act in ACTS:
        schema = act.input_schema()
        shape = {name: schema[name] for name in ("properties", "required", "$defs") if name in schema}
        parts.append(
            f"**`{act.name}`** ({act.act_class.value}). {act.description}\n\n```json\n{_json(_plain(shape))}\n```\n"
        )
    return "\n".join(parts)


PRINTED: Mapping[str, Callable[[], str]] = {
    "schcp-codes": _codes,
    "schcp-zones": _zones,
    "schcp-tools": _tools,
    "schcp-schemas": _schemas,
}
"""Block name to what stands in it."""
