"""Secrets under a passphrase: opened by it alone, altered in nothing, and never at a hostile price."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.proof.sealed import DEFAULT_COST, LARGEST_COST, Cost, Sealed, open_sealed, seal

CHEAP = Cost(memory_kib=8, passes=1, lanes=1)
SALT, NONCE = b"s" * 16, b"n" * 12
BOX = seal(b"secret", "correct horse", salt=SALT, nonce=NONCE, cost=CHEAP, label="principal")


def refusal_of(sealed: Sealed, passphrase: str = "correct horse", label: str = "principal") -> str:
    with pytest.raises(Refused) as caught:
        open_sealed(sealed, passphrase, label=label)
    return caught.value.refusal.code


def test_the_box_is_opened_by_its_passphrase_alone() -> None:
    """And it can be written to a file and read back."""
    again = strictjson.decode(strictjson.encode(BOX), Sealed)
    assert open_sealed(again, "correct horse", label="principal") == b"secret"
    for wrong in ("correct horse ", "Correct horse", "x"):
        assert refusal_of(BOX, wrong) == "wrong_passphrase"


def test_the_box_is_argon2id_and_chacha20_poly1305() -> None:
    """Put together by hand from the two primitives, so that the file can be opened without us."""
    key = hash_secret_raw(b"correct horse", SALT, time_cost=1, memory_cost=8, parallelism=1, hash_len=32, type=Type.ID)
    bound = strictjson.encode(msgspec.structs.replace(BOX, box=""))
    assert ChaCha20Poly1305(key).decrypt(NONCE, b64u.decode(BOX.box), bound) == b"secret"


@pytest.mark.parametrize(
    "change",
    [
        {"memory_kib": 16},
        {"passes": 2},
        {"lanes": 1, "memory_kib": 9},
        {"salt": b64u.encode(b"t" * 16)},
        {"nonce": b64u.encode(b"m" * 12)},
        {"box": b64u.encode(b64u.decode(BOX.box)[:-1])},
        {"box": b64u.encode(b"\0" + b64u.decode(BOX.box))},
        {"box": ""},
    ],
)
def test_an_altered_box_does_not_open(change: dict[str, Any]) -> None:
    """Cost, salt, nonce and content are bound together."""
    assert refusal_of(msgspec.structs.replace(BOX, **change)) == "wrong_passphrase"


def test_one_secret_does_not_stand_in_for_another() -> None:
    """The label is compared and bound as well."""
    assert refusal_of(BOX, label="ledger") == "malformed_box"
    assert refusal_of(msgspec.structs.replace(BOX, label="ledger"), label="ledger") == "wrong_passphrase"


@pytest.mark.parametrize(
    "change",
    [
        {"memory_kib": 100 * 1024 * 1024},
        {"memory_kib": LARGEST_COST.memory_kib + 1},
        {"memory_kib": 7},
        {"memory_kib": 0},
        {"memory_kib": -8},
        {"passes": LARGEST_COST.passes + 1},
        {"passes": 0},
        {"lanes": LARGEST_COST.lanes + 1, "memory_kib": 1024},
        {"lanes": 0},
        {"lanes": 2},
        {"v": 2},
        {"salt": ""},
        {"salt": BOX.salt + "="},
        {"salt": b64u.encode(b"s" * 15)},
        {"nonce": b64u.encode(b"n" * 13)},
        {"box": "*"},
        {"box": "A" * 200_000},
    ],
)
def test_a_hostile_box_costs_nothing(change: dict[str, Any]) -> None:
    """A file cannot ask for a hundred gigabytes or a day of work; it is refused before any is done."""
    assert refusal_of(msgspec.structs.replace(BOX, **change)) == "malformed_box"


def test_an_empty_passphrase_is_none() -> None:
    """Neither to close nor to open with."""
    assert refusal_of(BOX, "") == "empty_passphrase"
    with pytest.raises(Refused) as caught:
        seal(b"secret", "", salt=SALT, nonce=NONCE, cost=CHEAP)
    assert caught.value.refusal.code == "empty_passphrase"


def test_a_passphrase_counts_by_its_characters_and_not_by_the_keyboard() -> None:
    """Composed and combining spellings are one; undecodable input from a terminal still counts."""
    for typed, again in (("caf\u00e9", "cafe\u0301"), ("\udce9x", "\udce9x")):
        box = seal(b"secret", typed, salt=SALT, nonce=NONCE, cost=CHEAP)
        assert open_sealed(box, again) == b"secret"


@given(st.binary(max_size=200), st.text(min_size=1, max_size=20))
def test_any_secret_comes_back(secret: bytes, passphrase: str) -> None:
    """Whatever the bytes and the passphrase."""
    box = seal(secret, passphrase, salt=SALT, nonce=NONCE, cost=CHEAP)
    assert open_sealed(box, passphrase) == secret
    assert secret == b"" or len(secret) < 6 or secret not in strictjson.encode(box)


@pytest.mark.parametrize(
    "change",
    [{"salt": b"short"}, {"nonce": b"short"}, {"cost": Cost(2**30, 1, 1)}, {"secret": b"x" * 70_000}],
)
def test_a_box_that_would_not_open_is_never_closed(change: dict[str, Any]) -> None:
    """Our own writer keeps to the bounds."""
    given: dict[str, Any] = {"secret": b"secret", "salt": SALT, "nonce": NONCE, "cost": CHEAP} | change
    with pytest.raises(Misuse):
        seal(given.pop("secret"), "correct horse", **given)


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be given less memory")
def test_a_box_that_asks_for_more_memory_than_there_is_is_refused() -> None:
    """In a process that may have 200 MiB."""
    largest = strictjson.encode(msgspec.structs.replace(BOX, memory_kib=LARGEST_COST.memory_kib)).decode()
    program = f"""
import resource
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.proof.sealed import Sealed, open_sealed
box = strictjson.decode({largest.encode()!r}, Sealed)
resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))
try:
    open_sealed(box, "correct horse", label="principal")
except Refused as refused:
    print(refused.refusal.code)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "malformed_box\n"


def test_the_default_cost_is_what_rfc_9106_recommends() -> None:
    """Its second choice: 64 MiB, three passes, four lanes; and within what we open."""
    assert Cost(memory_kib=65_536, passes=3, lanes=4) == DEFAULT_COST
    assert open_sealed(seal(b"s", "p", salt=SALT, nonce=NONCE), "p") == b"s"
