"""What `dev.sayso.consent` carries beside a permission: the document a person is asked to sign, and the signed one.

A permission envelope's `description` is for reading along; the person's surface shows the text it makes itself from the
document's bytes. A grant is a message, not consent: whether the answer's document is good is the kernel's to say.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Text, Wire
from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u

__all__ = (
    "CONSENT_EXTENSION",
    "ConsentAnswer",
    "ConsentQuestion",
    "read_consent_answer",
    "read_consent_question",
    "write_consent_answer",
    "write_consent_question",
)

CONSENT_EXTENSION = "dev.sayso.consent"

T = TypeVar("T")


class ConsentQuestion(Wire, frozen=True, kw_only=True):
    """Beside `action.permission.requested`. `document` is base64url of the bytes to sign; `text_sha256` is base64url
    of the SHA-256 of the description's UTF-8 bytes.
    """

    kind: Text
    media_type: Text
    document: str
    text_sha256: Text

    @property
    def document_bytes(self) -> bytes:
        """The document. Raises `Refused` `malformed_base64url`."""
        return b64u.decode(self.document)


class ConsentAnswer(Wire, frozen=True, kw_only=True):
    """Beside `action.permission.resolve.request`: the signed document as a compact JWS, or nothing."""

    signed: Maybe[Text] = UNSET


def write_consent_question(*, kind: str, media_type: str, document: bytes, text: str) -> JsonObject:
    """The extensions of a permission envelope."""
    question = ConsentQuestion(
        kind=kind, media_type=media_type, document=b64u.encode(document), text_sha256=sha256_b64u(text.encode())
    )
    return {CONSENT_EXTENSION: msgspec.to_builtins(question)}


def read_consent_question(envelope: Envelope[Wire]) -> ConsentQuestion | None:
    """The question beside a permission, or None where there is none. Raises `Refused` `schema_invalid`."""
    return _read(envelope, ConsentQuestion)


def write_consent_answer(signed: str | None) -> Maybe[JsonObject]:
    """The extensions of a resolve: the signed document, or nothing for a bare answer."""
    return UNSET if signed is None else {CONSENT_EXTENSION: {"signed": signed}}


def read_consent_answer(envelope: Envelope[Wire]) -> ConsentAnswer:
    """What came beside a resolve. Raises `Refused` `schema_invalid`."""
    return _read(envelope, ConsentAnswer) or ConsentAnswer()


def _read(envelope: Envelope[Wire], type_: type[T]) -> T | None:
    if envelope.extensions is UNSET or CONSENT_EXTENSION not in envelope.extensions:
        return None
    try:
        return msgspec.convert(envelope.extensions[CONSENT_EXTENSION], type_, strict=True)
    except msgspec.ValidationError as error:
        place = f"$.extensions.{CONSENT_EXTENSION}"
        raise Refused.because("schema_invalid", str(error), place=place) from None
