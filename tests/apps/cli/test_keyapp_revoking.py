"""`sayso keyapp mandates|revoke|serve`: what a person allowed, taken back, and told to hosts that ask."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sayso.apps.cli.keyapp import keyapp
from sayso.apps.home import open_home
from sayso.apps.house import open_issued
from sayso.apps.keys import PRINCIPAL, make_keys
from sayso.core import strictjson
from sayso.core.ids import SystemIds
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher
from sayso.proof.jws import sign_jws
from sayso.scheduling.terms.mandate_checks import verify_mandate
from sayso.scheduling.terms.status_checks import verify_status
from sayso.store.open import open_store
from sayso.store.vault import Vault

ORIGIN = "https://keys.example"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "settings.toml").write_text(f'keyapp_origin = "{ORIGIN}"\n')
    make_keys(Vault(folder, open_home(folder, is_world=False).clock), None)
    return folder


def signed(home: Path) -> str:
    """A permission as this home's key app signs and keeps it."""
    place = open_home(home, is_world=False)
    vault = Vault(place.path, place.clock)
    key, now = vault.signer(PRINCIPAL), epoch(place.clock.now())
    with open_store(place.database, place.clock) as store:
        issued = open_issued(place, vault, store, SystemIds())
        status = issued.new_status()
        claims = {
            "iss": f"urn:schcp:principal:jwk-thumbprint:{key.public.thumbprint}",
            "aud": "maple-street-auto@maplestreetauto.example",
            "iat": now,
            "exp": now + 3600,
            "jti": "m_1",
            "cnf": {"jkt": vault.public("agent").thumbprint},
            "principal_jwk": key.public.jwk(),
            "scope": ["hold"],
            "constraints": {},
            "consent": {"mode": "human_present", "statement": "I allow my assistant to look."},
            **({} if status is None else {"status": status[0], "status_jwk": status[1]}),
        }
        token = sign_jws(strictjson.parse(strictjson.encode(claims)), key, typ="schcp-mandate+jwt")
        asyncio.run(issued.keep(token))
    return token


def run(home: Path, *arguments: str) -> str:
    done = CliRunner().invoke(keyapp, [*arguments, "--home", str(home)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.req("SCH-094", "SCH-107")
def test_a_permission_is_listed_with_its_words_and_taken_back_by_its_id(home: Path) -> None:
    """Afterwards it is no longer in force; the list of all says when it was taken back."""
    signed(home)
    listed = run(home, "mandates")
    assert ("m_1" in listed, "can be taken back" in listed, "I allow my assistant to look." in listed) == (True,) * 3
    assert "stays booked until somebody cancels it" in run(home, "revoke", "m_1")
    assert "m_1" not in run(home, "mandates")
    assert "taken back" in run(home, "mandates", "--all")


@pytest.mark.req("SCH-094")
def test_a_key_app_without_an_address_takes_nothing_back(home: Path) -> None:
    """It says so, in the list and when asked; and it serves nothing."""
    (home / "settings.toml").write_text("")
    assert verify_mandate(signed(home)).claims.status is None
    assert "ends by itself" in run(home, "mandates")
    for arguments, code in ((["revoke", "m_1"], "not_revocable"), (["serve"], "no_public_origin")):
        with pytest.raises(Refused) as caught:
            run(home, *arguments)
        assert caught.value.refusal.code == code


@pytest.mark.req("SCH-094", "SCH-099")
def test_the_served_key_app_tells_hosts_what_was_taken_back_meanwhile(home: Path) -> None:
    """Another process revokes; the answer is signed by the key that stands in the mandate."""
    token = signed(home)
    found = verify_mandate(token)
    command = [sys.executable, "-m", "sayso", "keyapp", "serve", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            address = process.stdout.readline().strip().rpartition("=")[2]

            async def ask() -> str:
                async with Fetcher({"keys.example": address}) as fetcher:
                    response = await fetcher.get(str(found.claims.status))
                now = open_home(home, is_world=False).clock.now()
                return verify_status(response.body, found.claims, found.sha256, now).state

            before = asyncio.run(ask())
            run(home, "revoke", "m_1")
            assert (before, asyncio.run(ask())) == ("active", "revoked")
        finally:
            process.terminate()
