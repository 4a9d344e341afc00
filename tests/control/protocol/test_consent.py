"""The consent extension: a document out, a signed one back, and nothing else beside it."""

from __future__ import annotations

import pytest

from sayso.control.protocol.consent import (
    CONSENT_EXTENSION,
    ConsentAnswer,
    read_consent_answer,
    read_consent_question,
    write_consent_answer,
    write_consent_question,
)
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from tests.control.protocol.talk import ask, resolve


def beside(envelope: Envelope[Wire], extensions: object) -> Envelope[Wire]:
    return Envelope(
        type=envelope.type,
        id=envelope.id,
        payload=envelope.payload,
        extensions=extensions,  # type: ignore[arg-type]
    )


def test_a_question_comes_back_as_it_was_written() -> None:
    """The bytes, their type and the hash of the text."""
    written = write_consent_question(kind="limits", media_type="application/json", document=b"\x00\xff", text="é?")
    question = read_consent_question(beside(ask(3), written))
    assert question is not None
    assert (question.kind, question.media_type, question.document_bytes) == ("limits", "application/json", b"\x00\xff")
    assert question.text_sha256 == sha256_b64u("é?".encode())


def test_a_permission_without_a_document_has_no_question() -> None:
    """Workspace permissions carry nothing beside them."""
    assert read_consent_question(ask(3)) is None
    assert read_consent_question(beside(ask(3), {"dev.other": {}})) is None


def test_an_answer_carries_the_signed_document_or_nothing() -> None:
    """A bare grant is written without the extension, not with an empty one."""
    assert write_consent_answer(None) is UNSET
    assert read_consent_answer(resolve()) == ConsentAnswer()
    assert read_consent_answer(beside(resolve(), write_consent_answer("a.b.c"))) == ConsentAnswer(signed="a.b.c")


@pytest.mark.req("OAP-009")
@pytest.mark.parametrize("value", [{"signed": ""}, {"signed": None}, {"signed": "a", "by": "me"}, "a.b.c", None])
def test_anything_else_beside_an_answer_is_refused(value: object) -> None:
    """The extension is closed like every payload."""
    with pytest.raises(Refused) as refused:
        read_consent_answer(beside(resolve(), {CONSENT_EXTENSION: value}))
    assert refused.value.refusal.code == "schema_invalid"
