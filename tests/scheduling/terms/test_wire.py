"""The narrow strings: whole text, nothing invisible, nothing beyond the pattern."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms import wire


def fits(type_, text):
    try:
        strictjson.decode(strictjson.encode(text), type_)
    except Refused:
        return False
    return True


@pytest.mark.req("SCH-023")
@pytest.mark.parametrize(
    ("type_", "good"),
    [
        (wire.OpaqueId, "h_1"),
        (wire.HostName, "maple-street-auto@maplestreetauto.example"),
        (wire.Digest, "A" * 43),
        (wire.Instant, "2026-10-13T13:05:00Z"),
        (wire.LocalInstant, "2026-10-13T13:05:00"),
        (wire.DurationText, "PT45M"),
        (wire.IdempotencyKey, "i_000001"),
        (wire.Words, "Maple Street Auto"),
        (wire.UrlText, "https://maplestreetauto.example/schcp/v0"),
        (wire.ZoneName, "America/Toronto"),
    ],
)
def test_a_line_feed_at_the_end_is_not_let_through(type_, good):
    """Python's dollar sign would; two spellings of one id would be two ids."""
    assert fits(type_, good)
    assert not fits(type_, f"{good}\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " Maple",
        "Maple ",
        "Ma\nple",
        "Ma\u202eple",
        "Ma\u200bple",
        "Ma\u2066ple",
        "Ma\x00ple",
        "\ufeffMaple",
        "x" * 201,
    ],
)
def test_words_that_a_person_could_misread_are_refused(text):
    """Turned round, hidden, broken over lines, or too long to be one line."""
    assert not fits(wire.Words, text)


@pytest.mark.parametrize(
    "name",
    [
        "maple-street-auto",
        "Maple@x.example",
        "a@b",
        "a@b..c",
        "a@.example",
        "-a@b.example",
        "a@b.example.",
        "a@b@c.example",
    ],
)
@pytest.mark.req("SCH-028")
def test_a_host_name_is_an_id_at_a_domain(name):
    """A bare id is no name, and there is one spelling."""
    assert not fits(wire.HostName, name)
