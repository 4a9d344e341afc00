"""Signed notes and checkpoints: the format others read, and nothing believed that the key in question did not sign."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Misuse, Refused
from sayso.proof.keys import PrivateKey
from sayso.proof.merkle import EMPTY_ROOT
from sayso.proof.note import (
    Checkpoint,
    key_id,
    read_verifier_key,
    sign_note,
    verify_checkpoint,
    verify_note,
    write_checkpoint,
    write_verifier_key,
)

KEY = PrivateKey.from_seed(b"\x03" * 32)
STRANGER = PrivateKey.from_seed(b"\x04" * 32)
ORIGIN = "maplestreetauto.example/receipts"
ROOT = bytes(range(32))
TEXT = f"{ORIGIN}\n7\n{b64encode(ROOT).decode()}\n"

# The example that the format's first implementation documents.
THEIR_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
THEIR_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
THEIR_SIGNATURE = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
THEIR_NOTE = f"{THEIR_TEXT}\n— PeterNeumann {THEIR_SIGNATURE}\n".encode()


def refusal_of(note: bytes, *, name: str = ORIGIN, key: PrivateKey = KEY) -> str:
    with pytest.raises(Refused) as caught:
        verify_note(note, name, key.public)
    return caught.value.refusal.code


def checkpoint_refusal(text: str, *, origin: str = ORIGIN) -> str:
    with pytest.raises(Refused) as caught:
        verify_checkpoint(sign_note(text, ORIGIN, KEY), origin=origin, key=KEY.public)
    return caught.value.refusal.code


def test_a_note_of_another_implementation_is_verified() -> None:
    """Key id, signature and layout agree."""
    name, key = read_verifier_key(THEIR_KEY)
    assert verify_note(THEIR_NOTE, name, key) == THEIR_TEXT
    assert write_verifier_key(name, key) == THEIR_KEY


def test_a_checkpoint_is_written_and_read() -> None:
    """Origin, size and root, then what the log adds, under one signature."""
    note = write_checkpoint(ORIGIN, 7, ROOT, KEY, extensions=("last AAAA",))
    assert note.decode().startswith(f"{TEXT}last AAAA\n\n— {ORIGIN} ")
    assert verify_checkpoint(note, origin=ORIGIN, key=KEY.public) == Checkpoint(ORIGIN, 7, ROOT, ("last AAAA",))
    empty = write_checkpoint(ORIGIN, 0, EMPTY_ROOT, KEY)
    assert verify_checkpoint(empty, origin=ORIGIN, key=KEY.public) == Checkpoint(ORIGIN, 0, EMPTY_ROOT)


def test_signatures_of_others_are_passed_over() -> None:
    """A witness may sign as well, before or after, also in a kind we do not know."""
    ours = sign_note(TEXT, ORIGIN, KEY).decode()
    theirs = sign_note(TEXT, "witness.example", STRANGER).decode().split("\n\n")[1]
    unknown = f"— witness.example {b64encode(b'1234' + b'x' * 100).decode()}\n"
    head, mine = ours.split("\n\n")
    for signatures in (mine + theirs, theirs + mine, unknown + mine + theirs):
        assert verify_note(f"{head}\n\n{signatures}".encode(), ORIGIN, KEY.public) == TEXT


def test_a_note_without_the_keys_own_signature_is_refused() -> None:
    """Signed by somebody else, under another name, or in our name by another key."""
    assert refusal_of(sign_note(TEXT, "witness.example", STRANGER)) == "unsigned_note"
    assert refusal_of(sign_note(TEXT, "other.example", KEY)) == "unsigned_note"
    assert refusal_of(sign_note(TEXT, ORIGIN, STRANGER)) == "unsigned_note"


def test_a_signature_that_does_not_hold_is_refused() -> None:
    """Changed text, changed signature, or a key id claimed by another key."""
    note = sign_note(TEXT, ORIGIN, KEY)
    assert refusal_of(note.replace(b"\n7\n", b"\n8\n")) == "bad_signature"
    forged = b64encode(key_id(ORIGIN, KEY.public) + STRANGER.sign(TEXT.encode())).decode()
    assert refusal_of(f"{TEXT}\n— {ORIGIN} {forged}\n".encode()) == "bad_signature"
    short = b64encode(key_id(ORIGIN, KEY.public) + b"x").decode()
    assert refusal_of(f"{TEXT}\n— {ORIGIN} {short}\n".encode()) == "bad_signature"


LINE = sign_note(TEXT, ORIGIN, KEY).decode().split("\n\n")[1].rstrip("\n")


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\n",
        b"\n\n",
        TEXT.encode(),
        f"{TEXT}\n".encode(),
        f"{TEXT}{LINE}\n".encode(),
        f"{TEXT}\n{LINE}".encode(),
        f"{TEXT}\n{LINE}\n\n".encode(),
        f"{TEXT}\n{LINE}\nx\n".encode(),
        f"{TEXT}\n{LINE}\n{LINE}\n".encode(),
        f"{TEXT}\n{LINE}=\n".encode(),
        f"{TEXT}\n{LINE.replace('— ', '- ')}\n".encode(),
        f"{TEXT}\n{LINE.replace('— ', '—  ')}\n".encode(),
        f"{TEXT}\n— {ORIGIN} AAAA\n".encode(),
        f"{TEXT}\n— {ORIGIN} ====\n".encode(),
        f"{TEXT}\n— {ORIGIN} \n".encode(),
        f"{TEXT}\r\n{LINE}\n".encode(),
        f"{TEXT}\t\n\n{LINE}\n".encode(),
        f"{TEXT}\n".encode() + b"\xff" + f"{LINE}\n".encode(),
        f"{TEXT}\n{LINE}\n".encode() + b"\0",
        f"{TEXT}\n".encode() + f"{LINE}\n".encode() * 101,
        f"{'x' * 70_000}\n\n{LINE}\n".encode(),
    ],
)
def test_a_malformed_note_is_refused(note: bytes) -> None:
    """Missing parts, doubled signatures, other bytes, and more of anything than is sensible."""
    assert refusal_of(note) == "malformed_note"


@pytest.mark.parametrize(
    "text",
    [
        f"{ORIGIN}\n7\n",
        f"{ORIGIN}\n",
        f"other.example\n7\n{b64encode(ROOT).decode()}\n",
        f"{ORIGIN}\n07\n{b64encode(ROOT).decode()}\n",
        f"{ORIGIN}\n-7\n{b64encode(ROOT).decode()}\n",
        f"{ORIGIN}\n７\n{b64encode(ROOT).decode()}\n",
        f"{ORIGIN}\n{'9' * 20}\n{b64encode(ROOT).decode()}\n",
        f"{ORIGIN}\n7\n{b64encode(ROOT[:31]).decode()}\n",
        f"{ORIGIN}\n7\n{b64encode(ROOT).decode().rstrip('=')}\n",
        f"{ORIGIN}\n7\n*\n",
        f"{ORIGIN}\n7\n{b64encode(ROOT).decode()}\n\nx\n",
    ],
)
def test_a_signed_note_that_is_no_checkpoint_is_refused(text: str) -> None:
    """The log's own signature does not make it one."""
    assert checkpoint_refusal(text) == "malformed_note"


def test_a_checkpoint_of_another_log_is_refused() -> None:
    """Origin and name of the key are one."""
    assert checkpoint_refusal(TEXT, origin="other.example") == "unsigned_note"


@pytest.mark.parametrize(
    "text",
    ["", "x", THEIR_KEY + "=", THEIR_KEY.replace("c74f20a3", "c74f20a4"), THEIR_KEY.replace("c74f", "C74F"),
     THEIR_KEY.replace("Peter", "Paul"), THEIR_KEY.replace("+AR", "+BR"), "a+00000000+AQ==", "a b+00000000+AQ==",
     "PeterNeumann+c74f20a3+AR"],
)  # fmt: skip
def test_an_odd_verifier_key_is_refused(text: str) -> None:
    """Name, id and key belong together."""
    with pytest.raises(Refused) as caught:
        read_verifier_key(text)
    assert caught.value.refusal.code == "malformed_key"


def test_what_could_not_be_read_back_is_misuse() -> None:
    """Our own writer keeps to the format."""
    attempts: list[Callable[[], object]] = [
        lambda: sign_note("no line feed", ORIGIN, KEY),
        lambda: sign_note("tab\t\n", ORIGIN, KEY),
        lambda: sign_note(TEXT, "two words", KEY),
        lambda: sign_note(TEXT, "a+b", KEY),
        lambda: sign_note(TEXT, "", KEY),
        lambda: write_checkpoint(ORIGIN, -1, ROOT, KEY),
        lambda: write_checkpoint(ORIGIN, 1, ROOT[:31], KEY),
        lambda: write_checkpoint(ORIGIN, 1, ROOT, KEY, extensions=("",)),
        lambda: write_checkpoint(ORIGIN, 1, ROOT, KEY, extensions=("a\nb",)),
        lambda: sign_note(TEXT, ORIGIN, PrivateKey.generate("P-256")),
    ]
    for attempt in attempts:
        with pytest.raises(Misuse):
            attempt()


@given(
    st.binary(max_size=80)
    | st.lists(st.sampled_from([TEXT, "\n", LINE, f"— {ORIGIN} ", "AAAAAAAA", "—", " "])).map("".join).map(str.encode)
)
def test_no_note_escapes_the_verifier(note: bytes) -> None:
    """The text as signed, or a refusal."""
    try:
        outcome = verify_note(note, ORIGIN, KEY.public)
    except Refused as refused:
        outcome = refused.refusal.code
    assert outcome in (TEXT, "malformed_note", "unsigned_note", "bad_signature")
