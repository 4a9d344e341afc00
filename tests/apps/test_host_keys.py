"""A host's keys by the clock: which one signs, and until when those before are published, and for what."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from sayso.apps.host_keys import HostKeys, earlier_keys, keep_host_keys, make_next_key, read_host_keys, taken_over
from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Refused
from sayso.scheduling.host.config import HostConfig
from sayso.store.unit import Store
from sayso.store.vault import Vault
from sayso.testing.store import START, fresh_store
from tests.scheduling.host.town import ONE, one_bay, open_town, read


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def vault(tmp_path: Path, clock: ManualClock) -> Vault:
    vault = Vault(tmp_path, clock)
    vault.create("host")
    return vault


async def held(store: Store, clock: ManualClock) -> None:
    """Somebody holds an hour on Thursday, for five minutes."""
    async with open_town(store, clock, one_bay()) as town:
        sam = town.guest()
        read(await sam.hold(sam.mandate(), start=ONE), 201)


def served(home: Path, store: Store, config: HostConfig, now: datetime) -> HostKeys:
    """The host is served now: a key that waited has taken over, and that is kept."""
    keys = taken_over(home, store, config, now)
    keep_host_keys(home, keys)
    return keys


def published(vault: Vault, home: Path, clock: ManualClock) -> list[tuple[str, str]]:
    """The keys before the one in use: their thumbprints' places in the vault, and what they are published for."""
    names = {vault.public(name).thumbprint: name for name in vault.names()}
    found = earlier_keys(vault, read_host_keys(home), clock.now())
    return [(names[each.key.thumbprint], each.use) for each in found]


@pytest.mark.req("SCH-027")
def test_a_replaced_key_signs_until_its_last_offer_has_ended_and_checks_until_the_records_are_over(
    tmp_path: Path, clock: ManualClock, vault: Vault
) -> None:
    """Five minutes of a hold, then a year after Thursday's appointment; to the second, and never earlier."""
    with fresh_store(tmp_path, clock) as store:
        clock.advance(timedelta(milliseconds=1))
        anyio.run(held, store, clock)
        make_next_key(tmp_path, vault, None)
        assert (read_host_keys(tmp_path).current, published(vault, tmp_path, clock)) == ("host", [])
        keys = served(tmp_path, store, one_bay(), clock.now())
    assert (keys.current, keys.waiting, read_host_keys(tmp_path)) == ("host-2", None, keys)
    clock.advance(timedelta(minutes=5) - timedelta(milliseconds=2))
    assert published(vault, tmp_path, clock) == [("host", "sign")]
    clock.advance(timedelta(milliseconds=1))
    assert published(vault, tmp_path, clock) == [("host", "verify")]
    clock.set(START.replace(day=15, hour=17, minute=45) + timedelta(days=365) - timedelta(seconds=1))
    assert published(vault, tmp_path, clock) == [("host", "verify")]
    clock.advance(timedelta(seconds=1))
    assert published(vault, tmp_path, clock) == []


@pytest.mark.req("SCH-027")
def test_a_longer_retention_of_before_is_kept_to(tmp_path: Path, clock: ManualClock, vault: Vault) -> None:
    """Two years were promised once; a policy of one day since does not take them back."""
    with fresh_store(tmp_path, clock) as store:
        served(tmp_path, store, one_bay(retention="P730D"), clock.now())
        make_next_key(tmp_path, vault, None)
        served(tmp_path, store, one_bay(retention="P1D"), clock.now())
    clock.advance(timedelta(days=729))
    assert published(vault, tmp_path, clock) == [("host", "verify")]
    clock.advance(timedelta(days=1))
    assert published(vault, tmp_path, clock) == []


def test_one_key_waits_at_a_time_and_none_is_overwritten(tmp_path: Path, clock: ManualClock, vault: Vault) -> None:
    """A second change before the host is served again is refused; after it there is a third key."""
    first = vault.public("host").thumbprint
    with fresh_store(tmp_path, clock) as store:
        second = make_next_key(tmp_path, vault, None)
        with pytest.raises(Refused) as caught:
            make_next_key(tmp_path, vault, None)
        assert caught.value.refusal.code == "key_waits"
        served(tmp_path, store, one_bay(), clock.now())
        third = make_next_key(tmp_path, vault, None)
        assert served(tmp_path, store, one_bay(), clock.now()).current == "host-3"
    assert [vault.public(name).thumbprint for name in ("host", "host-2", "host-3")] == [first, second, third]
    assert [name for name, _ in published(vault, tmp_path, clock)] == ["host-2", "host"]


def test_a_damaged_list_of_keys_is_said_to_be(tmp_path: Path) -> None:
    """Nobody guesses which key signs."""
    (tmp_path / "host-keys.json").write_text('{"current": 7}')
    with pytest.raises(Corrupt):
        read_host_keys(tmp_path)
