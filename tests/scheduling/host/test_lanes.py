"""Newcomers somebody vouches for: a lane of their own, and nothing more (spec section 8.7)."""

from datetime import timedelta

import msgspec
import pytest

from sayso.core.instants import epoch
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.attestation import ATTESTATION_TYP
from sayso.scheduling.terms.discovery import Attester, PublishedKey, Trust, WaitlistLimits
from sayso.scheduling.terms.identity import jwk_of
from sayso.store.tables.scheduling import host_hold
from sayso.world.phonecheck import PHONECHECK, attest
from tests.scheduling.host.barbershop import barbershop, chairs, cut, half_hours, may_cut, why_not
from tests.scheduling.host.town import open_town, open_town_on_file, read

pytestmark = pytest.mark.anyio


async def fill(town, count=6):
    """Throwaway identities take every place of the newcomers' pool."""
    for asked in chairs()[:count]:
        stranger = town.guest()
        read(await cut(stranger, may_cut(stranger), **asked), 201)


async def vouched_hold(town, clock, asked):
    guest = town.guest()
    return await cut(guest, may_cut(guest, attest(guest.principal, clock.now())), **asked)


@pytest.mark.req("SCH-285", "SCH-287")
async def test_with_the_pool_full_only_the_verified_newcomer_gets_a_hold(store, clock):
    """Six in the pool, four in the lane: the two caps differ, and the fifth with a statement is one too many."""
    async with open_town(store, clock, barbershop()) as town:
        await fill(town)
        plain = town.guest()
        assert why_not(await cut(plain, may_cut(plain), **chairs()[6])) == "newcomers_full"
        ends = [why_not(await vouched_hold(town, clock, asked)) for asked in chairs()[6:11]]
        assert ends == [None, None, None, None, "newcomers_full"]


@pytest.mark.req("SCH-284", "SCH-287")
async def test_copied_forged_and_expired_statements_add_nothing(store, clock):
    """The guest is exactly as before: refused where the pool is full, served where it is not, never rejected."""
    async with open_town(store, clock, barbershop()) as town:
        other, impostor = town.guest(), PrivateKey.generate()
        copied = attest(other.principal, clock.now())
        guest = town.guest()
        claims = {"iss": PHONECHECK.iss, "sub": guest.principal, "assurance": "unique_phone"}
        valid_until = epoch(clock.now() + timedelta(days=1))
        forged = sign_jws({**claims, "exp": valid_until}, impostor, typ=ATTESTATION_TYP, kid=PHONECHECK.keys[0].kid)
        expired = attest(guest.principal, clock.now() - timedelta(days=90))
        await fill(town, 5)
        worthless = (copied, forged, expired, "nonsense")
        read(await cut(guest, may_cut(guest, *worthless), **chairs()[6]), 201)
        assert why_not(await cut(guest, may_cut(guest, *worthless), **chairs()[7])) == "newcomers_full"
        assert why_not(await vouched_hold(town, clock, chairs()[7])) is None


@pytest.mark.req("SCH-285")
async def test_vouched_newcomers_leave_the_pool_to_the_others(tmp_path, clock):
    """Four in the lane, and six more places are there; every other control still applies to them."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        for asked in chairs()[:4]:
            read(await vouched_hold(town, clock, asked), 201)
        for asked in chairs()[4:10]:
            stranger = town.guest()
            read(await cut(stranger, may_cut(stranger), **asked), 201)
        greedy = town.guest()
        mandate = may_cut(greedy, attest(greedy.principal, clock.now()))
        clock.advance(timedelta(minutes=5))
        read(await cut(greedy, mandate, **chairs()[0]), 201)
        assert why_not(await cut(greedy, mandate, **chairs()[1])) == "limit_reached"


@pytest.mark.req("SCH-286", "SCH-385")
async def test_an_attester_whose_people_abandon_five_holds_is_listened_to_no_more(store, clock):
    """Its users use the ordinary pool, and are not locked out; some days later its word counts again."""
    async with open_town(store, clock, barbershop()) as town:
        for _ in range(5):
            read(await vouched_hold(town, clock, {"start": half_hours()[0]}), 201)
            clock.advance(timedelta(minutes=5))
        read(await vouched_hold(town, clock, chairs()[10]), 201)
        await fill(town, 5)
        assert why_not(await vouched_hold(town, clock, chairs()[11])) == "newcomers_full"
        clock.advance(timedelta(days=3))
        days_later = [{**asked, "start": asked["start"].replace("-10-15", "-10-22")} for asked in chairs()]
        for asked in days_later[:6]:
            stranger = town.guest()
            read(await cut(stranger, may_cut(stranger), **asked), 201)
        assert why_not(await vouched_hold(town, clock, days_later[6])) is None


@pytest.mark.req("SCH-288")
async def test_of_several_statements_the_first_whose_attester_is_still_heard_counts(tmp_path, clock):
    """CardCheck's people abandoned five holds; who carries both statements stands in PhoneCheck's lane."""
    key = PrivateKey.generate()
    published = PublishedKey(kid=key.public.thumbprint, use="sign", jwk=jwk_of(key.public))
    cardcheck = Attester(iss="cardcheck.example", title="CardCheck", keys=(published,))
    shop = msgspec.structs.replace(barbershop(), trust=Trust(attesters=(cardcheck, PHONECHECK)))

    def by_card(guest):
        claims = {"iss": cardcheck.iss, "sub": guest.principal, "assurance": "own_card"}
        until = epoch(clock.now() + timedelta(days=1))
        return sign_jws({**claims, "exp": until}, key, typ=ATTESTATION_TYP, kid=published.kid)

    async with open_town_on_file(tmp_path, clock, shop) as town:

        async def with_both(asked):
            guest = town.guest()
            return await cut(guest, may_cut(guest, by_card(guest), attest(guest.principal, clock.now())), **asked)

        read(await with_both(chairs()[0]), 201)  # the first of five that run out
        for _ in range(4):
            careless = town.guest()
            read(await cut(careless, may_cut(careless, by_card(careless)), **chairs()[1]), 201)
            clock.advance(timedelta(minutes=5))
        read(await with_both(chairs()[2]), 201)
        at = host_hold.columns.keys().index("attester")
        lanes = [row[at] for row in (await town.rows())["host_hold"]]
        assert (lanes.count("cardcheck.example"), lanes.count("phonecheck.example")) == (5, 1)


@pytest.mark.req("SCH-285", "SCH-240")
async def test_a_vouched_waiter_is_served_from_its_lane(tmp_path, clock):
    """With the pool full, the newcomer in front is passed over and the vouched one behind gets the freed half hour."""
    shop = msgspec.structs.replace(barbershop(), waitlist=WaitlistLimits(max_entries_per_agent=5))
    async with open_town_on_file(tmp_path, clock, shop) as town:
        for asked in chairs()[4:6]:
            holder = town.guest()
            mandate = may_cut(holder)
            hold = read(await cut(holder, mandate, **asked), 201)
            booking = read(await holder.confirm(hold, mandate), 201)["booking"]
        window = {"start": chairs()[4]["start"], "end": half_hours()[3]}
        entries = []
        for vouched in (False, True):
            waiter = town.guest()
            statements = [attest(waiter.principal, clock.now())] if vouched else []
            body = {"idempotency_key": waiter.ids.new("i"), "service_id": "haircut", "window": window}
            entry = read(await waiter.send("POST", "/waitlist", body, may_cut(waiter, *statements)), 201)
            entries.append((waiter, entry["entry_id"]))
            clock.advance(timedelta(seconds=1))
        for asked in chairs()[8:14]:
            stranger = town.guest()
            read(await cut(stranger, may_cut(stranger), **asked), 201)
        read(await holder.cancel(booking["booking_id"], mandate), 200)
        shown = [read(await who.send("GET", f"/waitlist/{entry}"), 200)["status"] for who, entry in entries]
        assert shown == ["waiting", "offered"]


@pytest.mark.req("SCH-283", "SCH-371")
async def test_a_host_names_whom_it_listens_to_with_their_keys(tmp_path, clock):
    """So that a key app can tell which statements are of use there; and a mandate takes four at most."""
    async with open_town_on_file(tmp_path, clock, barbershop()) as town:
        document = await town.document()
        assert document.trust.attesters == (PHONECHECK,)
        guest = town.guest()
        crowd = [attest(guest.principal, clock.now())] * 5
        assert why_not(await cut(guest, may_cut(guest, *crowd), **chairs()[0])) == "mandate_malformed"
