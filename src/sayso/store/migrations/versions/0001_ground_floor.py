"""The ground floor: every table of the house."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    _store()
    _ledger()
    _governance()
    _gateway()
    _gateway_a2a()
    _gateway_acp()
    _gateway_mcp()
    _gateway_tasks()
    _knowledge()
    _console()
    _scheduling()
    _scheduling_guest()
    _scheduling_keyapp()
    _knowledge_search()
    if op.get_bind().dialect.name == "postgresql":
        _second_line()


def _store() -> None:
    op.create_table(
        "buckets",
        Column("key", Text(), nullable=False),
        Column("tat", BigInteger(), nullable=False),
        PrimaryKeyConstraint("key", name=op.f("pk_buckets")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_buckets_tat"), "buckets", ["tat"], unique=False)
    op.create_table(
        "nonce_scopes",
        Column("scope", Text(), nullable=False),
        Column("kept", Integer(), nullable=False),
        PrimaryKeyConstraint("scope", name=op.f("pk_nonce_scopes")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "nonces",
        Column("scope", Text(), nullable=False),
        Column("nonce", Text(), nullable=False),
        Column("keep_until", BigInteger(), nullable=False),
        PrimaryKeyConstraint("scope", "nonce", name=op.f("pk_nonces")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_nonces_keep_until"), "nonces", ["keep_until"], unique=False)
    op.create_index(op.f("ix_nonces_scope_keep_until"), "nonces", ["scope", "keep_until"], unique=False)
    op.create_table(
        "outbox",
        Column("topic", Text(), nullable=False),
        Column("key", Text(), nullable=False),
        Column("payload", LargeBinary(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("due", BigInteger(), nullable=False),
        Column("attempts", Integer(), nullable=False),
        Column("worker", Text(), nullable=True),
        Column("settled_at", BigInteger(), nullable=True),
        Column("error", Text(), nullable=True),
        PrimaryKeyConstraint("topic", "key", name=op.f("pk_outbox")),
    )
    op.create_index(op.f("ix_outbox_settled_at"), "outbox", ["settled_at"], unique=False)
    op.create_index(op.f("ix_outbox_topic_state_due"), "outbox", ["topic", "state", "due"], unique=False)
    op.create_table(
        "replay_slots",
        Column("scope", Text(), nullable=False),
        Column("fingerprint", LargeBinary(), nullable=False),
        Column("keep_until", BigInteger(), nullable=False),
        Column("status", Integer(), nullable=True),
        Column("body", LargeBinary(), nullable=True),
        PrimaryKeyConstraint("scope", name=op.f("pk_replay_slots")),
    )
    op.create_index(op.f("ix_replay_slots_keep_until"), "replay_slots", ["keep_until"], unique=False)


def _ledger() -> None:
    op.create_table(
        "ledger_batch",
        Column("log", Text(), nullable=False),
        Column("first", BigInteger(), nullable=False),
        Column("size", BigInteger(), nullable=False),
        Column("seq", BigInteger(), nullable=False),
        PrimaryKeyConstraint("log", "first", name=op.f("pk_ledger_batch")),
        UniqueConstraint("log", "seq", name=op.f("uq_ledger_batch_log_seq")),
    )
    op.create_table(
        "ledger_checkpoint",
        Column("log", Text(), nullable=False),
        Column("size", BigInteger(), nullable=False),
        Column("note", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("log", "size", name=op.f("pk_ledger_checkpoint")),
    )
    op.create_table(
        "ledger_evidence",
        Column("log", Text(), nullable=False),
        Column("sha256", LargeBinary(), nullable=False),
        Column("media_type", Text(), nullable=False),
        Column("typ", Text(), nullable=True),
        Column("verified_by", LargeBinary(), nullable=True),
        Column("data", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("log", "sha256", name=op.f("pk_ledger_evidence")),
    )
    op.create_table(
        "ledger_head",
        Column("log", Text(), nullable=False),
        Column("size", BigInteger(), nullable=False),
        Column("head", LargeBinary(), nullable=False),
        Column("frontier", LargeBinary(), nullable=False),
        Column("leaves", BigInteger(), nullable=False),
        Column("sealed", BigInteger(), nullable=False),
        Column("waiting_since", BigInteger(), nullable=True),
        PrimaryKeyConstraint("log", name=op.f("pk_ledger_head")),
    )
    op.create_table(
        "ledger_leaf",
        Column("log", Text(), nullable=False),
        Column("number", BigInteger(), nullable=False),
        Column("data", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("log", "number", name=op.f("pk_ledger_leaf")),
    )
    op.create_table(
        "ledger_record",
        Column("log", Text(), nullable=False),
        Column("seq", BigInteger(), nullable=False),
        Column("prev", LargeBinary(), nullable=False),
        Column("data", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("log", "seq", name=op.f("pk_ledger_record")),
        UniqueConstraint("log", "prev", name=op.f("uq_ledger_record_log_prev")),
    )


def _governance() -> None:
    op.create_table(
        "acts",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("due_us", BigInteger(), nullable=True),
        Column("attempt", Integer(), nullable=False),
        Column("worker", Text(), nullable=True),
        Column("intent", Integer(), nullable=True),
        Column("tries", Integer(), nullable=False),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_acts")),
    )
    op.create_index("ix_acts_due", "acts", ["owner", "due_us"], unique=False)
    op.create_table(
        "proposal",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("moves", Integer(), nullable=False),
        Column("created_us", BigInteger(), nullable=False),
        Column("deadline_us", BigInteger(), nullable=True),
        Column("expires_us", BigInteger(), nullable=False),
        Column("changed_us", BigInteger(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("person", Text(), nullable=False),
        Column("door", Text(), nullable=False),
        Column("act", Text(), nullable=False),
        Column("title", Text(), nullable=False),
        Column("context", Text(), nullable=True),
        Column("scopes", Text(), nullable=False),
        Column("arguments", LargeBinary(), nullable=False),
        Column("arguments_sha256", Text(), nullable=False),
        Column("constitution", Text(), nullable=False),
        Column("article", Text(), nullable=False),
        Column("note", LargeBinary(), nullable=False),
        Column("receipt", BigInteger(), nullable=False),
        Column("decision", LargeBinary(), nullable=True),
        Column("answers", LargeBinary(), nullable=True),
        Column("question", LargeBinary(), nullable=True),
        Column("outcome", LargeBinary(), nullable=True),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_proposal")),
    )
    op.create_index("ix_proposal_agent", "proposal", ["owner", "agent", "created_us", "id"], unique=False)
    op.create_index("ix_proposal_created", "proposal", ["owner", "created_us", "id"], unique=False)
    op.create_index("ix_proposal_deadline", "proposal", ["owner", "deadline_us"], unique=False)
    op.create_index("ix_proposal_state", "proposal", ["owner", "state", "created_us", "id"], unique=False)


def _gateway() -> None:
    op.create_table(
        "gateway_agents",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("scopes", Text(), nullable=False),
        Column("created_us", BigInteger(), nullable=False),
        Column("term", Integer(), nullable=False),
        Column("reissued_us", BigInteger(), nullable=False),
        Column("suspended_us", BigInteger(), nullable=True),
        Column("suspended_by", Text(), nullable=True),
        Column("suspended_for", Text(), nullable=True),
        PrimaryKeyConstraint("owner", "agent", name=op.f("pk_gateway_agents")),
        UniqueConstraint("owner", "name", name=op.f("uq_gateway_agents_owner_name")),
    )
    op.create_table(
        "gateway_keys",
        Column("owner", Text(), nullable=False),
        Column("key_sha256", LargeBinary(), nullable=False),
        Column("key_id", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("issued_us", BigInteger(), nullable=False),
        Column("issued_by", Text(), nullable=False),
        Column("revoked_us", BigInteger(), nullable=True),
        Column("revoked_by", Text(), nullable=True),
        PrimaryKeyConstraint("owner", "key_sha256", name=op.f("pk_gateway_keys")),
        UniqueConstraint("owner", "key_id", name=op.f("uq_gateway_keys_owner_key_id")),
    )
    op.create_index(op.f("ix_gateway_keys_owner_agent"), "gateway_keys", ["owner", "agent"], unique=False)
    op.create_table(
        "gateway_rates",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("coarse_us", BigInteger(), nullable=False),
        Column("minute_us", BigInteger(), nullable=False),
        Column("second_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "agent", name=op.f("pk_gateway_rates")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "gateway_signatures",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("stamp_us", BigInteger(), nullable=False),
        Column("signature", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("owner", "agent", "stamp_us", "signature", name=op.f("pk_gateway_signatures")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "gateway_violations",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("fingerprint", LargeBinary(), nullable=False),
        Column("code", Text(), nullable=False),
        Column("door", Text(), nullable=False),
        Column("term", Integer(), nullable=False),
        Column("at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "agent", "fingerprint", name=op.f("pk_gateway_violations")),
    )
    op.create_index(op.f("ix_gateway_violations_owner_at_us"), "gateway_violations", ["owner", "at_us"], unique=False)


def _gateway_a2a() -> None:
    op.create_table(
        "gateway_a2a_push",
        Column("owner", Text(), nullable=False),
        Column("task", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("version", Text(), nullable=False),
        Column("url", Text(), nullable=False),
        Column("token", Text(), nullable=True),
        Column("scheme", Text(), nullable=True),
        Column("credentials", Text(), nullable=True),
        Column("moves", Integer(), nullable=False),
        Column("created_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "task", "id", name=op.f("pk_gateway_a2a_push")),
    )
    op.create_table(
        "gateway_a2a_task",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("context", Text(), nullable=False),
        Column("act", Text(), nullable=False),
        Column("message", LargeBinary(), nullable=False),
        Column("result", LargeBinary(), nullable=True),
        Column("state", Text(), nullable=False),
        Column("created_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_gateway_a2a_task")),
    )
    op.create_index("ix_gateway_a2a_task_agent", "gateway_a2a_task", ["owner", "agent", "created_us"], unique=False)


def _gateway_acp() -> None:
    op.create_table(
        "gateway_acp_run",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("run_id", Text(), nullable=False),
        Column("session_id", Text(), nullable=False),
        Column("agent_name", Text(), nullable=False),
        Column("act", Text(), nullable=False),
        Column("outcome", LargeBinary(), nullable=True),
        Column("proposal", Text(), nullable=True),
        Column("created_at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "agent", "run_id", name=op.f("pk_gateway_acp_run")),
    )
    op.create_index(
        op.f("ix_gateway_acp_run_owner_created_at_us"), "gateway_acp_run", ["owner", "created_at_us"], unique=False
    )
    op.create_table(
        "gateway_acp_session",
        Column("owner", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("session_id", Text(), nullable=False),
        Column("used_at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "agent", "session_id", name=op.f("pk_gateway_acp_session")),
    )
    op.create_index(
        op.f("ix_gateway_acp_session_owner_used_at_us"), "gateway_acp_session", ["owner", "used_at_us"], unique=False
    )


def _gateway_mcp() -> None:
    op.create_table(
        "mcp_sessions",
        Column("owner", Text(), nullable=False),
        Column("session", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("version", Text(), nullable=False),
        Column("opened_us", BigInteger(), nullable=False),
        Column("ends_us", BigInteger(), nullable=False),
        Column("events", Integer(), nullable=False),
        PrimaryKeyConstraint("owner", "session", name=op.f("pk_mcp_sessions")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_mcp_sessions_owner_agent_opened_us"), "mcp_sessions", ["owner", "agent", "opened_us"], unique=False
    )
    op.create_index(op.f("ix_mcp_sessions_owner_ends_us"), "mcp_sessions", ["owner", "ends_us"], unique=False)
    op.create_table(
        "mcp_subscriptions",
        Column("owner", Text(), nullable=False),
        Column("session", Text(), nullable=False),
        Column("uri", Text(), nullable=False),
        Column("told", Integer(), nullable=False),
        Column("event", Integer(), nullable=False),
        PrimaryKeyConstraint("owner", "session", "uri", name=op.f("pk_mcp_subscriptions")),
        sqlite_with_rowid=False,
    )


def _gateway_tasks() -> None:
    op.create_table(
        "gateway_artifact",
        Column("owner", Text(), nullable=False),
        Column("sha256", LargeBinary(), nullable=False),
        Column("data", LargeBinary(), nullable=False),
        Column("stored_at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "sha256", name=op.f("pk_gateway_artifact")),
    )
    op.create_table(
        "gateway_assignment",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("task_type", Text(), nullable=False),
        Column("input", LargeBinary(), nullable=False),
        Column("budget_cents", Integer(), nullable=False),
        Column("domain_key", Text(), nullable=True),
        Column("reason", Text(), nullable=False),
        Column("approved_by", Text(), nullable=False),
        Column("approved_at_us", BigInteger(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("settled_at_us", BigInteger(), nullable=True),
        Column("artifact_type", Text(), nullable=True),
        Column("artifact_sha256", LargeBinary(), nullable=True),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_gateway_assignment")),
    )
    op.create_index(
        op.f("ix_gateway_assignment_owner_agent_state_approved_at_us"),
        "gateway_assignment",
        ["owner", "agent", "state", "approved_at_us"],
        unique=False,
    )


def _knowledge() -> None:
    op.create_table(
        "knowledge_documents",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("title", Text(), nullable=False),
        Column("source", Text(), nullable=False),
        Column("by", Text(), nullable=False),
        Column("by_kind", Text(), nullable=False),
        Column("run_id", Text(), nullable=True),
        Column("receipt", BigInteger(), nullable=False),
        Column("content_sha256", Text(), nullable=False),
        Column("confidence", Integer(), nullable=False),
        Column("at_us", BigInteger(), nullable=False),
        Column("text", Text(), nullable=False),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_knowledge_documents")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "knowledge_evidence",
        Column("owner", Text(), nullable=False),
        Column("hypothesis", Text(), nullable=False),
        Column("observation", Text(), nullable=False),
        Column("weight", Integer(), nullable=False),
        Column("supports", Integer(), nullable=False),
        Column("rule", Text(), nullable=False),
        Column("at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "hypothesis", "observation", name=op.f("pk_knowledge_evidence")),
    )
    op.create_index(op.f("ix_knowledge_evidence_owner_at_us"), "knowledge_evidence", ["owner", "at_us"], unique=False)
    op.create_table(
        "knowledge_hypotheses",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("domain_key", Text(), nullable=False),
        Column("other_key", Text(), nullable=True),
        Column("supporting", BigInteger(), nullable=False),
        Column("opposing", BigInteger(), nullable=False),
        Column("since_us", BigInteger(), nullable=False),
        Column("changed_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_knowledge_hypotheses")),
    )
    op.create_index(
        op.f("ix_knowledge_hypotheses_owner_domain_key"), "knowledge_hypotheses", ["owner", "domain_key"], unique=False
    )
    op.create_index(
        op.f("ix_knowledge_hypotheses_owner_other_key"), "knowledge_hypotheses", ["owner", "other_key"], unique=False
    )
    op.create_table(
        "knowledge_observations",
        Column("owner", Text(), nullable=False),
        Column("id", Text(), nullable=False),
        Column("document", Text(), nullable=False),
        Column("start", Integer(), nullable=False),
        Column("stop", Integer(), nullable=False),
        Column("text", Text(), nullable=False),
        Column("text_sha256", Text(), nullable=False),
        Column("repeat_of", Text(), nullable=True),
        Column("at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "id", name=op.f("pk_knowledge_observations")),
    )
    op.create_index(
        op.f("ix_knowledge_observations_owner_document"), "knowledge_observations", ["owner", "document"], unique=False
    )
    op.create_index(
        op.f("ix_knowledge_observations_owner_text_sha256"),
        "knowledge_observations",
        ["owner", "text_sha256"],
        unique=False,
    )
    op.create_table(
        "knowledge_places",
        Column("owner", Text(), nullable=False),
        Column("domain_key", Text(), nullable=False),
        Column("observation", Text(), nullable=False),
        Column("closeness", Integer(), nullable=False),
        Column("stated", Integer(), nullable=False),
        PrimaryKeyConstraint("owner", "domain_key", "observation", name=op.f("pk_knowledge_places")),
    )
    op.create_index(
        op.f("ix_knowledge_places_owner_observation"), "knowledge_places", ["owner", "observation"], unique=False
    )
    op.create_table(
        "knowledge_simulations",
        Column("owner", Text(), nullable=False),
        Column("call_id", Text(), nullable=False),
        Column("hypothesis", Text(), nullable=False),
        Column("answer", LargeBinary(), nullable=False),
        Column("at_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "call_id", name=op.f("pk_knowledge_simulations")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "knowledge_vectors",
        Column("owner", Text(), nullable=False),
        Column("model", Text(), nullable=False),
        Column("observation", Text(), nullable=False),
        Column("vector", LargeBinary(), nullable=False),
        PrimaryKeyConstraint("owner", "model", "observation", name=op.f("pk_knowledge_vectors")),
        sqlite_with_rowid=False,
    )


def _console() -> None:
    op.create_table(
        "console_login",
        Column("owner", Text(), nullable=False),
        Column("token_sha256", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("started_us", BigInteger(), nullable=False),
        Column("seen_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "token_sha256", name=op.f("pk_console_login")),
    )
    op.create_index(op.f("ix_console_login_owner_name"), "console_login", ["owner", "name"], unique=False)
    op.create_index(op.f("ix_console_login_owner_seen_us"), "console_login", ["owner", "seen_us"], unique=False)
    op.create_table(
        "console_user",
        Column("owner", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("role", Text(), nullable=False),
        Column("secret", Text(), nullable=False),
        Column("added_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "name", name=op.f("pk_console_user")),
    )


def _scheduling() -> None:
    op.create_table(
        "host_allocation",
        Column("host", Text(), nullable=False),
        Column("start_us", BigInteger(), nullable=False),
        Column("seat", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("family", Text(), nullable=False),
        Column("end_us", BigInteger(), nullable=False),
        Column("expires_us", BigInteger(), nullable=True),
        Column("origin", Text(), nullable=False),
        CheckConstraint("end_us > start_us", name=op.f("ck_host_allocation_not_empty")),
        PrimaryKeyConstraint("host", "owner", "seat", "start_us", name=op.f("pk_host_allocation")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_host_allocation_time",
        "host_allocation",
        ["host", "start_us", "end_us", "seat", "family", "expires_us", "origin"],
        unique=False,
    )
    op.create_table(
        "host_booking",
        Column("host", Text(), nullable=False),
        Column("booking_id", Text(), nullable=False),
        Column("hold_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("sequence", Integer(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("principal", Text(), nullable=False),
        Column("mandate", Text(), nullable=False),
        Column("start_us", BigInteger(), nullable=False),
        Column("until_us", BigInteger(), nullable=False),
        Column("open_end", Integer(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("offer_sha256", Text(), nullable=False),
        Column("receipt", Text(), nullable=False),
        Column("answer_us", BigInteger(), nullable=True),
        Column("message", Text(), nullable=True),
        Column("reconfirm_us", BigInteger(), nullable=True),
        PrimaryKeyConstraint("host", "booking_id", name=op.f("pk_host_booking")),
    )
    op.create_index(
        "ix_host_booking_answer",
        "host_booking",
        ["host", "answer_us"],
        unique=False,
        sqlite_where=text("answer_us IS NOT NULL"),
        postgresql_where=text("answer_us IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_host_booking_host_principal_mandate"), "host_booking", ["host", "principal", "mandate"], unique=False
    )
    op.create_index(
        "ix_host_booking_running",
        "host_booking",
        ["host", "until_us"],
        unique=False,
        sqlite_where=text("state = 'confirmed'"),
        postgresql_where=text("state = 'confirmed'"),
    )
    op.create_index(
        "ix_host_booking_silent",
        "host_booking",
        ["host", "reconfirm_us"],
        unique=False,
        sqlite_where=text("reconfirm_us IS NOT NULL"),
        postgresql_where=text("reconfirm_us IS NOT NULL"),
    )
    op.create_index("ix_host_booking_start", "host_booking", ["host", "start_us"], unique=False)
    op.create_index(
        "ix_host_booking_tentative",
        "host_booking",
        ["host", "answer_us", "agent"],
        unique=False,
        sqlite_where=text("state = 'tentative'"),
        postgresql_where=text("state = 'tentative'"),
    )
    op.create_table(
        "host_change",
        Column("host", Text(), nullable=False),
        Column("offer_id", Text(), nullable=False),
        Column("booking_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("until_us", BigInteger(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("offer_sha256", Text(), nullable=False),
        Column("agreed", Text(), nullable=True),
        PrimaryKeyConstraint("host", "offer_id", name=op.f("pk_host_change")),
    )
    op.create_index(
        "ix_host_change_open_expiry",
        "host_change",
        ["host", "expires_us"],
        unique=False,
        sqlite_where=text("state IN ('offered', 'awaiting_host')"),
        postgresql_where=text("state IN ('offered', 'awaiting_host')"),
    )
    op.create_index(
        "uq_host_change_open",
        "host_change",
        ["host", "booking_id"],
        unique=True,
        sqlite_where=text("state IN ('offered', 'awaiting_host')"),
        postgresql_where=text("state IN ('offered', 'awaiting_host')"),
    )
    op.create_table(
        "host_contact",
        Column("host", Text(), nullable=False),
        Column("principal", Text(), nullable=False),
        Column("name", Text(), nullable=False),
        Column("added_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("host", "principal", name=op.f("pk_host_contact")),
    )
    op.create_table(
        "host_freed",
        Column("host", Text(), nullable=False),
        Column("start_us", BigInteger(), nullable=False),
        Column("end_us", BigInteger(), nullable=False),
        Column("seat", Text(), nullable=False),
        PrimaryKeyConstraint("host", "start_us", "end_us", "seat", name=op.f("pk_host_freed")),
    )
    op.create_table(
        "host_guest",
        Column("host", Text(), nullable=False),
        Column("booking_id", Text(), nullable=False),
        Column("details", LargeBinary(), nullable=True),
        Column("note", Text(), nullable=True),
        Column("forget_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("host", "booking_id", name=op.f("pk_host_guest")),
    )
    op.create_index(op.f("ix_host_guest_host_forget_us"), "host_guest", ["host", "forget_us"], unique=False)
    op.create_table(
        "host_hold",
        Column("host", Text(), nullable=False),
        Column("hold_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("service_id", Text(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("principal", Text(), nullable=False),
        Column("mandate", Text(), nullable=False),
        Column("proven", Integer(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("until_us", BigInteger(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("offer_sha256", Text(), nullable=False),
        Column("callback_url", Text(), nullable=True),
        Column("booking_id", Text(), nullable=True),
        Column("attester", Text(), nullable=True),
        PrimaryKeyConstraint("host", "hold_id", name=op.f("pk_host_hold")),
    )
    op.create_index(
        "ix_host_hold_live_agent",
        "host_hold",
        ["host", "agent", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'held'"),
        postgresql_where=text("state = 'held'"),
    )
    op.create_index(
        "ix_host_hold_live_expiry",
        "host_hold",
        ["host", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'held'"),
        postgresql_where=text("state = 'held'"),
    )
    op.create_index(
        "ix_host_hold_live_lane",
        "host_hold",
        ["host", "attester", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'held' AND attester IS NOT NULL"),
        postgresql_where=text("state = 'held' AND attester IS NOT NULL"),
    )
    op.create_index(
        "ix_host_hold_live_mandate",
        "host_hold",
        ["host", "principal", "mandate", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'held'"),
        postgresql_where=text("state = 'held'"),
    )
    op.create_index(
        "ix_host_hold_live_newcomers",
        "host_hold",
        ["host", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'held' AND proven = 0 AND attester IS NULL"),
        postgresql_where=text("state = 'held' AND proven = 0 AND attester IS NULL"),
    )
    op.create_table(
        "host_link",
        Column("host", Text(), nullable=False),
        Column("owner", Text(), nullable=False),
        Column("signer", Text(), nullable=False),
        Column("jti", Text(), nullable=False),
        PrimaryKeyConstraint("host", "owner", "signer", "jti", name=op.f("pk_host_link")),
    )
    op.create_index(op.f("ix_host_link_host_signer_jti"), "host_link", ["host", "signer", "jti"], unique=False)
    op.create_table(
        "host_reputation",
        Column("host", Text(), nullable=False),
        Column("subject", Text(), nullable=False),
        Column("abandoned", BigInteger(), nullable=False),
        Column("outcomes", BigInteger(), nullable=False),
        Column("as_of_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("host", "subject", name=op.f("pk_host_reputation")),
    )
    op.create_index(op.f("ix_host_reputation_host_as_of_us"), "host_reputation", ["host", "as_of_us"], unique=False)
    op.create_table(
        "host_rule",
        Column("host", Text(), nullable=False),
        Column("rule", Text(), nullable=False),
        Column("token", Text(), nullable=False),
        Column("kept_us", BigInteger(), nullable=False),
        Column("withdrawn_us", BigInteger(), nullable=True),
        PrimaryKeyConstraint("host", "rule", name=op.f("pk_host_rule")),
    )
    op.create_table(
        "host_shared",
        Column("host", Text(), nullable=False),
        Column("hold_id", Text(), nullable=False),
        Column("url", Text(), nullable=False),
        Column("jwk", LargeBinary(), nullable=False),
        Column("mandate_sha256", Text(), nullable=False),
        Column("expires", BigInteger(), nullable=False),
        PrimaryKeyConstraint("host", "hold_id", name=op.f("pk_host_shared")),
    )
    op.create_table(
        "host_waitlist",
        Column("host", Text(), nullable=False),
        Column("entry_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("agent", Text(), nullable=False),
        Column("principal", Text(), nullable=False),
        Column("mandate", Text(), nullable=False),
        Column("token", Text(), nullable=False),
        Column("request", LargeBinary(), nullable=False),
        Column("start_us", BigInteger(), nullable=False),
        Column("end_us", BigInteger(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("joined_us", BigInteger(), nullable=False),
        Column("hold_id", Text(), nullable=True),
        PrimaryKeyConstraint("host", "entry_id", name=op.f("pk_host_waitlist")),
    )
    op.create_index(
        "ix_host_waitlist_agent",
        "host_waitlist",
        ["host", "agent"],
        unique=False,
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    )
    op.create_index(
        "ix_host_waitlist_expiry",
        "host_waitlist",
        ["host", "expires_us"],
        unique=False,
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    )
    op.create_index(
        "ix_host_waitlist_mandate",
        "host_waitlist",
        ["host", "principal", "mandate"],
        unique=False,
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    )
    op.create_index(
        "ix_host_waitlist_offered",
        "host_waitlist",
        ["host", "hold_id"],
        unique=False,
        sqlite_where=text("state = 'offered'"),
        postgresql_where=text("state = 'offered'"),
    )
    op.create_index(
        "ix_host_waitlist_order",
        "host_waitlist",
        ["host", "joined_us", "entry_id"],
        unique=False,
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    )
    op.create_index(
        "ix_host_waitlist_window",
        "host_waitlist",
        ["host", "start_us", "end_us"],
        unique=False,
        sqlite_where=text("state = 'waiting'"),
        postgresql_where=text("state = 'waiting'"),
    )


def _scheduling_guest() -> None:
    op.create_table(
        "guest_booking",
        Column("owner", Text(), nullable=False),
        Column("booking_id", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("hold_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("sequence", Integer(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("limits", Text(), nullable=False),
        Column("approved", Text(), nullable=False),
        Column("agreed", Text(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("receipt", Text(), nullable=False),
        Column("start_us", BigInteger(), nullable=False),
        Column("managed", Text(), nullable=True),
        PrimaryKeyConstraint("owner", "booking_id", name=op.f("pk_guest_booking")),
    )
    op.create_index(op.f("ix_guest_booking_owner_start_us"), "guest_booking", ["owner", "start_us"], unique=False)
    op.create_table(
        "guest_change",
        Column("owner", Text(), nullable=False),
        Column("offer_id", Text(), nullable=False),
        Column("booking_id", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("view", LargeBinary(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("offer_sha256", Text(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "offer_id", name=op.f("pk_guest_change")),
    )
    op.create_index(op.f("ix_guest_change_owner_booking_id"), "guest_change", ["owner", "booking_id"], unique=False)
    op.create_table(
        "guest_entry",
        Column("owner", Text(), nullable=False),
        Column("entry_id", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("mandate", Text(), nullable=False),
        Column("view", LargeBinary(), nullable=False),
        Column("asked", LargeBinary(), nullable=False),
        Column("joined_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "entry_id", name=op.f("pk_guest_entry")),
    )
    op.create_index(op.f("ix_guest_entry_owner_mandate"), "guest_entry", ["owner", "mandate"], unique=False)
    op.create_table(
        "guest_event",
        Column("owner", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("event_id", Text(), nullable=False),
        Column("heard_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "host", "event_id", name=op.f("pk_guest_event")),
    )
    op.create_table(
        "guest_hold",
        Column("owner", Text(), nullable=False),
        Column("hold_id", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("state", Text(), nullable=False),
        Column("mandate", Text(), nullable=False),
        Column("view", LargeBinary(), nullable=False),
        Column("asked", LargeBinary(), nullable=False),
        Column("offer", Text(), nullable=False),
        Column("offer_sha256", Text(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("placed_us", BigInteger(), nullable=False),
        Column("booking_id", Text(), nullable=True),
        Column("details", LargeBinary(), nullable=True),
        PrimaryKeyConstraint("owner", "hold_id", name=op.f("pk_guest_hold")),
    )
    op.create_table(
        "guest_host",
        Column("owner", Text(), nullable=False),
        Column("domain", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("added_us", BigInteger(), nullable=False),
        Column("listed", Integer(), nullable=False),
        PrimaryKeyConstraint("owner", "host", name=op.f("pk_guest_host")),
    )
    op.create_table(
        "guest_intent",
        Column("owner", Text(), nullable=False),
        Column("subject", Text(), nullable=False),
        Column("idempotency_key", Text(), nullable=False),
        Column("started_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "subject", name=op.f("pk_guest_intent")),
    )
    op.create_table(
        "guest_mandate",
        Column("owner", Text(), nullable=False),
        Column("jti", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("kind", Text(), nullable=False),
        Column("subject", Text(), nullable=False),
        Column("token", Text(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("taken_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("owner", "jti", name=op.f("pk_guest_mandate")),
    )
    op.create_index(op.f("ix_guest_mandate_owner_kind_host"), "guest_mandate", ["owner", "kind", "host"], unique=False)


def _scheduling_keyapp() -> None:
    op.create_table(
        "keyapp_mandate",
        Column("owner", Text(), nullable=False),
        Column("jti", Text(), nullable=False),
        Column("token", Text(), nullable=False),
        Column("sha256", Text(), nullable=False),
        Column("handle", Text(), nullable=True),
        Column("signed_us", BigInteger(), nullable=False),
        Column("expires_us", BigInteger(), nullable=False),
        Column("revoked_us", BigInteger(), nullable=True),
        PrimaryKeyConstraint("owner", "jti", name=op.f("pk_keyapp_mandate")),
    )
    op.create_index("ix_keyapp_mandate_handle", "keyapp_mandate", ["handle"], unique=False)
    op.create_table(
        "keyapp_unit",
        Column("handle", Text(), nullable=False),
        Column("host", Text(), nullable=False),
        Column("unit", Text(), nullable=False),
        Column("taken_us", BigInteger(), nullable=False),
        PrimaryKeyConstraint("handle", "host", "unit", name=op.f("pk_keyapp_unit")),
    )


def _second_line() -> None:
    """What only Postgres can say: that no two rows overlap."""
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    op.execute(
        "ALTER TABLE host_allocation ADD CONSTRAINT ex_host_allocation_seat"
        " EXCLUDE USING gist (host WITH =, seat WITH =, int8range(start_us, end_us) WITH &&, family WITH <>)"
    )


def _knowledge_search() -> None:
    """What finds passages, in each engine's own way.

    Nothing in here is a truth of its own: all of it can be made again from the tables. A server without pgvector 0.7
    gets no `knowledge_near`, and search then says that it is by words alone.
    """
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE knowledge_words USING fts5("
            "text, owner UNINDEXED, observation UNINDEXED,"
            " content='', contentless_delete=1, contentless_unindexed=1,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        return
    op.execute(
        "CREATE TABLE knowledge_words (owner text NOT NULL, observation text NOT NULL, words tsvector NOT NULL,"
        " CONSTRAINT pk_knowledge_words PRIMARY KEY (owner, observation))"
    )
    op.execute("CREATE INDEX ix_knowledge_words_words ON knowledge_words USING gin (words)")
    op.execute(
        "DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS vector; EXCEPTION WHEN OTHERS THEN"
        " RAISE NOTICE 'search is by words alone: %', SQLERRM; END $$"
    )
    if op.get_bind().exec_driver_sql("SELECT to_regtype('halfvec')").scalar():
        op.execute(
            "CREATE TABLE knowledge_near (owner text NOT NULL, model text NOT NULL, observation text NOT NULL,"
            " near halfvec(256) NOT NULL, CONSTRAINT pk_knowledge_near PRIMARY KEY (owner, model, observation))"
        )
