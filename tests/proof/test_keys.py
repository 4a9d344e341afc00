"""Keys: one name each, no private part ever taken, no point that proves nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OKPKey

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.proof.keys import PRIVATE_MEMBERS, Jwk, KeyKind, PrivateKey, PublicKey

# RFC 8037, appendix A.
SEED = b64u.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
ED25519: dict[str, Any] = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
# The key of RFC 7515, appendix A.3.
P256: dict[str, Any] = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

kinds = pytest.mark.parametrize("kind", ["Ed25519", "P-256"])


def refusal_of(jwk: dict[str, Any]) -> tuple[str, str | None]:
    with pytest.raises(Refused) as caught:
        PublicKey.from_jwk(jwk)
    return caught.value.refusal.code, caught.value.refusal.reason


@pytest.mark.req("SCH-016", "SCH-017")
def test_the_thumbprint_of_rfc_8037_is_found() -> None:
    """Appendix A.3: over the required members alone, in order, without white space."""
    thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert PublicKey.from_jwk(ED25519).thumbprint == thumbprint
    assert PublicKey.from_jwk(ED25519 | {"kid": "one", "use": "sig", "alg": "EdDSA"}).thumbprint == thumbprint
    assert PrivateKey.from_seed(SEED).public.thumbprint == thumbprint
    assert PrivateKey.from_seed(SEED).public.jwk() == ED25519


def test_the_signature_of_rfc_8037_is_made() -> None:
    """Appendix A.4, to the byte."""
    signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    assert b64u.encode(PrivateKey.from_seed(SEED).sign(signed)) == signature


def test_the_signature_of_rfc_7515_is_verified() -> None:
    """Appendix A.3: ES256, raw r||s."""
    signed = (
        b"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog"
        b"Imh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    )
    signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    PublicKey.from_jwk(P256).verify(b64u.decode(signature), signed)


@kinds
def test_another_library_gives_the_same_name(kind: KeyKind) -> None:
    """Thumbprints of fresh keys, reckoned by joserfc."""
    public = PrivateKey.generate(kind).public
    jwk: dict[str, Any] = dict(public.jwk())
    other = OKPKey.import_key(jwk) if kind == "Ed25519" else ECKey.import_key(jwk)
    assert public.thumbprint == other.thumbprint()
    assert len(public.thumbprint) == 43


@kinds
def test_a_key_comes_back_from_its_bytes_and_from_its_jwk(kind: KeyKind) -> None:
    """And both halves still belong together."""
    key = PrivateKey.generate(kind)
    again = PrivateKey.from_private_bytes(kind, key.private_bytes())
    public = PublicKey.from_jwk(json.loads(json.dumps(again.public.jwk())))
    assert public == key.public
    assert hash(public) == hash(key.public)
    signature = key.sign(b"content")
    assert len(signature) == 64
    public.verify(signature, b"content")


@kinds
@given(data=st.data())
def test_a_changed_signature_or_content_is_refused(kind: KeyKind, data: st.DataObject) -> None:
    """Any bit of either, and any other length."""
    key = PrivateKey.generate(kind)
    signature = bytearray(key.sign(b"content"))
    bit = data.draw(st.integers(0, 511))
    signature[bit // 8] ^= 1 << bit % 8
    attempts = [(bytes(signature), b"content"), (key.sign(b"content"), b"contenu")]
    attempts.append((data.draw(st.binary(max_size=80)), b"content"))
    for attempt, content in attempts:
        with pytest.raises(Refused) as caught:
            key.public.verify(attempt, content)
        assert caught.value.refusal.code == "bad_signature"


@kinds
def test_another_key_did_not_sign(kind: KeyKind) -> None:
    """Keys are told apart, also as values."""
    one, two = PrivateKey.generate(kind), PrivateKey.generate(kind)
    assert one.public != two.public
    with pytest.raises(Refused):
        two.public.verify(one.sign(b"content"), b"content")


def test_signatures_on_p256_are_raw_and_not_der() -> None:
    """The form most libraries hand out is refused."""
    key = PrivateKey.generate("P-256")
    raw = key.sign(b"content")
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    zero = bytes(32)
    for attempt in (encode_dss_signature(r, s), raw[:32] + zero, zero + raw[32:], zero + zero, raw + b"\0"):
        with pytest.raises(Refused):
            key.public.verify(attempt, b"content")


@pytest.mark.req("SCH-019")
@pytest.mark.parametrize("member", sorted(PRIVATE_MEMBERS))
@pytest.mark.parametrize("jwk", [ED25519, P256])
def test_a_key_that_comes_with_its_private_part_is_refused(jwk: dict[str, Any], member: str) -> None:
    """Under a code of its own, for somebody has just lost a key; even if the rest is wrong as well."""
    for value in ("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "", None, 5):
        assert refusal_of(jwk | {member: value, "more": 1})[0] == "private_key_received"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kty": "RSA"}, "unsupported_kind"),
        ({"kty": "EC"}, "unsupported_kind"),
        ({"crv": "Ed448"}, "unsupported_kind"),
        ({"crv": "X25519"}, "unsupported_kind"),
        ({"crv": "ed25519"}, "unsupported_kind"),
        ({"alg": "ES256"}, "wrong_alg"),
        ({"alg": "Ed25519"}, "wrong_alg"),
        ({"alg": "none"}, "wrong_alg"),
        ({"use": "enc"}, "wrong_use"),
        ({"y": ED25519["x"]}, "members"),
        ({"x": None}, "members"),
        ({"x": 5}, "members"),
        ({"key_ops": ["verify"]}, "members"),
        ({"x5c": []}, "members"),
        ({"X": "y"}, "members"),
        ({"x": ED25519["x"] + "="}, "coordinates"),
        ({"x": ED25519["x"][:-1] + "p"}, "coordinates"),
        ({"x": ED25519["x"].replace("_", "/")}, "coordinates"),
        ({"x": b64u.encode(b64u.decode(ED25519["x"])[:31])}, "coordinates"),
        ({"x": b64u.encode(b64u.decode(ED25519["x"]) + b"\0")}, "coordinates"),
        ({"x": ""}, "coordinates"),
    ],
)
def test_an_odd_ed25519_key_is_refused(change: dict[str, Any], reason: str) -> None:
    """Other curves, other uses, unknown members, and every second spelling of a coordinate."""
    assert refusal_of(ED25519 | change) == ("malformed_key", reason)


def flipped(text: str) -> str:
    data = bytearray(b64u.decode(text))
    data[-1] ^= 1
    return b64u.encode(bytes(data))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"crv": "P-384"}, "unsupported_kind"),
        ({"alg": "EdDSA"}, "wrong_alg"),
        ({"y": None}, "members"),
        ({"y": flipped(P256["y"])}, "not_on_curve"),
        ({"x": b64u.encode(bytes(32)), "y": b64u.encode(bytes(32))}, "not_on_curve"),
        ({"x": b64u.encode(b"\xff" * 32)}, "not_on_curve"),
        ({"y": P256["y"][:-1]}, "coordinates"),
        ({"x": b64u.encode(b"\0" + b64u.decode(P256["x"]))}, "coordinates"),
    ],
)
def test_a_p256_key_off_its_curve_or_misspelt_is_refused(change: dict[str, Any], reason: str) -> None:
    """The point is checked before anybody uses it."""
    assert refusal_of(P256 | change) == ("malformed_key", reason)


def test_a_p256_key_lacks_no_coordinate() -> None:
    """Half a point is none."""
    assert refusal_of({name: P256[name] for name in ("kty", "crv", "x")}) == ("malformed_key", "members")


P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P


def small_order_points() -> set[bytes]:
    """The eight points of small order on edwards25519, reckoned by doubling and not from the code's table."""

    def plus(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        product = D * a[0] * b[0] * a[1] * b[1]
        x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, P - 2, P) % P
        y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, P - 2, P) % P
        return x, y

    order = 2**252 + 27742317777372353535851937790883648493
    found: set[tuple[int, int]] = set()
    y = 2
    while len(found) < 8:
        y += 1
        square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
        x = pow(square, (P + 3) // 8, P)
        if (x * x - square) % P:
            x = x * pow(2, (P - 1) // 4, P) % P
        if (x * x - square) % P:
            continue
        point, power, left = (0, 1), (x, y), order
        while left:
            point = plus(point, power) if left & 1 else point
            power, left = plus(power, power), left >> 1
        step = (0, 1)
        for _ in range(8):
            found.add(step)
            step = plus(step, point)
    return {(y | (x & 1) << 255).to_bytes(32, "little") for x, y in found}


def test_a_point_of_small_order_is_refused_in_every_spelling() -> None:
    """Under such a key one signature fits many messages: it could never bind anyone."""
    points = small_order_points()
    assert len(points) == 8
    flipped_signs = {bytes([*point[:31], point[31] ^ 0x80]) for point in points}
    beyond_the_field = {(P + y).to_bytes(32, "little") for y in range(19)}
    for point in points | flipped_signs | beyond_the_field:
        assert refusal_of(ED25519 | {"x": b64u.encode(point)}) == ("malformed_key", "coordinates")


@pytest.mark.req("SCH-027")
def test_a_published_key_says_what_it_is_for() -> None:
    """`sign` and `verify` beside RFC 7517's `sig`, and as a closed struct."""
    for use in ("sig", "sign", "verify", None):
        published = Jwk(**ED25519, kid="k1", use=use)
        assert PublicKey.from_jwk(published).jwk() == ED25519


def test_a_private_key_shows_its_public_name_only() -> None:
    """Logs and tracebacks print the repr."""
    key = PrivateKey.from_seed(SEED)
    for secret in (SEED.hex(), b64u.encode(SEED), str(list(SEED)), repr(SEED)):
        assert secret not in repr(key) + str(key.__dict__)
    assert key.public.thumbprint in repr(key)


@pytest.mark.parametrize(
    ("kind", "data"),
    [("Ed25519", b"short"), ("P-256", bytes(32)), ("P-256", P256_ORDER.to_bytes(32, "big")), ("P-256", b"x" * 33)],
)
def test_bytes_that_are_no_private_key_are_misuse(kind: KeyKind, data: bytes) -> None:
    """They come from our own vault."""
    with pytest.raises(Misuse):
        PrivateKey.from_private_bytes(kind, data)


def test_there_are_two_kinds_of_keys() -> None:
    """And no third by accident."""
    with pytest.raises(Misuse):
        PrivateKey.generate("RSA")  # type: ignore[arg-type]


@given(
    st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y", "kid", "use", "alg", "d", "z"]),
        st.none()
        | st.booleans()
        | st.sampled_from(["OKP", "EC", "Ed25519", "P-256", "sig", "", "é", *ED25519.values(), *P256.values()]),
    )
)
def test_no_members_escape_the_reader(members: dict[str, Any]) -> None:
    """A key or a refusal, never another exception."""
    try:
        outcome: str = PublicKey.from_jwk(members).kind
    except Refused as refused:
        outcome = refused.refusal.code
    assert outcome in ("Ed25519", "P-256", "malformed_key", "private_key_received")
