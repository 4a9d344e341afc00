"""The ground floor: store, ledger, scheduling, scheduling guest, scheduling keyapp."""

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
    _scheduling()
    _scheduling_guest()
    _scheduling_keyapp()
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
