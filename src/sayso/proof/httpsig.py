"""Signed requests: RFC 9421 with RFC 9530 in the one form that SCH-051..062 fix.

Label, covered components, their order, the parameters and their order are not the signer's choice, so nothing has to be
parsed generally: the three header values are matched against the exact form and the signature base is rebuilt from what
matched. Any other spelling is refused, and nothing is skipped.

    Content-Digest: sha-256=:<base64 of SHA-256 over the body, of no bytes when there is none>:
    Signature-Input: schcp=("@method" "@target-uri" "content-digest");created=<seconds>;keyid="<thumbprint>";
                     nonce="<16 to 64 base64url characters>";alg="ed25519"      (one line, no space after a semicolon)
    Signature: schcp=:<base64 of 64 bytes>:
    SchCP-Agent-Key: <base64url of the public JWK as JSON>

The steps are taken in this order, and the first failure gives the code: the headers' form (malformed_signature), the
key's (malformed_key, private_key_received), keyid against key (key_mismatch), the body's digest (digest_mismatch), the
signature (bad_signature), its age (stale_signature), its nonce (replayed_request). The nonce is spent only now: before
the signature holds, a stranger could spend it. Whether this agent may do what it asks is not decided here.

The target is what the caller of `verify_request` says it is, in the one spelling of `proof.target`: the server builds
it from its configured public origin and the request's own path and query, never from Host (SCH-055). The memory of
nonces is the caller's too (`seen`).
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.proof.hashes import sha256
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.proof.target import target_uri

__all__ = (
    "AGENT_KEY_HEADER",
    "CODES",
    "MAX_AGE_SECONDS",
    "MAX_AHEAD_SECONDS",
    "SignedRequest",
    "sign_request",
    "target_uri",
    "verify_request",
)

AGENT_KEY_HEADER = "SchCP-Agent-Key"
MAX_AGE_SECONDS = 60
MAX_AHEAD_SECONDS = 10
_KEEP_SECONDS = MAX_AGE_SECONDS + MAX_AHEAD_SECONDS

CODES = (
    "malformed_signature",
    "malformed_target",
    "malformed_key",
    "private_key_received",
    "key_mismatch",
    "digest_mismatch",
    "bad_signature",
    "stale_signature",
    "replayed_request",
)
"""All that `verify_request` raises; malformed_signature has reason method, missing_header, repeated_header or form."""

_COVERED = '("@method" "@target-uri" "content-digest")'
_METHOD = re.compile(r"[A-Z]{1,16}")
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_INPUT = re.compile(
    rf'schcp=({re.escape(_COVERED)};created=(0|[1-9][0-9]{{0,11}});keyid="([A-Za-z0-9_-]{{43}})"'
    rf';nonce="({_NONCE.pattern})";alg="ed25519")'
)
_SIGNATURE = re.compile(r"schcp=:([A-Za-z0-9+/]{86}==):")
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
_AGENT_KEY = re.compile(r"[A-Za-z0-9_-]{1,1024}")
_HEADERS = (b"content-digest", b"signature-input", b"signature", b"schcp-agent-key")


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request that an agent signed, fresh and never seen before."""

    key: PublicKey
    thumbprint: str
    created: int
    nonce: str


def sign_request(
    method: str, target: str, body: bytes, *, key: PrivateKey, created: int, nonce: str
) -> list[tuple[str, str]]:
    """The four headers to send; sign every attempt anew, with a new nonce and the same body (SCH-056).

    `target` is the https URL that the server answers under, `created` seconds since 1970, `nonce` 16 to 64 base64url
    characters. Raises `Refused("malformed_target")`.
    """
    if key.kind != "Ed25519" or not _METHOD.fullmatch(method) or not _NONCE.fullmatch(nonce):
        raise Misuse("a request is signed by an Ed25519 key, with an upper-case method and a base64url nonce")
    digest = _digest(body)
    parameters = f'{_COVERED};created={created};keyid="{key.public.thumbprint}";nonce="{nonce}";alg="ed25519"'
    signature = key.sign(_base(method, target_uri(target), digest, parameters))
    return [
        ("Content-Digest", digest),
        ("Signature-Input", f"schcp={parameters}"),
        ("Signature", f"schcp=:{b64encode(signature).decode('ascii')}:"),
        (AGENT_KEY_HEADER, b64u.encode(strictjson.encode(key.public.jwk()))),
    ]


def verify_request(
    method: str,
    target: str,
    body: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    *,
    now: int,
    seen: Callable[[str, str, int], bool],
) -> SignedRequest:
    """Verifies one received request; the steps and their codes are in the module's text.

    `now` is in seconds since 1970. `seen(thumbprint, nonce, keep_until)` must remember the nonce in the memory that all
    workers share and answer False only if it was new; anything else it answers is a replay.
    """
    if not _METHOD.fullmatch(method):
        raise _malformed("method", "a method is upper-case letters", "@method")
    digest, given, signed, agent = _pick(headers)
    found = _match(_INPUT, given, "signature-input")
    signature = _base64(_match(_SIGNATURE, signed, "signature").group(1), "signature")
    parameters, created, key_id, nonce = found[1], int(found[2]), found[3], found[4]
    key = _agent_key(agent)
    if key.thumbprint != key_id:
        raise Refused.because("key_mismatch", "keyid is not the thumbprint of the key that was sent", place="keyid")
    _match(_DIGEST, digest, "content-digest")
    if digest != _digest(body):
        raise Refused.because("digest_mismatch", "the body is not the one that was signed", place="content-digest")
    key.verify(signature, _base(method, target_uri(target), digest, parameters))
    if not -MAX_AHEAD_SECONDS <= now - created <= MAX_AGE_SECONDS:
        message = f"created is more than {MAX_AGE_SECONDS} s ago or more than {MAX_AHEAD_SECONDS} s ahead"
        raise Refused.because("stale_signature", message, place="created", help="Sign again, with the right time.")
    if seen(key.thumbprint, nonce, created + _KEEP_SECONDS) is not False:
        message = "this request was received before"
        raise Refused.because("replayed_request", message, place="nonce", help="Sign every attempt with a new nonce.")
    return SignedRequest(key, key.thumbprint, created, nonce)


def _base(method: str, target: str, digest: str, parameters: str) -> bytes:
    """RFC 9421 2.5: lines joined by one LF, none at the end."""
    return (
        f'"@method": {method}\n"@target-uri": {target}\n"content-digest": {digest}\n"@signature-params": {parameters}'
    ).encode("ascii")


def _digest(body: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(body)).decode('ascii')}:"


def _pick(headers: Sequence[tuple[bytes, bytes]]) -> list[str]:
    """The values of the four headers in their order, each there exactly once."""
    found: dict[bytes, list[bytes]] = {name: [] for name in _HEADERS}
    for field, value in headers:
        if (values := found.get(field.lower())) is not None:
            values.append(value)
    return [_only(name.decode("ascii"), values) for name, values in found.items()]


def _only(name: str, values: Sequence[bytes]) -> str:
    if not values:
        raise _malformed("missing_header", f"the header {name} is missing", name)
    if len(values) > 1:
        raise _malformed("repeated_header", f"the header {name} is there more than once", name)
    try:
        return values[0].decode("ascii")
    except UnicodeDecodeError:
        raise _malformed("form", f"{name} holds something other than ASCII", name) from None


def _match(form: re.Pattern[str], value: str, name: str) -> re.Match[str]:
    found = form.fullmatch(value)
    if found is None:
        raise _malformed("form", f"{name} is not in the exact form that the protocol fixes", name)
    return found


def _base64(text: str, name: str) -> bytes:
    data = b64decode(text)
    if b64encode(data).decode("ascii") != text:
        raise _malformed("form", f"{name} is not canonical base64", name)
    return data


@lru_cache(maxsize=1024)
def _agent_key(value: str) -> PublicKey:
    _match(_AGENT_KEY, value, "schcp-agent-key")
    try:
        members = strictjson.parse(b64u.decode(value), depth=2)
    except Refused as refused:
        raise _malformed("form", f"the agent's key: {refused.refusal.message}", "schcp-agent-key") from None
    if not isinstance(members, dict):
        raise _malformed("form", "the agent's key is a JSON object", "schcp-agent-key")
    key = PublicKey.from_jwk(members)
    if key.kind != "Ed25519":
        raise Refused.because("malformed_key", "an agent's key is an Ed25519 key", reason="unsupported_kind")
    return key


def _malformed(reason: str, message: str, place: str) -> Refused:
    return Refused.because("malformed_signature", message, reason=reason, place=place)
