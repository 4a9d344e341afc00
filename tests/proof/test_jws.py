"""Compact JWS in its one spelling, with an independent library as the oracle both ways."""

from __future__ import annotations

import json
import warnings
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws as oracle
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import MAX_TOKEN, Header, Unverified, read_jws, sign_jws, verify_jws, verify_payload
from sayso.proof.keys import KeyKind, PrivateKey, PublicKey

TYP = "schcp-offer+jwt"
KEY = PrivateKey.from_seed(b"\x01" * 32)
P256_KEY = PrivateKey.from_private_bytes("P-256", b"\x02" * 32)


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    text: str


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    iss: str
    iat: int
    lines: list[Line] = []


OFFER = Offer(iss="maple", iat=1_791_896_400, lines=[Line(text="Oil change")])


def part(value: object) -> str:
    """One part of a token, from bytes or from a value in compact JSON."""
    return b64u.encode(value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())


def forged(header: object, payload: object = None, key: PrivateKey = KEY) -> str:
    """A token with a header of our choosing, signed all the same."""
    signed = f"{part(header)}.{part(msgspec.to_builtins(OFFER) if payload is None else payload)}"
    return f"{signed}.{b64u.encode(key.sign(signed.encode()))}"


def refusal_of(token: str, key: PublicKey = KEY.public, typ: str = TYP) -> tuple[str, str | None]:
    with pytest.raises(Refused) as caught:
        verify_jws(token, typ=typ, key=key, claims=Offer)
    return caught.value.refusal.code, caught.value.refusal.reason


@pytest.mark.req("SCH-022", "SCH-170")
def test_a_signed_document_is_verified_and_named_by_its_bytes() -> None:
    """Header, claims, token and hash come back as one value."""
    token = sign_jws(OFFER, KEY, typ=TYP, kid="k1")
    verified = verify_jws(token, typ=TYP, key=KEY.public, claims=Offer)
    assert (verified.header, verified.claims, verified.token, verified.sha256) == (
        Header(alg="EdDSA", typ=TYP, kid="k1"),
        OFFER,
        token,
        sha256_b64u(token.encode("ascii")),
    )
    assert b64u.decode(token.split(".")[0]) == b'{"alg":"EdDSA","typ":"schcp-offer+jwt","kid":"k1"}'


@pytest.mark.req("SCH-022")
def test_a_mandates_header_shows_alg_and_typ_only() -> None:
    """No kid unless one is given."""
    token = sign_jws(OFFER, KEY, typ="schcp-mandate+jwt")
    assert b64u.decode(token.split(".")[0]) == b'{"alg":"EdDSA","typ":"schcp-mandate+jwt"}'


def test_bytes_are_signed_as_they_are() -> None:
    """Whoever has the exact text of a document keeps it."""
    text = b'{ "iat": 1, "iss": "x" }'
    token = sign_jws(text, KEY, typ=TYP)
    assert read_jws(token).payload == text
    assert verify_jws(token, typ=TYP, key=KEY.public, claims=Offer).claims == Offer(iss="x", iat=1)
    assert sign_jws({"iat": 1, "iss": "x"}, KEY, typ=TYP) == sign_jws(b'{"iat":1,"iss":"x"}', KEY, typ=TYP)


@pytest.mark.req("SCH-018")
def test_the_key_is_chosen_by_the_header_and_by_nothing_else() -> None:
    """Exactly the key named is asked for; its absence is the chooser's refusal."""
    keys = {"k1": KEY.public}
    asked: list[Header] = []

    def choose(header: Header) -> PublicKey:
        asked.append(header)
        if header.kid not in keys:
            raise Refused.because("unknown_key", "no such key")
        return keys[header.kid]

    token = sign_jws(OFFER, KEY, typ=TYP, kid="k1")
    assert verify_jws(token, typ=TYP, key=choose, claims=Offer).claims == OFFER
    with pytest.raises(Refused) as caught:
        verify_jws(sign_jws(OFFER, KEY, typ=TYP, kid="k2"), typ=TYP, key=choose, claims=Offer)
    assert caught.value.refusal.code == "unknown_key"
    assert [header.kid for header in asked] == ["k1", "k2"]


@pytest.mark.req("SCH-022")
@pytest.mark.parametrize(
    "typ", ["schcp-offer+jwt", "SchCP-Offer+JWT", "application/schcp-offer+jwt", "Application/SCHCP-OFFER+jwt"]
)
def test_typ_is_compared_as_a_media_type(typ: str) -> None:
    """Without case, and `application/` may be left out."""
    token = forged({"alg": "EdDSA", "typ": typ})
    for wanted in (TYP, "application/" + TYP):
        assert verify_jws(token, typ=wanted, key=KEY.public, claims=Offer).claims == OFFER


@pytest.mark.req("SCH-022")
@pytest.mark.parametrize(
    "typ",
    [
        "schcp-receipt+jwt",
        "JWT",
        "",
        "text/schcp-offer+jwt",
        "application/x/schcp-offer+jwt",
        "schcp-offer+jwt ",
        "schcp-offer",
        "schcp-offer+\u212awt",
    ],
)
def test_one_kind_of_document_never_stands_in_for_another(typ: str) -> None:
    """A receipt is no offer, and a generic token is nothing."""
    assert refusal_of(forged({"alg": "EdDSA", "typ": typ})) == ("wrong_typ", None)


@pytest.mark.req("SCH-022")
@pytest.mark.parametrize("alg", ["none", "None", "HS256", "ES256", "Ed25519", "eddsa", "RS256", "", "EdDSA "])
def test_the_algorithm_is_the_keys_and_never_the_tokens(alg: str) -> None:
    """Also `Ed25519`, RFC 9864's word: one spelling is fixed."""
    assert refusal_of(forged({"alg": alg, "typ": TYP})) == ("alg_not_allowed", None)


def test_a_key_of_another_kind_does_not_take_the_others_algorithm() -> None:
    """ES256 for P-256 alone, EdDSA for Ed25519 alone."""
    assert refusal_of(sign_jws(OFFER, KEY, typ=TYP), P256_KEY.public) == ("alg_not_allowed", None)
    assert refusal_of(sign_jws(OFFER, P256_KEY, typ=TYP)) == ("alg_not_allowed", None)
    token = sign_jws(OFFER, P256_KEY, typ=TYP)
    assert verify_jws(token, typ=TYP, key=P256_KEY.public, claims=Offer).header.alg == "ES256"


@pytest.mark.req("SCH-022")
@pytest.mark.parametrize(
    "extra",
    [
        {"crit": ["b64"], "b64": False},
        {"crit": []},
        {"crit": ["alg"]},
        {"b64": True},
        {"b64": False},
        {"jwk": KEY.public.jwk()},
        {"jku": "https://keys.example/"},
        {"x5u": "https://keys.example/"},
        {"x5c": []},
        {"x5t": "AA"},
        {"x5t#S256": "AA"},
        {"cty": "JWT"},
        {"zip": "DEF"},
        {"enc": "A128GCM"},
        {"Alg": "EdDSA"},
        {"anything": None},
        {"kid": 5},
        {"typ": 5},
        {"alg": None},
    ],
)
def test_a_header_holds_alg_typ_and_kid_only(extra: dict[str, Any]) -> None:
    """Nothing that a token says of itself can bring a key, an encoding or a rule with it; signed or not."""
    header = {"alg": "EdDSA", "typ": TYP} | extra
    assert refusal_of(forged(header)) == ("malformed_token", "header_member")
    assert refusal_of(forged(header)[:-4] + "AAAA", typ="another") == ("malformed_token", "header_member")


@pytest.mark.parametrize("missing", ["alg", "typ"])
def test_a_header_lacks_neither_alg_nor_typ(missing: str) -> None:
    """A token that does not say what it is, is nothing."""
    header = {name: value for name, value in {"alg": "EdDSA", "typ": TYP}.items() if name != missing}
    assert refusal_of(forged(header)) == ("malformed_token", "header_member")


@pytest.mark.req("SCH-024")
@pytest.mark.parametrize(
    "header",
    [
        b'{"alg":"none","alg":"EdDSA","typ":"schcp-offer+jwt"}',
        b'{"alg":"EdDSA","typ":"x","\\u0074yp":"schcp-offer+jwt"}',
        b'{"alg":"EdDSA","typ":"schcp-offer+jwt"}x',
        b'\xef\xbb\xbf{"alg":"EdDSA","typ":"schcp-offer+jwt"}',
        b"\xff",
        b'{"alg":"EdDSA"',
    ],
)
def test_a_header_is_strict_json(header: bytes) -> None:
    """No member twice, no mark, nothing behind it."""
    assert refusal_of(forged(header)) == ("malformed_token", "header_json")


@pytest.mark.req("SCH-024")
@pytest.mark.parametrize(
    "payload",
    [
        b'{"iss":"a","iss":"b","iat":1}',
        b'{"iss":"a","iat":1e400}',
        b'{"iss":"a","iat":1,"lines":[{"text":"","text":""}]}',
        b"",
        b"\xff",
    ],
)
def test_a_payload_is_strict_json(payload: bytes) -> None:
    """However well it is signed."""
    signed = f"{part({'alg': 'EdDSA', 'typ': TYP})}.{b64u.encode(payload)}"
    token = f"{signed}.{b64u.encode(KEY.sign(signed.encode()))}"
    assert refusal_of(token) == ("malformed_token", "payload_json" if payload else "shape")


@pytest.mark.req("SCH-023")
@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"more": 1}, "$"),
        ({"lines": [{"text": "a", "more": 1}]}, "$.lines[0]"),
        ({"iat": True}, "$.iat"),
        ({"iat": "1791896400"}, "$.iat"),
        ({"iat": 1.5}, "$.iat"),
        ({"iss": None}, "$.iss"),
    ],
)
def test_claims_are_closed_and_strictly_typed_at_every_depth(change: dict[str, Any], place: str) -> None:
    """The refusal names the claim."""
    token = forged({"alg": "EdDSA", "typ": TYP}, msgspec.to_builtins(OFFER) | change)
    with pytest.raises(Refused) as caught:
        verify_jws(token, typ=TYP, key=KEY.public, claims=Offer)
    refusal = caught.value.refusal
    assert (refusal.code, refusal.reason, refusal.place) == ("malformed_token", "payload_claims", place)


TOKEN = sign_jws(OFFER, KEY, typ=TYP)
HEAD, BODY, SIGNATURE = TOKEN.split(".")
B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest.mark.req("SCH-022")
@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "shape"),
        ("..", "shape"),
        (f"{HEAD}.{BODY}", "shape"),
        (f"{HEAD}.{BODY}.", "shape"),
        (f".{BODY}.{SIGNATURE}", "shape"),
        (f"{HEAD}..{SIGNATURE}", "shape"),
        (f"{TOKEN}.{SIGNATURE}", "shape"),
        (f"{TOKEN}==", "shape"),
        (f"{TOKEN}\n", "shape"),
        (f" {TOKEN}", "shape"),
        (TOKEN.replace("-", "+").replace("_", "/"), "shape"),
        (json.dumps({"payload": BODY, "protected": HEAD, "signature": SIGNATURE}), "shape"),
        (f"{HEAD}.{BODY}.{SIGNATURE[:-1]}{B64[B64.index(SIGNATURE[-1]) + 1]}", "base64url"),
        (f"{HEAD}.{BODY}.{SIGNATURE}AAA", "base64url"),
        (f"{HEAD}.{BODY}." + "A" * MAX_TOKEN, "too_long"),
    ],
)
def test_a_token_has_one_spelling(token: str, reason: str) -> None:
    """Padding, another alphabet, trailing bits and the JSON form would be second names for one document."""
    assert refusal_of(token) == ("malformed_token", reason)


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from(B64 + ".="))
def test_any_changed_character_is_noticed(place: int, sign: str) -> None:
    """There is no spare bit in a token."""
    changed = TOKEN[:place] + sign + TOKEN[place + 1 :]
    if changed != TOKEN:
        with pytest.raises(Refused):
            verify_jws(changed, typ=TYP, key=KEY.public, claims=Offer)


@given(st.text(max_size=60) | st.lists(st.binary(max_size=30).map(b64u.encode), min_size=3, max_size=3).map(".".join))
def test_no_text_escapes_the_reader(token: str) -> None:
    """A shape or a refusal, never another exception."""
    try:
        outcome = "read" if isinstance(read_jws(token), Unverified) else "nothing"
    except Refused as refused:
        outcome = refused.refusal.code
    assert outcome in ("read", "malformed_token")


def test_another_signer_is_refused() -> None:
    """A well-formed token by the wrong key."""
    assert refusal_of(sign_jws(OFFER, PrivateKey.generate(), typ=TYP)) == ("bad_signature", None)


def test_a_document_nobody_could_read_is_never_signed() -> None:
    """The bound holds on both sides."""
    with pytest.raises(Misuse):
        sign_jws(b"x" * MAX_TOKEN, KEY, typ=TYP)


def other_key(key: PrivateKey, *, private: bool) -> OKPKey | ECKey:
    jwk: dict[str, Any] = dict(key.public.jwk())
    if private:
        jwk["d"] = b64u.encode(key.private_bytes())
    return OKPKey.import_key(jwk) if key.kind == "Ed25519" else ECKey.import_key(jwk)


@pytest.mark.parametrize("kind", ["Ed25519", "P-256"])
@given(claims=st.builds(Offer, iss=st.text(max_size=20), iat=st.integers(0, 2**53)))
def test_another_library_reads_what_we_sign_and_signs_what_we_read(kind: KeyKind, claims: Offer) -> None:
    """joserfc, with `EdDSA` allowed by name, agrees in both directions."""
    key = KEY if kind == "Ed25519" else P256_KEY
    alg = key.public.algorithm
    token = sign_jws(claims, key, typ=TYP, kid="k1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of the older name EdDSA
        read = oracle.deserialize_compact(token, other_key(key, private=False), algorithms=[alg])
        theirs = oracle.serialize_compact(
            {"typ": TYP, "alg": alg}, msgspec.json.encode(claims), other_key(key, private=True), algorithms=[alg]
        )
        changed = token[:-8] + ("AAAAAAAA" if token[-8:] != "AAAAAAAA" else "BBBBBBBB")
        with pytest.raises(JoseError):
            oracle.deserialize_compact(changed, other_key(key, private=False), algorithms=[alg])
    assert (read.payload, read.headers()) == (msgspec.json.encode(claims), {"alg": alg, "typ": TYP, "kid": "k1"})
    assert verify_jws(theirs, typ=TYP, key=key.public, claims=Offer).claims == claims


def test_headers_that_were_read_or_written_before_are_not_mixed_up() -> None:
    """They are remembered by all that stands in them: two documents, two keys and two kinds of key take turns."""
    for _ in range(2):
        for key, typ, kid in (
            (KEY, TYP, "k1"),
            (KEY, TYP, "k2"),
            (KEY, "schcp-receipt+jwt", "k1"),
            (P256_KEY, TYP, "k1"),
        ):
            token = sign_jws(OFFER, key, typ=typ, kid=kid)
            assert read_jws(token).header == Header(alg=key.public.algorithm, typ=typ, kid=kid)
            assert verify_jws(token, typ=typ, key=key.public, claims=Offer).claims == OFFER


def test_a_payload_is_handed_out_only_once_its_signature_holds() -> None:
    """Whoever reads a key out of a payload first still gets the payload's word from here alone."""
    seen = read_jws(sign_jws(OFFER, KEY, typ=TYP))
    assert verify_payload(seen, typ=TYP, key=KEY.public) == seen.payload
    for key, typ in ((PrivateKey.from_seed(b"\x03" * 32).public, TYP), (KEY.public, "schcp-receipt+jwt")):
        with pytest.raises(Refused):
            verify_payload(seen, typ=typ, key=key)
