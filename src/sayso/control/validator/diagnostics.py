"""Every diagnostic a trace or a pack can get: its phase and what it says (OAP-027).

The names are the specification's. A later validator of 0.1 adds a code only together with a new unit behind a
capability key, so a trace that is accepted today stays accepted (OAP-030).
"""

from __future__ import annotations

from enum import Enum

import msgspec

__all__ = ("DIAGNOSTICS", "MOST_KEPT", "Finding", "Findings", "Kind", "Phase")


class Phase(Enum):
    """Where a fault is found; a trace reports the first phase that found any."""

    LOAD = "load"
    """A pack was refused; no trace was read."""
    DECODE = "decode"
    SCHEMA = "schema"
    SEMANTIC = "semantic"


class Kind(msgspec.Struct, frozen=True):
    """One row: a code, the phase it belongs to, and what it means."""

    code: str
    phase: Phase
    meaning: str


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fault: where it is and why. `index` counts envelopes from 0, `line` lines from 1 where there were any."""

    phase: str
    code: str
    message: str
    index: int | None = None
    line: int | None = None
    envelope_id: str | None = None
    place: str | None = None
    """The member, as a path from the envelope, or the position in the bytes."""


MOST_KEPT = 20_000
"""How many semantic findings are held until the trace is over and they are put in order."""


class Findings:
    """The findings of one phase, up to a bound; how many more there were is counted."""

    def __init__(self, most: int) -> None:
        self.kept: list[Finding] = []
        self.left_out = 0
        self._most = most

    def add(self, finding: Finding) -> None:
        """One more."""
        if len(self.kept) < self._most:
            self.kept.append(finding)
        else:
            self.left_out += 1

    def __len__(self) -> int:
        return len(self.kept)


def _rows(phase: Phase, *rows: tuple[str, str]) -> dict[str, Kind]:
    return {code: Kind(code, phase, meaning) for code, meaning in rows}


DIAGNOSTICS: dict[str, Kind] = {
    **_rows(
        Phase.DECODE,
        ("malformed_json", "the bytes are not JSON that every reader reads alike"),
        ("duplicate_key", "an object has a member twice"),
    ),
    **_rows(Phase.SCHEMA, ("schema_invalid", "an envelope does not have the shape of its type")),
    **_rows(
        Phase.SEMANTIC,
        # Requests, scope and order.
        ("duplicate_envelope_id", "two envelopes have one id"),
        ("duplicate_response", "a request was answered twice"),
        ("missing_response", "a request was never answered"),
        ("unmatched_response", "an answer names no open request, or one it cannot answer"),
        ("scope_mismatch", "ids that speak of one thing differ"),
        ("sequence_gap", "a number was left out"),
        ("sequence_regression", "a number came again"),
        # Runs and the queue.
        ("illegal_run_transition", "a run, steer or compaction did what it could not do then"),
        ("missing_run_started", "a run spoke, or ended, before it started"),
        ("missing_run_terminal", "a run never ended"),
        ("duplicate_run_terminal", "a run ended twice"),
        ("event_after_terminal", "a run spoke after its end"),
        ("cancel_not_settled", "an accepted cancel was never settled"),
        ("queue_order_violation", "a run spoke while one admitted before it had not ended"),
        ("queue_limit_exceeded", "a bound of the queue was broken, or claimed where it was not reached"),
        ("premature_session_mutation", "a reservation's model became the session's before the run began"),
        ("session_state_mismatch", "a state contradicts the conversation or itself"),
        ("undeclared_replay_gap", "a gap in the replay is not declared whole"),
        # Tools and interactions.
        ("unmatched_tool", "an event speaks of a call nobody requested"),
        ("illegal_tool_transition", "a call did what it could not do then"),
        ("pending_tool_at_terminal", "a run ended with a call open"),
        ("pending_interaction_at_terminal", "a run ended with an interaction open"),
        ("unmatched_interaction", "an answer speaks of an interaction that is not open"),
        ("duplicate_interaction", "an interaction was asked or answered twice"),
        ("wrong_interaction_responder", "somebody else than the declared responder answered"),
        ("resolution_payload_mismatch", "an event does not say what the accepted answer said"),
        ("wrong_tool_owner", "a tool is owned by, or handed to, the wrong participant"),
        # Capabilities.
        ("unavailable_capability", "a feature was used that is not advertised, or not refused as such"),
        ("degraded_without_optin", "a degraded feature was used without leave, or not refused as such"),
        ("unhonoured_capability", "an advertised feature was refused without a reason the protocol knows"),
        ("stale_capability_revision", "capabilities of another revision were used, or one revision has two meanings"),
        ("undisclosed_queue_limit", "a queue is advertised without bounds that allow one"),
        ("undisclosed_attach_modes", "attachment is advertised without the mode an open can elect"),
        ("undisclosed_attach_limit", "an attachment within every disclosed limit was refused"),
        ("undisclosed_provide_limit", "provided tools within every disclosed limit were refused"),
        ("undisclosed_selection_scope", "a selection is advertised without saying how long it lasts"),
        # Run controls.
        ("unsatisfiable_control", "a control that cannot be honoured was admitted, or one that can was refused"),
        ("unapplied_control", "an admitted control was not applied"),
        # Catalogs.
        ("duplicate_tool_name", "a catalog has a tool twice"),
        ("duplicate_tool_source", "a catalog has a source twice"),
        ("unmatched_tool_source", "a source is named that is not declared"),
        ("unattributed_call", "a call does not name the source its catalog records"),
        ("catalog_mismatch", "a catalog lost or changed what the session was opened with"),
        ("attachment_field_in_catalog", "a published source carries what only an attachment may"),
        ("duplicate_model_id", "a catalog has a model twice"),
        ("ambiguous_default_model", "a catalog has two defaults"),
        ("model_not_in_catalog", "a model was admitted that is not listed, or denied though it is"),
        ("unannounced_catalog_change", "a catalog changed within one revision"),
        ("duplicate_provider", "a provider's id stands for two"),
        ("unmatched_provider", "a model names a provider that is not declared"),
        # Logins.
        ("auth_flow_order", "a login flow did what it could not do then"),
        ("missing_auth_terminal", "a login flow never ended"),
        # Model providers.
        ("terminal_not_assembly", "a final message is not its ended parts"),
        ("credential_in_headers", "a header carries a credential"),
        ("credential_in_trace", "an envelope carries a credential's value"),
    ),
    **_rows(
        Phase.LOAD,
        ("pack_unprefixed_name", "a name has no prefix: those belong to the specification"),
        ("pack_foreign_prefix", "a name lies beneath another prefix than the pack's id"),
        ("pack_id_collision", "two packs have one id, or one lies beneath the other"),
        ("pack_type_duplicate", "a type is declared twice"),
        ("pack_role_undeclared", "a type does not say whether it asks, answers or tells"),
        ("pack_ungated_type", "a request, event or member is neither gated nor declared ungated"),
        ("pack_response_gated", "a response has a gate of its own"),
        ("pack_reply_target_unknown", "a response answers no request of the pack"),
        ("pack_reply_target_ambiguous", "two responses answer one request"),
        ("pack_refusal_undeclared", "a request may be refused with a code the pack does not declare"),
        ("pack_branch_unpinned", "a branch does not pin its type to one value"),
        ("pack_branch_undeclared_type", "a branch is pinned to a type it was not declared for"),
        ("pack_member_target_unknown", "a member is added to a type the core does not have"),
        ("pack_member_duplicate", "a member is added twice"),
        ("pack_restates_core_member", "a member is added that the core type has"),
        ("pack_external_ref", "a reference leads out of the pack, the core and its dependencies"),
        ("pack_schema_path_escape", "a path leads out of the pack's folder, or to no schema in it"),
        ("pack_dependency_missing", "a dependency of exactly that id and version is not loaded"),
        ("pack_fixture_claims_core_unit", "a fixture of the pack claims a unit of the core"),
        ("ext_claim_without_pack", "a fixture claims a pack that is not loaded at that version"),
    ),
}
