"""Signed requests in their one form: what holds, and each way of not holding with its own code."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.proof.httpsig import CODES, SignedRequest, sign_request, target_uri, verify_request
from sayso.proof.keys import PrivateKey

KEY = PrivateKey.from_seed(b"\x07" * 32)
NOW = 1_791_896_400
NONCE = "a1LuJVeEwcrLIl0cPLPvQQ"
URL = "https://maplestreetauto.example/schcp/v0/holds?x=1"
BODY = b'{"idempotency_key":"k"}'

Headers = list[tuple[bytes, bytes]]


class Memory:
    """Nonces as a server keeps them: by key and nonce, until told."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], int] = {}

    def __call__(self, thumbprint: str, nonce: str, keep_until: int) -> bool:
        if (thumbprint, nonce) in self.kept:
            return True
        self.kept[thumbprint, nonce] = keep_until
        return False


def signed(**change: Any) -> Headers:
    """The headers of the sample request, with anything about its signing changed."""
    given: dict[str, Any] = {"method": "POST", "target": URL, "body": BODY, "key": KEY, "created": NOW, "nonce": NONCE}
    given |= change
    made = sign_request(given.pop("method"), given.pop("target"), given.pop("body"), **given)
    return [(name.lower().encode(), value.encode()) for name, value in made]


def verified(headers: Headers, *, memory: Memory | None = None, **change: Any) -> SignedRequest:
    given: dict[str, Any] = {"method": "POST", "target": URL, "body": BODY, "now": NOW} | change
    return verify_request(
        given["method"], given["target"], given["body"], headers, now=given["now"], seen=memory or Memory()
    )


def refusal_of(headers: Headers, **change: Any) -> tuple[str, str | None, str | None]:
    """Code, reason and place; and no nonce was spent on it."""
    memory = Memory()
    with pytest.raises(Refused) as caught:
        verified(headers, memory=memory, **change)
    refusal = caught.value.refusal
    assert refusal.code in CODES
    assert memory.kept == {}
    return refusal.code, refusal.reason, refusal.place


def changed(name: str, old: str, new: str, headers: Headers | None = None) -> Headers:
    """The sample's headers with one text in one header replaced, exactly once."""
    result = []
    for field, value in headers or signed():
        if field == name.encode():
            assert value.count(old.encode()) == 1
            value = value.replace(old.encode(), new.encode())
        result.append((field, value))
    return result


def resigned(parameters: str, *, order: str = "method target digest") -> Headers:
    """A signature over parameters, or components, of our choosing: right in every way but the form."""
    digest = dict(signed())[b"content-digest"].decode()
    lines = {
        "method": '"@method": POST',
        "target": f'"@target-uri": {URL}',
        "digest": f'"content-digest": {digest}',
    }
    base = "\n".join([*(lines[name] for name in order.split()), f'"@signature-params": {parameters}'])
    signature = b64encode(KEY.sign(base.encode())).decode()
    headers = dict(signed())
    headers[b"signature-input"] = f"schcp={parameters}".encode()
    headers[b"signature"] = f"schcp=:{signature}:".encode()
    return list(headers.items())


COVERED = '("@method" "@target-uri" "content-digest")'
GIVEN = f'created={NOW};keyid="{KEY.public.thumbprint}";nonce="{NONCE}";alg="ed25519"'


@pytest.mark.req("SCH-051", "SCH-052", "SCH-053", "SCH-054", "SCH-059")
def test_a_signed_request_has_exactly_these_headers() -> None:
    """A vector: with this key, time and nonce any implementation writes these bytes."""
    assert sign_request("POST", URL, BODY, key=KEY, created=NOW, nonce=NONCE) == [
        ("Content-Digest", "sha-256=:LiZ1q6gCTeVTKUPzELL0HVHI2MzgA50RAw2UvKveIKY=:"),
        (
            "Signature-Input",
            'schcp=("@method" "@target-uri" "content-digest");created=1791896400;'
            'keyid="--6IM5l0OosLj9yWskISYhUA3n_3CURQkmrYMSha_ck";nonce="a1LuJVeEwcrLIl0cPLPvQQ";alg="ed25519"',
        ),
        (
            "Signature",
            "schcp=:Dks3eQ0VFIXNiH+sXBli7DLgnBht9lHsK2bgsWQXDbpOLEv/EQf2WjhQK2FYlswfIWSDO33f3UF8BgXjW7GaBg==:",
        ),
        (
            "SchCP-Agent-Key",
            "eyJrdHkiOiJPS1AiLCJjcnYiOiJFZDI1NTE5IiwieCI6IjZrcHNZLUtjVWdxLTlWQjdFeTdGLVpWSGRxNi12bnVTUWg3cWFSUkcwaXcifQ",
        ),
    ]


@pytest.mark.req("SCH-051", "SCH-054", "SCH-062")
def test_a_request_as_signed_is_verified_and_its_nonce_kept() -> None:
    """Who, when and under which nonce; kept until it can be no longer fresh, from its own time and not from ours."""
    memory = Memory()
    assert verified(signed(), memory=memory, now=NOW + 3) == SignedRequest(
        KEY.public, KEY.public.thumbprint, NOW, NONCE
    )
    assert memory.kept == {(KEY.public.thumbprint, NONCE): NOW + 70}


@pytest.mark.req("SCH-055")
@pytest.mark.parametrize("url", ["https://MapleStreetAuto.example:443/schcp/v0/holds?x=1", URL])
def test_both_sides_spell_the_target_alike(url: str) -> None:
    """Case of the host and the default port make no difference on either side."""
    assert verified(signed(target=url)).nonce == NONCE
    assert verified(signed(), target=url).nonce == NONCE


@pytest.mark.req("SCH-061")
def test_a_request_without_a_body_covers_the_digest_of_nothing() -> None:
    """Reads are signed like everything else."""
    headers = signed(method="GET", body=b"")
    assert dict(headers)[b"content-digest"] == b"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    assert verified(headers, method="GET", body=b"").nonce == NONCE


def test_header_names_are_matched_without_case_and_others_are_passed_over() -> None:
    """As HTTP/1.1 and HTTP/2 deliver them."""
    headers = [(name.title(), value) for name, value in signed()] + [
        (b"Host", b"x"),
        (b"Digest", b"y"),
        (b"x", b"\xff"),
    ]
    assert verified(headers).nonce == NONCE


@pytest.mark.req("SCH-055")
@pytest.mark.parametrize(
    "change",
    [
        {"target": URL + "&y=2"},
        {"target": URL.replace("?x=1", "")},
        {"target": URL.replace("holds", "Holds")},
        {"target": "https://127.0.0.1:8443/schcp/v0/holds?x=1"},
        {"target": "https://maplestreetauto.example:8443/schcp/v0/holds?x=1"},
        {"method": "PUT"},
        {"method": "GET"},
    ],
)
def test_a_signature_for_another_request_is_refused(change: dict[str, str]) -> None:
    """Another path, query, port, method, or the address a proxy sees."""
    assert refusal_of(signed(), **change)[0] == "bad_signature"


@pytest.mark.req("SCH-053")
@pytest.mark.parametrize("body", [b"", BODY + b"\n", BODY.replace(b"k", b"K"), b'{"idempotency_key": "k"}'])
def test_a_body_other_than_the_signed_one_is_refused(body: bytes) -> None:
    """The bytes as received are hashed, before anybody reads them."""
    assert refusal_of(signed(), body=body) == ("digest_mismatch", None, "content-digest")


@pytest.mark.req("SCH-053")
def test_a_digest_replaced_along_with_the_body_is_refused() -> None:
    """The digest is under the signature."""
    headers = dict(signed())
    headers[b"content-digest"] = dict(signed(body=b"other"))[b"content-digest"]
    assert refusal_of(list(headers.items()), body=b"other")[0] == "bad_signature"


@pytest.mark.req("SCH-057", "SCH-060")
@pytest.mark.parametrize(("age", "is_fresh"), [(61, False), (60, True), (0, True), (-10, True), (-11, False)])
def test_a_signature_is_fresh_for_sixty_seconds_and_ten_ahead(age: int, is_fresh: bool) -> None:
    """Both ends are exact."""
    if is_fresh:
        assert verified(signed(), now=NOW + age).created == NOW
    else:
        assert refusal_of(signed(), now=NOW + age) == ("stale_signature", None, "created")


@pytest.mark.req("SCH-056")
def test_a_request_received_before_is_a_replay_and_not_a_bad_signature() -> None:
    """Its own code; a retry is signed anew and passes; another key may use the same nonce."""
    memory = Memory()
    verified(signed(), memory=memory)
    with pytest.raises(Refused) as caught:
        verified(signed(), memory=memory)
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("replayed_request", "nonce")
    verified(signed(nonce="b" * 22), memory=memory)
    verified(signed(key=PrivateKey.from_seed(b"\x08" * 32)), memory=memory)
    assert len(memory.kept) == 3


@pytest.mark.req("SCH-056")
@pytest.mark.parametrize("answer", [None, 0, "", "fresh", 1, True])
def test_only_a_plain_no_of_the_memory_makes_a_nonce_new(answer: object) -> None:
    """A memory that forgot to answer has not said that the nonce is fresh."""
    with pytest.raises(Refused) as caught:
        verify_request("POST", URL, BODY, signed(), now=NOW, seen=lambda *_: answer)  # type: ignore[arg-type]
    assert caught.value.refusal.code == "replayed_request"


@pytest.mark.req("SCH-062")
def test_a_stranger_cannot_spend_somebody_elses_nonce() -> None:
    """`refusal_of` sees to it for each refusal: the memory is asked only after the signature holds."""
    forged = changed("signature", dict(signed())[b"signature"].decode()[7:20], "AAAAAAAAAAAAA")
    assert refusal_of(forged)[0] == "bad_signature"


@pytest.mark.req("SCH-058")
@pytest.mark.parametrize("name", ["content-digest", "signature-input", "signature", "schcp-agent-key"])
def test_each_header_is_there_exactly_once(name: str) -> None:
    """Missing, repeated or joined by a proxy: never guessed."""
    without = [(field, value) for field, value in signed() if field != name.encode()]
    value = dict(signed())[name.encode()]
    assert refusal_of(without) == ("malformed_signature", "missing_header", name)
    assert refusal_of([*signed(), (name.upper().encode(), value)]) == ("malformed_signature", "repeated_header", name)
    assert refusal_of([*without, (name.encode(), value + b", " + value)])[:2] == ("malformed_signature", "form")
    assert refusal_of([*without, (name.encode(), b"")])[:2] == ("malformed_signature", "form")
    assert refusal_of([*without, (name.encode(), value + b"\xe9")])[:2] == ("malformed_signature", "form")


@pytest.mark.req("SCH-052", "SCH-058")
@pytest.mark.parametrize(
    "parameters",
    [
        f'{COVERED};created={NOW};keyid="{KEY.public.thumbprint}";alg="ed25519";nonce="{NONCE}"',
        f"{COVERED};{GIVEN};expires={NOW + 60}",
        f'{COVERED};{GIVEN};tag="x"',
        f"{COVERED};{GIVEN};created={NOW}",
        f'{COVERED};created={NOW};keyid="{KEY.public.thumbprint}";nonce="{NONCE}"',
        f'{COVERED};created={NOW};keyid="{KEY.public.thumbprint}";alg="ed25519"',
        f'{COVERED};keyid="{KEY.public.thumbprint}";nonce="{NONCE}";alg="ed25519"',
        f"{COVERED};{GIVEN}".replace("ed25519", "ecdsa-p256-sha256"),
        f"{COVERED};{GIVEN}".replace("ed25519", "EdDSA"),
        f"{COVERED};{GIVEN}".replace(str(NOW), f'"{NOW}"'),
        f"{COVERED};{GIVEN}".replace(str(NOW), f"{NOW}.0"),
        f"{COVERED};{GIVEN}".replace(str(NOW), f"0{NOW}"),
        f"{COVERED};{GIVEN}".replace(str(NOW), f"-{NOW}"),
        f"{COVERED};{GIVEN}".replace(str(NOW), "9" * 15),
        f"{COVERED};{GIVEN}".replace(f'"{KEY.public.thumbprint}"', KEY.public.thumbprint),
        f"{COVERED};{GIVEN}".replace(NONCE, "short"),
        f"{COVERED};{GIVEN}".replace(NONCE, "n" * 65),
        f"{COVERED};{GIVEN}".replace(NONCE, NONCE + "=="),
        f"{COVERED};{GIVEN}".replace(";", "; "),
        f"{COVERED.replace(' ', '  ')};{GIVEN}",
        f"{COVERED.upper()};{GIVEN}",
    ],
)
def test_parameters_in_any_other_form_are_refused(parameters: str) -> None:
    """Though each is signed correctly over exactly what it says."""
    assert refusal_of(resigned(parameters)) == ("malformed_signature", "form", "signature-input")


@pytest.mark.req("SCH-051", "SCH-052")
@pytest.mark.parametrize(
    ("components", "order"),
    [
        ('("@target-uri" "@method" "content-digest")', "target method digest"),
        ('("@method" "@target-uri")', "method target"),
        ('("@method")', "method"),
        ("()", ""),
        ('("@method" "@target-uri" "content-digest" "content-digest")', "method target digest digest"),
    ],
)
def test_components_in_any_other_form_are_refused(components: str, order: str) -> None:
    """Other orders, fewer, more."""
    assert refusal_of(resigned(f"{components};{GIVEN}", order=order)) == (
        "malformed_signature",
        "form",
        "signature-input",
    )


def test_the_form_itself_passes_when_signed_by_hand() -> None:
    """So that the refusals above are of the form and not of this test's own signing."""
    assert verified(resigned(f"{COVERED};{GIVEN}")).created == NOW


@pytest.mark.req("SCH-052", "SCH-058")
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("signature", "schcp=:", "sig1=:"),
        ("signature-input", "schcp=", "sig1="),
        ("signature", "==:", ":"),
        ("signature", "==:", "==:, other=:AAAA:"),
        ("signature-input", 'alg="ed25519"', 'alg="ed25519", other=()'),
        ("signature", "schcp=:", "schcp=: "),
        ("signature", "schcp=:", "schcp=:="),
        ("signature", "schcp=:", "schcp=:-"),
        ("content-digest", "sha-256=", "SHA-256="),
        ("content-digest", "sha-256=", "sha-512="),
        ("content-digest", "sha-256=", "sha-512=:AAAA:, sha-256="),
        ("content-digest", "=:", ":"),
        ("content-digest", "sha-256=:", "sha-256=:A"),
    ],
)
def test_labels_and_base64_in_any_other_form_are_refused(name: str, old: str, new: str) -> None:
    """Extra labels are not passed over and base64 has one spelling."""
    value = dict(signed())[name.encode()].decode()
    value = new.join(value.rsplit(old, 1))
    headers = [(field, value.encode() if field == name.encode() else kept) for field, kept in signed()]
    assert refusal_of(headers) == ("malformed_signature", "form", name)


def test_spare_bits_in_a_signature_are_refused() -> None:
    """The last character before the padding has four bits to spare: sixteen spellings of one signature."""
    value = dict(signed())[b"signature"].decode()
    last = value[-4]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = alphabet[alphabet.index(last) + 1]
    respelt = value[:-4] + other + value[-3:]
    assert b64decode(respelt[7:-1]) == b64decode(value[7:-1])
    headers = [(name, respelt.encode() if name == b"signature" else kept) for name, kept in signed()]
    assert refusal_of(headers) == ("malformed_signature", "form", "signature")


def with_key(value: str) -> Headers:
    return [(name, value.encode() if name == b"schcp-agent-key" else kept) for name, kept in signed()]


@pytest.mark.req("SCH-054")
def test_a_key_other_than_the_one_named_is_refused() -> None:
    """keyid is the thumbprint of the key that came along; the key may come with its optional members."""
    other = b64u.encode(strictjson.encode(PrivateKey.from_seed(b"\x09" * 32).public.jwk()))
    assert refusal_of(with_key(other)) == ("key_mismatch", None, "keyid")
    dressed = b64u.encode(strictjson.encode(KEY.public.jwk() | {"kid": "k1", "alg": "EdDSA", "use": "sig"}))
    assert verified(with_key(dressed)).thumbprint == KEY.public.thumbprint


@pytest.mark.req("SCH-019", "SCH-024", "SCH-054")
@pytest.mark.parametrize(
    ("key", "code", "reason"),
    [
        (b'{"kty":"OKP","crv":"Ed25519","x":"%s","d":"AAAA"}', "private_key_received", None),
        (b'{"kty":"OKP","crv":"Ed25519","x":"AA","x":"%s"}', "malformed_signature", "form"),
        (b'{"kty":"OKP","crv":"Ed25519","x":"%s"} ', None, None),
        (b'["%s"]', "malformed_signature", "form"),
        (b'"%s"', "malformed_signature", "form"),
        (b'{"kty":"OKP","crv":"Ed25519","x":"%s"', "malformed_signature", "form"),
        (b'{"kty":"OKP","crv":"Ed25519","x":"%s="}', "malformed_key", "coordinates"),
        (b'{"kty":"OKP","crv":"Ed25519","x":"%s","more":1}', "malformed_key", "members"),
        (b'{"kty":"OKP","crv":"X25519","x":"%s"}', "malformed_key", "unsupported_kind"),
    ],
)
def test_an_odd_agent_key_is_refused(key: bytes, code: str | None, reason: str | None) -> None:
    """Private parts, repeated members, other shapes; white space in the JSON is harmless."""
    headers = with_key(b64u.encode(key % KEY.public.jwk()["x"].encode()))
    if code is None:
        assert verified(headers).nonce == NONCE
    else:
        assert refusal_of(headers)[:2] == (code, reason)


def test_an_agents_key_is_an_ed25519_key() -> None:
    """P-256 is for documents, not for agents."""
    key = PrivateKey.generate("P-256")
    headers = with_key(b64u.encode(strictjson.encode(key.public.jwk())))
    assert refusal_of(headers)[:2] == ("malformed_key", "unsupported_kind")
    with pytest.raises(Misuse):
        sign_request("POST", URL, BODY, key=key, created=NOW, nonce=NONCE)


@pytest.mark.parametrize("value", ["!", "AA==", "A" * 1025, "AB", "e30"])
def test_an_agent_key_that_is_no_key_is_refused(value: str) -> None:
    """Not base64url, not canonical, too long, or an empty object."""
    assert refusal_of(with_key(value))[0] in ("malformed_signature", "malformed_key")


@pytest.mark.parametrize("method", ["post", "", "PO ST", "POST\n", "A" * 17])
def test_an_odd_method_is_refused(method: str) -> None:
    """Methods are case-sensitive, and nothing may break into the signed lines."""
    assert refusal_of(signed(), method=method) == ("malformed_signature", "method", "@method")
    with pytest.raises(Misuse):
        signed(method=method)


def test_a_target_that_cannot_be_signed_is_refused_on_both_sides() -> None:
    """The same reading of URLs everywhere."""
    assert refusal_of(signed(), target="https://maplestreetauto.example/../x")[:2] == (
        "malformed_target",
        "dot_segment",
    )
    with pytest.raises(Refused):
        signed(target="http://maplestreetauto.example/")


@pytest.mark.parametrize("nonce", ["short", "n" * 65, "n" * 21 + "=", "n" * 21 + '"', "é" * 22])
def test_a_nonce_that_would_be_refused_is_never_signed(nonce: str) -> None:
    """Our own signer keeps to the form."""
    with pytest.raises(Misuse):
        signed(nonce=nonce)


names = st.sampled_from([b"content-digest", b"signature-input", b"signature", b"schcp-agent-key"])


@given(names, st.binary(max_size=120) | st.text(max_size=60).map(str.encode), st.booleans())
def test_no_header_bytes_escape_the_verifier(name: bytes, value: bytes, is_added: bool) -> None:
    """A refusal with a registered code, never another exception."""
    headers = signed() if is_added else [(field, kept) for field, kept in signed() if field != name]
    refusal_of([*headers, (name, value)])


@given(st.data())
def test_any_changed_byte_of_any_header_is_noticed(data: st.DataObject) -> None:
    """No byte of the four headers is free."""
    headers = signed()
    index = data.draw(st.integers(0, 3))
    name, value = headers[index]
    place = data.draw(st.integers(0, len(value) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != value[place]))
    headers[index] = (name, value[:place] + bytes([byte]) + value[place + 1 :])
    refusal_of(headers)


@dataclass
class Message:
    """A request as the independent library wants to see it."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes


class Resolver(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        assert key_id == KEY.public.thumbprint
        return Ed25519PublicKey.from_public_bytes(KEY.public.raw())


@pytest.mark.req("SCH-051")
@given(body=st.binary(max_size=50), path=st.sampled_from(["", "/", "/a?b=2&a=1", "/?", "/a%2Fb"]))
def test_another_library_verifies_what_we_sign(body: bytes, path: str) -> None:
    """http-message-signatures reads the general form, of which ours is one; it wants the true time."""
    url = target_uri(f"https://maplestreetauto.example{path}")
    created = int(time.time())
    headers = dict(sign_request("POST", url, body, key=KEY, created=created, nonce=NONCE))
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Resolver())
    results = verifier.verify(Message("POST", url, headers, body), max_age=timedelta(days=1))
    assert [list(result.covered_components) for result in results] == [
        ['"@method"', '"@target-uri"', '"content-digest"', '"@signature-params"']
    ]


@pytest.mark.req("SCH-052")
def test_a_key_that_was_read_before_speaks_for_its_own_header_alone() -> None:
    """Keys are remembered by the header's text: another agent's requests, between two of this one's, change nothing."""
    other = PrivateKey.from_seed(b"\x08" * 32)
    mine, theirs = signed(), signed(key=other)
    found = [verified(headers).thumbprint for headers in (mine, theirs, mine)]
    assert found == [KEY.public.thumbprint, other.public.thumbprint, KEY.public.thumbprint]
    agent_key = dict(theirs)[b"schcp-agent-key"]
    borrowed = [(name, agent_key if name == b"schcp-agent-key" else value) for name, value in mine]
    assert refusal_of(borrowed)[0] == "key_mismatch"


def test_a_header_that_is_no_key_is_refused_each_time() -> None:
    """What was refused is not remembered, and is no less refused for that."""
    headers = [(name, b"e30" if name == b"schcp-agent-key" else value) for name, value in signed()]
    assert [refusal_of(headers)[0] for _ in range(2)] == ["malformed_key"] * 2
