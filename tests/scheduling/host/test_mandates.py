"""Every check of a mandate stands before anything is allocated (SCH-082)."""

import pytest

from sayso.core.instants import epoch
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.mandate import MANDATE_TYP
from tests.scheduling.host.town import ONE, open_town_on_file, reason

pytestmark = pytest.mark.anyio

OTHER = PrivateKey.from_seed(b"o" * 32)


def altered(change):
    return lambda sam: sam.sign(change(sam.claims()))


def constrained(**constraints):
    return lambda sam: sam.mandate(constraints=constraints)


def set_(**members):
    return altered(lambda claims: {**claims, **members})


CASES = {
    "none": (lambda sam: None, "mandate_missing"),
    "rubbish": (lambda sam: "a.b.c", "mandate_malformed"),
    "a mandate behind another": (lambda sam: f"{sam.mandate()},{sam.mandate()}", "mandate_malformed"),
    "signed by another key": (lambda sam: sign_jws(sam.claims(), OTHER, typ=MANDATE_TYP), "mandate_signature"),
    "another typ": (lambda sam: sign_jws(sam.claims(), sam.key, typ="schcp-offer+jwt"), "mandate_malformed"),
    "another issuer": (set_(iss="urn:schcp:principal:jwk-thumbprint:" + "A" * 43), "issuer_mismatch"),
    "another host": (set_(aud="fades-on-queen@chairly.example"), "wrong_audience"),
    "a bare host id": (set_(aud="maple-street-auto"), "mandate_malformed"),
    "another agent": (set_(cnf={"jkt": OTHER.public.thumbprint}), "agent_mismatch"),
    "another scope": (set_(scope=["book", "cancel"]), "scope_missing"),
    "another service": (constrained(services=["winter-tires"]), "service_not_covered"),
    "no services": (constrained(services=None), "service_not_covered"),
    "an earlier window": (
        constrained(window={"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T13:44:59-04:00"}),
        "outside_window",
    ),
    "no window": (constrained(window=None), "outside_window"),
    "a cent too little": (constrained(max_price={"amount": "89.26", "currency": "CAD"}), "above_price"),
    "another currency": (constrained(max_price={"amount": "100.00", "currency": "USD"}), "wrong_currency"),
    "no price": (constrained(max_price=None), "price_not_covered"),
    "no number": (constrained(max_bookings=None), "limit_reached"),
    "a status": (set_(status="https://keyapp.example/status/1", status_jwk=OTHER.public.jwk()), "status_unavailable"),
    "a shared limit": (constrained(shared_limit=True), "claim_unavailable"),
    "an unknown constraint": (constrained(max_deposit={"amount": "1.00", "currency": "CAD"}), "mandate_malformed"),
    "a payment": (set_(payment={"card": "4111"}), "mandate_malformed"),
    "a private key": (
        lambda sam: sam.sign({**sam.claims(), "principal_jwk": {**sam.claims()["principal_jwk"], "d": "A" * 43}}),
        None,
    ),
    "from tomorrow": (altered(lambda claims: {**claims, "iat": claims["iat"] + 60}), "not_yet_valid"),
    "too long": (altered(lambda claims: {**claims, "exp": claims["iat"] + 32 * 86_400}), "lifetime_too_long"),
}


@pytest.mark.req(
    "SCH-072", "SCH-073", "SCH-074", "SCH-075", "SCH-076", "SCH-078", "SCH-079", "SCH-082", "SCH-097", "SCH-132"
)
async def test_no_hold_without_a_mandate_that_allows_it(tmp_path, clock):
    """Every broken mandate is refused by its own reason, and not a row is written."""
    async with open_town_on_file(tmp_path, clock) as town:
        before = await town.rows()
        found = {}
        for name, (make, expected) in CASES.items():
            sam = town.guest()
            answer = await sam.hold(make(sam)) if make(sam) is not None else await without_mandate(sam)
            found[name] = reason(answer, answer.status)
            assert answer.status in (400, 403), name
            if expected is None:
                assert found[name] in ("private_key_received", "mandate_malformed")
                found[name] = None
        assert found == {name: expected for name, (_, expected) in CASES.items()}
        assert (await town.rows(), await town.kinds()) == (before, [])


async def without_mandate(sam):
    body = {"idempotency_key": "hold-0001", "service_id": "oil-change", "start": ONE, "ttl": "PT5M"}
    return await sam.send("POST", "/holds", body)


@pytest.mark.req("SCH-083")
async def test_an_expired_mandate_is_told_apart_from_an_invalid_one(tmp_path, clock):
    """So that an agent knows to ask for a fresh one; half a minute of skew is allowed."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        now = epoch(clock.now())
        just = sam.mandate(iat=now - 3600, exp=now - 29)
        over = sam.mandate(iat=now - 3600, exp=now - 30)
        assert reason(await sam.hold(over), 403) == "mandate_expired"
        assert (await sam.hold(just)).status == 201


@pytest.mark.req("SCH-078")
async def test_the_buffer_does_not_count_against_the_window(tmp_path, clock):
    """A 45-minute job at 15:00 fits a window to 15:45, its quarter of an hour of buffer outside."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        assert (await sam.hold(sam.mandate(), start="2026-10-15T15:00:00-04:00")).status == 201


@pytest.mark.req("SCH-079")
async def test_an_unpriced_service_passes_any_ceiling_and_needs_none(tmp_path, clock):
    """A drop-off states no price: no money in its offer, and a mandate without a ceiling holds it."""
    async with open_town_on_file(tmp_path, clock) as town:
        sam = town.guest()
        mandate = sam.mandate(constraints={"services": ["brake-diagnosis"], "max_price": None})
        answer = await sam.hold(mandate, service_id="brake-diagnosis")
        assert answer.status == 201
        assert b"total" not in answer.body
        assert b'"open_end":true' in answer.body
