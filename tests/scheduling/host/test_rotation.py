"""A host that changes its key: what it signed before counts on, and what is new carries the new key."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.net.signing import SignedClient
from sayso.proof.jws import read_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.desk import open_desk
from sayso.scheduling.host.documents import EarlierKey
from sayso.scheduling.host.http import host_app
from sayso.scheduling.terms.discovery import WELL_KNOWN
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.scheduling.terms.offer_checks import verify_offer
from sayso.scheduling.terms.receipt_checks import verify_receipt
from sayso.testing.store import fresh_store
from tests.scheduling.host.town import DOMAIN, HOST_KEY, Guest, one_bay, read

pytestmark = pytest.mark.anyio
NEW_KEY = PrivateKey.from_seed(b"n" * 32)
SAM, AGENT = PrivateKey.from_seed(b"s" * 32), PrivateKey.from_seed(b"a" * 32)


async def serve(store, clock, key, *earlier):
    """The shop with this key: a guest of it, and its document."""
    desk = open_desk(one_bay(), key, SystemIds(), log="shop", earlier=earlier)
    return serving(host_app(one_bay(), desk, store, clock))


@pytest.mark.req("SCH-027", "SCH-018")
async def test_a_hold_of_before_a_key_change_is_confirmed_after_it(tmp_path, clock):
    """Under the old key while that still signs; the receipt carries the new one; once retired it proves, no more."""
    ids = SystemIds()
    with fresh_store(tmp_path, clock) as store:
        async with await serve(store, clock, HOST_KEY) as at, Fetcher({DOMAIN: f"127.0.0.1:{at.port}"}) as fetcher:
            sam = Guest(SignedClient(fetcher, AGENT, clock, ids), SAM, AGENT, clock)
            mandate = sam.mandate()
            hold = read(await sam.hold(mandate), 201)
        old = EarlierKey(HOST_KEY.public, "sign")
        async with await serve(store, clock, NEW_KEY, old) as at, Fetcher({DOMAIN: f"127.0.0.1:{at.port}"}) as fetcher:
            sam.client = SignedClient(fetcher, AGENT, clock, ids)
            document = verify_discovery((await fetcher.get(f"https://{DOMAIN}{WELL_KNOWN}")).body, DOMAIN)
            offer = verify_offer(hold["offer"], document)
            settled = read(await sam.confirm(hold, mandate), 201)
    receipt = verify_receipt(settled["receipt"], document)
    kids = [read_jws(token).header.kid for token in (hold["offer"], settled["receipt"])]
    assert kids == [HOST_KEY.public.thumbprint, NEW_KEY.public.thumbprint]
    assert receipt.booking.offer_sha256 == offer.sha256
    retired = open_desk(one_bay(), NEW_KEY, ids, earlier=[EarlierKey(HOST_KEY.public, "verify")])
    after = verify_discovery(retired.document, DOMAIN)
    assert verify_offer(hold["offer"], after, is_new=False).sha256 == offer.sha256
    with pytest.raises(Refused) as caught:
        verify_offer(hold["offer"], after)
    assert caught.value.refusal.reason == "unknown_key"


@pytest.mark.req("SCH-027")
async def test_the_old_key_stands_in_the_evidence_that_the_log_is_verified_with(clock):
    """Offers that were signed with it stay provable."""
    desk = open_desk(one_bay(), NEW_KEY, SystemIds(), earlier=[EarlierKey(HOST_KEY.public, "verify")])
    kids = [key["kid"] for key in strictjson.parse(desk.key_set)["keys"]]
    assert kids == [NEW_KEY.public.thumbprint, HOST_KEY.public.thumbprint]


@pytest.mark.req("SCH-027", "SCH-049")
async def test_an_earlier_key_stops_signing_by_the_clock_without_a_restart(tmp_path, clock):
    """The document that is served says `sign` until the last tick before, and `verify` from then on."""
    turns = clock.now() + timedelta(minutes=10)
    first = PrivateKey.from_seed(b"f" * 32)
    earlier = (EarlierKey(HOST_KEY.public, "sign", turns), EarlierKey(first.public, "verify"))
    with fresh_store(tmp_path, clock) as store:
        async with await serve(store, clock, NEW_KEY, *earlier) as at, Fetcher({DOMAIN: f"127.0.0.1:{at.port}"}) as out:

            async def uses():
                document = verify_discovery((await out.get(f"https://{DOMAIN}{WELL_KNOWN}")).body, DOMAIN)
                return [each.use for each in document.keys]

            clock.set(turns - timedelta(microseconds=1))
            assert await uses() == ["sign", "sign", "verify"]
            clock.set(turns)
            assert await uses() == ["sign", "verify", "verify"]
            clock.set(turns + timedelta(days=400))
            assert await uses() == ["sign", "verify", "verify"]
