"""Checkpoints as transparency-log tools read them, and the kinds of receipts."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Misuse, Refused
from sayso.ledger.rules.batch import BATCH_SEALED, seal_draft
from sayso.ledger.rules.checkpoint import verify_signed_checkpoint
from sayso.ledger.rules.kinds import KINDS, declare
from sayso.proof.note import sign_note, write_verifier_key
from tests.ledger.logs import KEY, LOG, OTHER_KEY, full_log

FULL = full_log()


@pytest.mark.req("GTW-052")
def test_a_checkpoint_is_a_signed_note_of_origin_size_and_root() -> None:
    """Reproduced byte for byte from a fixed key: C2SP's three lines, then head and time."""
    assert FULL.notes[0].decode() == (
        "maple.example/log\n"
        "5\n"
        "l+R+93ibvOC0bz3ztMmjPCvYPTIMCU+kvPuk+JqBTeE=\n"
        "head 6Q4QojbIRBEFT1E7dScshGoyQFhVQI2Lh4-LgMzwzII\n"
        "time 2026-10-13T13:00:05.000000Z\n"
        "\n"
        "— maple.example/log "
        "c6dGnH0gB9ijwLnreY/Qj2baN+7SQd8LhtSIseSJzO8ZdKb5FIqe2UEvwSMo4CXekVJWLtvzScJwDbOFGl6f0pEOZgQ=\n"
    )
    published = "maple.example/log+73a7469c+AW1E+Tn4KdQ1mLze3akN4B22n6pQyqM+jGwyikuQDU2s"
    assert write_verifier_key(LOG, KEY.public) == published


def test_others_may_sign_a_checkpoint_that_stands_alone() -> None:
    """A witness adds a line; what the log signed is still what counts."""
    text, _, own = FULL.notes[0].decode().rpartition("\n\n")
    witness = sign_note(f"{text}\n", "witness.example", OTHER_KEY).decode().rpartition("\n\n")[2]
    both = f"{text}\n\n{own}{witness}".encode()
    assert verify_signed_checkpoint(both, log=LOG, key=KEY.public).size == 5


@pytest.mark.parametrize(
    "extensions",
    ["", "head x\n", "time 2026-10-13T13:00:05.000000Z\nhead x\n", "head x\ntime 2026-10-13T13:00:05.000000Z\n"],
)
def test_a_checkpoint_without_head_and_time_is_not_one_of_ours(extensions: str) -> None:
    """A note that the key signed for another purpose says nothing about a receipt log."""
    root = FULL.notes[0].decode().split("\n")[2]
    note = sign_note(f"{LOG}\n5\n{root}\n{extensions}", LOG, KEY)
    with pytest.raises(Refused) as refused:
        verify_signed_checkpoint(note, log=LOG, key=KEY.public)
    assert refused.value.refusal.code == "malformed_note"


def test_a_batch_holds_1_to_256() -> None:
    """An empty one would seal nothing, a larger one is never made."""
    for leaves in ([], [b"x"] * 257):
        with pytest.raises(Misuse):
            seal_draft(0, leaves)


def test_a_kind_is_declared_once_with_one_meaning() -> None:
    """Two owners of one word would each read the other's receipts wrongly."""
    assert declare(BATCH_SEALED, KINDS[BATCH_SEALED]) == BATCH_SEALED
    with pytest.raises(Misuse):
        declare(BATCH_SEALED, "something else")
    with pytest.raises(Misuse):
        declare("nonsense", "no dot in it")
