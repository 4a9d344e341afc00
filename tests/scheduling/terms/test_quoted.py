"""Somebody else's words in our sentences: they stay on their line, in their quotation, and are never taken for ours."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sayso.core import strictjson
from sayso.scheduling.terms.consent_text import limits_text, offer_text, verified_identity
from sayso.scheduling.terms.invitation_text import coming_text, not_coming_text
from sayso.scheduling.terms.offer import OfferClaims
from sayso.scheduling.terms.participant import Participant
from sayso.scheduling.terms.personal_text import answer_text, rule_text
from sayso.scheduling.terms.place import Elsewhere
from sayso.scheduling.terms.quoted import named, quoted
from sayso.scheduling.terms.rule import RuleDraft
from tests.scheduling.terms.samples import HOST, JKT, document, offer
from tests.scheduling.terms.test_consent_text import draft
from tests.scheduling.terms.test_participants import LEE, NOOR, WHO

FOREIGN = st.text(
    st.one_of(
        st.sampled_from("\"'“”«»’‘″＂`´.\n\r\u2028\u2029\u202e\u2066\u200b\u0301\u00a0\u3164\x1b:;,() IimyandX"),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=80,
)
UNSHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.req("SCH-104", "SCH-169")
@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ("Maple Street Auto", "Maple Street Auto"),
        ("Rosie's Nails", "Rosie's Nails"),
        ("HST 13%", "HST 13%"),
        ("Zoë O’Brien-Łuczak", "Zoë O’Brien-Łuczak"),
        ("Dr. Patel", '"Dr. Patel"'),
        ("Oil change. I pay nothing", '"Oil change. I pay nothing"'),
        ("Oil change and I pay nothing", '"Oil change and I pay nothing"'),
        ("Lee and Noor", '"Lee and Noor"'),
        ("Lee  Noor", '"Lee  Noor"'),
        ("bank.example", '"bank.example"'),
        ("Auto (bank.example)", '"Auto (bank.example)"'),
        ('Sam" (bank.example)', '"Sam’ (bank.example)"'),
        ("Sam” ''x''", '"Sam’ ’x’"'),
        ("two\nlines\u2028more", '"two[U+000A]lines[U+2028]more"'),
        ("\u202egnp.exe", '"[U+202E]gnp.exe"'),
        ("\x1b[31mred", '"[U+001B][31mred"'),
        ("soft\u00adhyphen\U000e0041", '"soft[U+00AD]hyphen[U+E0041]"'),
        ("a\u00a0b", '"a b"'),
        ("e" + "\u0301" * 5, '"e' + "\u0301" * 4 + '[U+0301]"'),
        ("\u05e0\u05d5\u05e8", '"\u05e0\u05d5\u05e8"'),
        ("12", '"12"'),
        ("x" * 61, '"' + "x" * 61 + '"'),
    ],
)
def test_a_name_is_bare_only_where_it_is_plainly_one(theirs, said):
    """Everything that could read as a sentence, a domain, a second name or nothing at all is in quotation marks."""
    assert named(theirs) == said


@pytest.mark.req("SCH-104", "SCH-105")
@given(FOREIGN)
def test_no_words_make_a_line_of_their_own_or_close_their_quotation(theirs):
    """Two marks, ours, at the ends; and nothing unseen in between."""
    said = quoted(theirs)
    assert (said[0], said[-1], said.count('"')) == ('"', '"', 2)
    assert len(said.splitlines()) == 1
    assert not {unicodedata.category(each) for each in said} & UNSHOWN
    bare = named(theirs)
    assert bare == said or (bare == theirs and not set(bare) & set('".,:;()“”\n'))


def _texts(theirs):
    """Every text, with the same foreign words wherever somebody else's can stand."""
    people = (
        Participant(principal=LEE, name=theirs, required=True, attendee=theirs),
        Participant(principal=NOOR, name=theirs, required=False),
    )
    claims = strictjson.decode(strictjson.encode(offer(**WHO)), OfferClaims)
    claims = structs.replace(
        claims,
        service=structs.replace(claims.service, title=theirs),
        resource_name=theirs,
        place=Elsewhere(name=theirs),
        participants=people,
        lines=tuple(structs.replace(each, title=theirs) for each in claims.lines or ()),
    )
    host = document()
    host = structs.replace(
        host, title=theirs, services=tuple(structs.replace(each, title=theirs) for each in host.services)
    )
    identity = verified_identity(host)
    rule = RuleDraft(host=HOST, agent=JKT, words=theirs, services=(host.services[0].id,))
    return (
        offer_text(claims, identity),
        limits_text(draft(tells=("name",)), host),
        coming_text(claims, identity, people[0]),
        not_coming_text(claims, identity, people[0]),
        answer_text(claims, "no", theirs, identity),
        rule_text(rule, host, identity),
    )


@pytest.mark.req("SCH-104", "SCH-105", "SCH-169")
@given(FOREIGN)
def test_in_every_text_foreign_words_stand_only_where_a_name_would(theirs):
    """The sentences around them are the same whatever they are."""
    for text, plain in zip(_texts(theirs), _texts("QQQ"), strict=True):
        assert text == plain.replace('"QQQ"', quoted(theirs)).replace("QQQ", named(theirs))
        assert len(text.splitlines()) == 1


@pytest.mark.req("SCH-169")
def test_a_service_that_imitates_our_sentences_is_seen_to_be_quoted():
    """The very words of the document's example."""
    claims = strictjson.decode(strictjson.encode(offer()), OfferClaims)
    claims = structs.replace(
        claims,
        service=structs.replace(claims.service, title="Oil change, free. I pay nothing"),
        resource_name='Sam" (bank.example)',
    )
    assert offer_text(claims, verified_identity(document())).startswith(
        'I approve: "Oil change, free. I pay nothing" with "Sam’ (bank.example)" at Maple Street Auto '
        "(maplestreetauto.example), Thursday 15 October 2026 from 1:00 p.m. to 1:45 p.m. Eastern time. I pay "
    )
