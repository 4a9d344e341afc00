"""The sample world as processes: served, found, moved in time, stopped."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import anyio
import pytest

from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.ledger.ledger import Ledger
from sayso.net.fetch import Fetcher
from sayso.net.signing import SignedClient
from sayso.proof.keys import PrivateKey
from sayso.scheduling.guest.discovery import HostDocuments
from sayso.scheduling.host.config import build_profile
from sayso.scheduling.host.documents import discovery_bytes
from sayso.scheduling.terms.consent_text import verified_identity
from sayso.scheduling.terms.discovery import Notes
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.store.open import open_store
from sayso.store.vault import Vault
from sayso.world.hosts import HOSTS
from sayso.world.maple_street import maple_street_auto
from sayso.world.people import SAM
from sayso.world.places import START, clock_file, host_folder, ports_file
from sayso.world.process import find_world, running_world
from sayso.world.serve import serving_world
from sayso.world.timekeeping import move_clock, open_clock
from tests.scheduling.host.town import DOMAIN, Guest, read, reason

pytestmark = pytest.mark.anyio

COMMAND = [sys.executable, "-m", "sayso.apps.cli.world", "serve"]


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def guest(fetcher, clock):
    agent = PrivateKey.generate()
    return Guest(SignedClient(fetcher, agent, clock, SystemIds()), PrivateKey.generate(), agent, clock)


def serve(home, *more):
    return subprocess.Popen(
        [*COMMAND, "--home", str(home), "--json", *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.req("SCH-365", "SCH-372")
def test_maple_street_is_the_shop_of_the_paper():
    """Its figures, and a document that a guest accepts."""
    key = PrivateKey.generate().public
    document = verify_discovery(discovery_bytes(maple_street_auto(), key), DOMAIN)
    services = {service.id: (service.duration, service.buffer, service.price) for service in document.services}
    assert (document.title, document.timezone, document.host) == (
        "Maple Street Auto",
        "America/Toronto",
        "maple-street-auto@maplestreetauto.example",
    )
    assert services["oil-change"][:2] == ("PT45M", "PT15M")
    assert services["oil-change"][2].amount == "79.00"
    assert (services["detailing"][0], services["brake-diagnosis"]) == ("PT3H", ("open", None, None))
    assert (document.policies.holds.ttl_max, document.policies.retention, document.policies.closed_mandate) == (
        "PT10M",
        "P365D",
        "never",
    )
    assert ([tax.title for tax in document.taxes], [each.title for each in document.resources]) == (
        ["HST 13%"],
        ["Alex", "Robin"],
    )
    assert SAM.asks == "Book my oil change Thursday around 1 PM, under $100"


@pytest.mark.req("SCH-366", "SCH-367", "SCH-372", "SCH-035")
async def test_two_hosts_are_found_through_chairly(home):
    """Fades on Queen by its name alone, Harbourview Dental by its own domain, both with their endpoint at Chairly."""
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        documents = HostDocuments(fetcher, open_clock(home))
        fades = await documents.document("fades-on-queen@chairly.example")
        dentist = await documents.document("harbourviewdental.example")
    assert [verified_identity(each).said for each in (fades, dentist)] == [
        "Fades on Queen, listed by chairly.example",
        "Harbourview Dental (harbourviewdental.example)",
    ]
    assert [each.endpoint for each in (fades, dentist)] == [
        "https://chairly.example/hosts/fades-on-queen/schcp/v0",
        "https://chairly.example/hosts/harbourview-dental/schcp/v0",
    ]
    assert (dentist.timezone, dentist.policies.closed_mandate, dentist.policies.notes) == (
        "America/Vancouver",
        "always",
        Notes(accepted=False, instead="Fill in our own intake form when you arrive."),
    )


@pytest.mark.req("SCH-374")
def test_every_home_has_its_own_copy_of_every_host():
    """What one caller does with its settings, no other sees."""
    for settings in HOSTS:
        one, other = settings(), settings()
        before = build_profile(other)
        one.units[0].hours.clear()
        assert build_profile(other) == build_profile(settings()) == before


@pytest.mark.req("SCH-373", "SCH-377")
async def test_a_world_is_served_by_name_and_keeps_its_state(home):
    """Booked under its https name over a loopback port; after a restart the booking is there under the same key."""
    async with serving_world(home) as ports:
        published = strictjson.parse(ports_file(home).read_bytes())
        assert published == dict(ports)
        async with Fetcher(ports) as fetcher:
            sam = guest(fetcher, open_clock(home))
            booking = await sam.book(sam.mandate())
            kid = (await fetcher.get(f"https://{DOMAIN}/.well-known/scheduling.json")).body
    assert not ports_file(home).exists()
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        sam.client = SignedClient(fetcher, sam.agent, open_clock(home), SystemIds())
        assert read(await sam.send("GET", f"/bookings/{booking['booking_id']}"), 200)["booking"] == booking
        assert (await fetcher.get(f"https://{DOMAIN}/.well-known/scheduling.json")).body == kid


async def test_the_host_keeps_a_receipt_log_that_verifies(home):
    """Each state change is in it, and the documents it rests on verify under their own keys."""
    async with serving_world(home) as ports, Fetcher(ports) as fetcher:
        sam = guest(fetcher, open_clock(home))
        mandate = sam.mandate()
        booking = await sam.book(mandate)
        read(await sam.cancel(booking["booking_id"], mandate), 200)
    folder = host_folder(home, "maple-street-auto")
    clock = open_clock(home)
    key = Vault(folder, clock).signer("ledger")
    with open_store(folder / "sayso.db", clock) as store:
        ledger = Ledger(store, f"sayso/{key.public.thumbprint}", clock)
        await ledger.checkpoint(key)
        verdict = await ledger.verify(key.public)
        kinds = [record.kind for record in await ledger.records()]
    assert kinds == ["hold.placed", "booking.confirmed", "booking.cancelled"]
    assert (verdict.records, verdict.signed, verdict.absent) == (3, 4, 0)


@pytest.mark.req("SCH-373")
async def test_the_worlds_clock_reaches_its_hosts(home):
    """Moved from outside, it ends a hold in another process."""
    async with running_world(home) as world, Fetcher(world.resolve) as fetcher:
        assert (world.is_ours, open_clock(home).now()) == (True, START)
        sam = guest(fetcher, open_clock(home))
        mandate = sam.mandate()
        hold = read(await sam.hold(mandate), 201)
        move_clock(home, "+PT5M")
        assert reason(await sam.confirm(hold, mandate), 409) == "hold_expired"


async def test_a_running_world_is_found_and_used_again(home):
    """The second caller gets the same ports and does not end the first one's world."""
    async with running_world(home) as mine:
        async with running_world(home) as found:
            assert (found.resolve, found.is_ours) == (mine.resolve, False)
        assert await find_world(home) == mine.resolve
    assert (await find_world(home), ports_file(home).exists()) == (None, False)


async def test_two_callers_at_once_end_up_in_one_world(home):
    """Whoever comes second uses what the first one started."""
    seen = []

    async def use(others):
        async with running_world(home) as world:
            seen.append(world)
            if len(seen) == 2:
                others.set()
            await others.wait()

    both = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(use, both)
        tasks.start_soon(use, both)
    assert seen[0].resolve == seen[1].resolve
    assert sorted(world.is_ours for world in seen) == [False, True]


async def test_a_stale_map_is_not_taken_for_a_world(home):
    """Nobody there, somebody else there, rubbish: each time a world is started anew."""
    async with serving_world(home):
        pass
    async with serving_world(home.parent / "other") as others:
        for text in (b'{"maplestreetauto.example":"127.0.0.1:1"}', b"rubbish", strictjson.encode(dict(others))):
            ports_file(home).write_bytes(text)
            assert await find_world(home) is None
    async with running_world(home) as world:
        assert await find_world(home) == world.resolve


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_world_with_exit_code_0_and_no_stale_map(home, how):
    """Also when it comes while a client is connected."""
    process = serve(home)
    ready = strictjson.parse(process.stdout.readline().encode())
    assert ready == {"ready": True, "ports": strictjson.parse(ports_file(home).read_bytes())}
    process.send_signal(how)
    process.communicate()
    assert (process.returncode, ports_file(home).exists()) == (0, False)


def test_a_killed_world_starts_again_on_the_same_files(home):
    """SIGKILL leaves the map behind; the next one replaces it and takes the lock."""
    first = serve(home)
    old = first.stdout.readline()
    first.kill()
    first.communicate()
    assert ports_file(home).exists()
    second = serve(home)
    assert second.stdout.readline() != old
    second.terminate()
    second.communicate()
    assert (second.returncode, ports_file(home).exists()) == (0, False)


def test_a_world_ends_with_whoever_started_it(home):
    """Its end of the pipe closes, however that process ended."""
    process = serve(home, "--until-eof")
    process.stdout.readline()
    process.communicate("")
    assert (process.returncode, ports_file(home).exists()) == (0, False)


async def test_one_process_serves_a_world_at_a_time(home):
    """The second is told so and changes nothing."""
    async with serving_world(home):
        before = ports_file(home).read_bytes()
        with pytest.raises(Refused) as refused:
            async with serving_world(home):
                pass
        assert (refused.value.refusal.code, ports_file(home).read_bytes()) == ("world_is_running", before)


async def test_a_world_that_others_can_read_is_not_served(home):
    """Its keys are unlocked."""
    folder = home / "world"
    folder.mkdir(mode=0o755)
    os.chmod(folder, 0o755)
    with pytest.raises(Refused) as refused:
        async with serving_world(home):
            pass
    assert refused.value.refusal.code == "home_not_private"


@pytest.mark.req("SCH-373")
def test_the_clock_starts_on_13_october_2026_and_moves_forward_only(home):
    """By an instant or by a duration; never back, and not by rubbish."""
    assert open_clock(home).now() == START
    assert move_clock(home, "+PT5M") == START + timedelta(minutes=5)
    assert move_clock(home, "2026-10-15T13:00:00-04:00") == START + timedelta(days=2, hours=4)
    before = clock_file(home).read_bytes()
    for text, code in (
        ("2026-10-13T13:00:00Z", "clock_backwards"),
        ("+P1M", "malformed_duration"),
        ("tomorrow", "malformed_instant"),
    ):
        with pytest.raises(Refused) as refused:
            move_clock(home, text)
        assert refused.value.refusal.code == code
    assert clock_file(home).read_bytes() == before
