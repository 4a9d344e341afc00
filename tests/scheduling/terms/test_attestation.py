from datetime import UTC, datetime, timedelta

import pytest

from sayso.core.instants import epoch
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.attestation import ATTESTATION_TYP, AttestationClaims, vouchers
from sayso.scheduling.terms.discovery import Attester, PublishedKey, Trust
from sayso.scheduling.terms.identity import jwk_of, principal_urn

NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
PHONE, CARD, STRANGER = (PrivateKey.from_seed(letter * 32) for letter in (b"p", b"c", b"x"))
SAM = principal_urn(PrivateKey.from_seed(b"s" * 32).public)
KIM = principal_urn(PrivateKey.from_seed(b"k" * 32).public)


def attester(iss, key):
    published = PublishedKey(kid=key.public.thumbprint, use="sign", jwk=jwk_of(key.public))
    return Attester(iss=iss, title=iss, keys=(published,))


TRUST = Trust(attesters=(attester("phonecheck.example", PHONE), attester("cardcheck.example", CARD)))


def statement(key=PHONE, *, iss="phonecheck.example", sub=SAM, lasts=timedelta(days=1), kid=None, typ=ATTESTATION_TYP):
    claims = AttestationClaims(iss=iss, sub=sub, assurance="unique_phone", exp=epoch(NOW + lasts))
    return sign_jws(claims, key, typ=typ, kid=kid or key.public.thumbprint)


@pytest.mark.req("SCH-282", "SCH-283", "SCH-288")
def test_a_statement_of_a_listed_attester_about_this_person_counts():
    """Each attester once, in the order in which the person's key app put them."""
    both = (statement(CARD, iss="cardcheck.example"), statement(), statement())
    assert vouchers(both, TRUST, SAM, NOW) == ("cardcheck.example", "phonecheck.example")
    assert vouchers(both, Trust(), SAM, NOW) == ()


@pytest.mark.req("SCH-284", "SCH-287")
@pytest.mark.parametrize(
    "token",
    [
        statement(STRANGER, iss="whoknows.example"),
        statement(STRANGER),
        statement(STRANGER, kid=PHONE.public.thumbprint),
        statement(CARD),
        statement(sub=KIM),
        statement(lasts=timedelta(0)),
        statement(typ="schcp-mandate+jwt"),
        statement()[:-4] + "AAAA",
        "not a token",
        "a.b.c",
        "",
    ],
    ids=["unknown", "impostor", "impostor's kid", "other attester", "copied", "expired", "typ", "cut", "x", "abc", "0"],
)
def test_what_does_not_hold_is_as_if_it_were_not_there(token):
    """Passed over, never refused; and what stands beside it still counts."""
    assert vouchers((token,), TRUST, SAM, NOW) == ()
    assert vouchers((token, statement()), TRUST, SAM, NOW) == ("phonecheck.example",)
