"""`sayso auth`: signing in to model providers, and out again. No key is ever an argument, nor printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, NOT_STARTED, REFUSED
from sayso.apps.cli.options import home_option, read_resolve, resolve_option
from sayso.apps.cli.providers import format_option, table
from sayso.apps.cli.version import version_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sayso.apps.home import Home
    from sayso.control.provider.catalog.providers import Providers
    from sayso.control.provider.catalog.rows import Row
    from sayso.control.provider.credentials.oauth.device import DeviceCode
    from sayso.control.provider.credentials.resolving import State
    from sayso.control.provider.credentials.store import CredentialStore
    from sayso.control.provider.credentials.values import OAuthToken

__all__ = ("auth",)

provider_option = click.option("--provider", "id_", metavar="ID", required=True, help="See: sayso auth providers")


@click.group(epilog="Exit codes: 0 done, 1 refused (or stopped), 2 called wrongly, 3 could not start.")
@version_option
def auth() -> None:
    """Sign in to model providers.

    What you give is kept in your system's keyring or, where there is none, in auth.json in your home, which only you
    can read. A key in a provider's environment variable needs no signing in.
    """


@auth.command("providers")
@format_option
@home_option
def list_providers(form: str, home: Path) -> int:
    """List what one can sign in to, and how each stands. No network is used."""
    from sayso.control.provider.credentials.resolving import Credentials
    from sayso.core import strictjson
    from sayso.net.fetch import Fetcher

    place, known, store = _open(home)
    credentials = Credentials(place.path, store, environ=_environ(), clock=place.clock, fetcher=Fetcher)
    found = [(row, credentials.state(row)) for row in known.offered]
    if form == "json":
        click.echo(strictjson.encode({"providers": [_object(row, state) for row, state in found]}))
    else:
        click.echo(table([(row.id, row.name, ", ".join(row.auth), _said(state)) for row, state in found]), nl=False)
    if store.trouble is not None:
        click.echo(f"{_keyring_trouble(store)} is not seen.", err=True)
    return DONE


@auth.command()
@provider_option
@click.option(
    "--with",
    "way",
    type=click.Choice(["key", "device", "browser"]),
    help="A key you type, a code on another device, or a browser on this one. [default: what the provider takes]",
)
@resolve_option
@home_option
def login(id_: str, way: str | None, resolve: tuple[str, ...], home: Path) -> int:
    """Sign in to a provider: by a key, typed unseen at the terminal, or by OAuth."""
    place, known, store = _open(home)
    row = _find(known, id_)
    chosen = _way(row, way)
    store.verify()
    if chosen == "key":
        return _take_key(row, store)
    token = _sign_in(row, chosen, place, read_resolve(resolve))
    if token is None:
        click.echo("Stopped. Nothing was kept.", err=True)
        return REFUSED
    keeper = store.put(row.id, token)
    click.echo(f"Signed in to {_plain(row.name)}. {_kept(keeper)}")
    _tell_what_goes_first(row)
    return DONE


@auth.command()
@provider_option
@home_option
def logout(id_: str, home: Path) -> int:
    """Forget what was stored for a provider."""
    _, known, store = _open(home)
    row = _find(known, id_)
    was_there = store.remove(row.id)
    name = _plain(row.name)
    click.echo(f"Forgotten: {name}." if was_there else f"Nothing was stored for {name}.")
    _tell_what_goes_first(row)
    if store.trouble is not None:
        click.echo(f"{_keyring_trouble(store)} may still be there. Unlock it and sign out again.", err=True)
        return REFUSED
    return DONE


def _open(home: Path) -> tuple[Home, Providers, CredentialStore]:
    from sayso.apps.home import open_home
    from sayso.control.provider.catalog.providers import open_providers
    from sayso.control.provider.credentials.store import CredentialStore

    place = open_home(home, is_world=False)
    return place, open_providers(place.path), CredentialStore(place.path, _environ())


def _find(known: Providers, id_: str) -> Row:
    from sayso.core.refusal import Refused

    try:
        return known.find(id_)
    except Refused as refused:
        raise click.UsageError(str(refused)) from None


def _way(row: Row, asked: str | None) -> str:
    """How to sign in. Raises a usage error for a way the provider does not have."""
    ways = []
    for kind in row.auth:
        if kind == "api_key":
            ways.append("key")
        elif kind == "oauth" and row.oauth is not None:
            ways += ["browser"] if row.oauth.authorization_endpoint else []
            ways += ["device"] if row.oauth.device_endpoint else []
    if not ways:
        raise click.UsageError(f"How to sign in to {row.name} from outside its own programs is not known.")
    if asked is not None and asked not in ways:
        raise click.UsageError(f"{row.name} is signed in to with: {', '.join(ways)}")
    return asked or ways[0]


def _take_key(row: Row, store: CredentialStore) -> int:
    from sayso.apps.cli.passphrase import read_passphrase
    from sayso.control.provider.credentials.values import read_key

    typed = read_passphrase(f"Key for {_plain(row.name)} (not shown): ")
    if typed is None:
        click.echo("A key is typed at a terminal, and there is none. Nothing was kept.", err=True)
        return NOT_STARTED
    keeper = store.put(row.id, read_key(typed, "What was typed"))
    click.echo(f"Kept the key for {_plain(row.name)}. {_kept(keeper)}")
    _tell_what_goes_first(row)
    return DONE


def _sign_in(row: Row, way: str, place: Home, resolve: Mapping[str, str]) -> OAuthToken | None:
    """Runs a flow; None: the person stopped it."""
    from sayso.apps.cli.running import Stopped, run_until_stopped
    from sayso.control.provider.credentials.oauth.device import sign_in_on_a_device
    from sayso.control.provider.credentials.oauth.redirect import sign_in_in_a_browser
    from sayso.core.ids import SystemIds
    from sayso.core.refusal import Misuse
    from sayso.net.fetch import Fetcher

    flow = row.oauth
    if flow is None:
        raise Misuse("a row without a flow has no such way")

    async def work() -> OAuthToken:
        async with Fetcher({**place.settings.resolve, **resolve}) as fetcher:
            if way == "device":
                return await sign_in_on_a_device(flow, _environ(), fetcher=fetcher, clock=place.clock, show=_show_code)
            return await sign_in_in_a_browser(
                flow, _environ(), fetcher=fetcher, clock=place.clock, ids=SystemIds(), show=_show_address
            )

    try:
        return run_until_stopped(work)
    except Stopped:
        return None


def _show_code(code: DeviceCode) -> None:
    click.echo(f"Open {code.url}\nand type {code.user_code} there, within {code.minutes} minutes. Ctrl-C stops.")


def _show_address(url: str) -> None:
    click.echo(f"Open this address in a browser on this machine, within 10 minutes. Ctrl-C stops.\n{url}")
    if _environ().get("SSH_CONNECTION"):
        from urllib.parse import parse_qs, urlsplit

        # The browser is on the machine one came from, and has to find its way back through the same door.
        port = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0]).port
        click.echo(f"Over ssh, first on the machine with the browser: ssh -L {port}:localhost:{port} HERE")


def _tell_what_goes_first(row: Row) -> None:
    """A variable that outranks what is stored would otherwise be found out by a bill."""
    environ = _environ()
    names = [name for name in row.credential_env if environ.get(name, "").strip()]
    if names and row.precedence[0] == "environment":
        click.echo(f"{names[0]} is set here and goes first.", err=True)


def _plain(text: str) -> str:
    from sayso.apps.asking.plain_text import plain

    return plain(text)


def _keyring_trouble(store: CredentialStore) -> str:
    return f"The system's keyring could not be asked ({store.trouble}); what it holds"


def _environ() -> Mapping[str, str]:
    import os

    return os.environ


def _kept(keeper: str) -> str:
    return "It is in your system's keyring." if keeper == "keyring" else "It is in auth.json in your home."


def _said(state: State) -> str:
    if state.status == "unknown":
        return "needs none"
    if state.status == "login_required":
        return "not signed in"
    where = state.variable or {"keyring": "keyring", "file": "auth.json"}.get(state.source or "", "")
    said = {"expired": "expired", "failed": "holds no usable key"}.get(state.status, "ready")
    return f"{said} ({where})"


def _object(row: Row, state: State) -> dict[str, object]:
    found: dict[str, object] = {
        "id": row.id,
        "name": row.name,
        "auth_kinds": list(row.auth),
        "auth_status": state.status,
    }
    more = {"source": state.source, "variable": state.variable}
    return {**found, **{name: value for name, value in more.items() if value is not None}}
