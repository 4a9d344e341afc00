"""What each command does. A command answers with lines of its own in the conversation, and fails with a sentence there.

`ACTS` has one act for every command of `commands.COMMANDS`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

import anyio
import anyio.to_thread

from sayso.apps.tui.commands import COMMANDS, read_command
from sayso.apps.tui.past import list_past
from sayso.apps.tui.pickers import Entry, Picker
from sayso.apps.tui.prompts import Asked, Told
from sayso.apps.tui.signing_in import SignIns, Standing, Way
from sayso.apps.tui.talk import Talk
from sayso.control.client.contract import OpenSettings
from sayso.control.protocol.payloads.models import ModelDescriptor
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

if TYPE_CHECKING:
    from sayso.apps.tui.app import SaysoApp

__all__ = ("ACTS", "act", "model_entries", "warm")

_KEYS = """\
Enter sends. Shift+Enter, Ctrl+J, or a backslash and Enter break the line.
While something runs, Enter lets it wait. Ctrl+S steers the run.
Esc stops the run; what waits stays.
Up goes into what waits, then to what you sent before.
@ picks a file, / a command, Tab takes it. PageUp and PageDown read back.
Ctrl-C twice, or Ctrl-D on an empty line, leaves."""


_AS_TERMINAL = "as the terminal"
_ALONE = frozenset({"help", "login", "logout", "quit", "theme"})
"""Commands that need no conversation."""


async def act(app: SaysoApp, text: str) -> None:
    """Carries out one typed line."""
    try:
        typed = read_command(text)
        if typed.name not in _ALONE:
            await app.begun.wait()  # typed before the agent was there: carried out once it is
        await ACTS[typed.name](app, typed.rest)
    except (Refused, PeerRefused, PeerUnreachable, OSError) as failure:
        app.tell(str(failure))


def _talk(app: SaysoApp) -> Talk:
    if app.talk is None:
        raise Refused.because("not_ready", "the agent is not open yet")
    return app.talk


def _idle(app: SaysoApp) -> Talk:
    """A conversation that can be left."""
    talk = _talk(app)
    if talk.running is not None and app.wanted.attach is None:
        raise Refused.because("run_active", "something is running", help="Esc stops it.")
    return talk


async def _help(app: SaysoApp, rest: str) -> None:
    lines = [f"{f'/{each.name} {each.takes}':29} {each.help}" for each in COMMANDS]
    app.tell("\n".join([*lines, "", _KEYS]))


async def _status(app: SaysoApp, rest: str) -> None:
    talk, story = _talk(app), _talk(app).story
    state = await talk.client.state(talk.session_id)
    queue = len(talk.queue)
    where = app.wanted.attach or ("this home" if app.seat and app.seat.conversations else "this process")
    app.tell(
        "\n".join(
            (
                f"session      {talk.session_id} at {where}, {state.status}",
                f"agent        {talk.adapter}",
                f"model        {state.current_model_id or story.model_id or 'not said'}",
                f"permissions  {app.wanted.permission}",
                f"workspace    {app.wanted.workspace if app.wanted.attach is None else 'the hub has its own'}",
                f"waiting      {queue}",
                f"signing      {'here' if app.seat and app.seat.house else 'not here: this home has no keys'}",
            )
        )
    )


# --- models and providers --------------------------------------------------------------------------------------------


async def _model(app: SaysoApp, rest: str, provider: str | None = None) -> None:
    talk = _talk(app)
    listed = (await talk.client.models(talk.session_id, allow_degraded=("models.list",))).models
    models = [each for each in listed if provider in (None, each.provider_id)]
    standings = await _standings(app)
    names = {each.id for each in models}
    model = rest if rest in names else await _pick(app, "Model", model_entries(models, standings), typed=rest)
    if model is None:
        return
    of = next((str(each.provider_id) for each in models if each.id == model and each.provider_id), None)
    if of in standings and not standings[of].is_ready and not await _sign_in(app, of):
        return
    if not talk.offers("session.model.switch"):
        raise Refused.because("unsupported_feature", f"{talk.adapter} keeps its model for the whole conversation")
    await talk.switch_model(model)
    if app.seat is not None:
        await app.learn_standing(app.seat)
    app.tell(f"Model: {model}. A run under way keeps its own.")


def model_entries(models: list[ModelDescriptor], standings: Mapping[str, Standing]) -> list[Entry]:
    """The models of a picker: those that can be used now come first."""
    entries = []
    for each in models:
        standing = standings.get(str(each.provider_id))
        ready = standing is None or standing.is_ready
        window = f"{each.context_window // 1000}k" if each.context_window else ""
        name = each.display_name if each.display_name and each.display_name != each.id else ""
        said = "" if ready or standing is None else f"needs /login {standing.id}"
        detail = " · ".join(part for part in (str(name), window, said) if part)
        entries.append((not ready, Entry(each.id, each.id, detail)))
    return [entry for _, entry in sorted(entries, key=lambda pair: pair[0])]


async def _provider(app: SaysoApp, rest: str) -> None:
    chosen = rest or await _pick(app, "Provider", _provider_entries(await _standings(app)))
    if chosen is not None:
        await _model(app, "", provider=chosen)


async def _login(app: SaysoApp, rest: str) -> None:
    chosen = rest or await _pick(app, "Sign in to", _provider_entries(await _standings(app)))
    if chosen is not None:
        await _sign_in(app, chosen)


async def _logout(app: SaysoApp, rest: str) -> None:
    ready = {name: each for name, each in (await _standings(app)).items() if each.is_ready}
    chosen = rest or await _pick(app, "Sign out of", _provider_entries(ready))
    if chosen is not None:
        app.tell(await SignIns(app.wanted.home).sign_out(chosen))
        await warm(app)


async def _standings(app: SaysoApp) -> dict[str, Standing]:
    """How the providers of this home stand; of a hub elsewhere nothing is known here. Known at once after `warm`."""
    if app.wanted.attach is not None:
        return {}
    if app.standings is None:
        await warm(app)
    return app.standings or {}


async def warm(app: SaysoApp) -> None:
    """Learns how the providers stand, beside everything else: a keyring may take its time. Again after each change."""
    if app.wanted.attach is None:
        signing = await anyio.to_thread.run_sync(SignIns, app.wanted.home)
        app.standings = {each.id: each for each in await signing.standings_beside()}


def _provider_entries(standings: Mapping[str, Standing]) -> list[Entry]:
    return [Entry(each.id, each.name, f"{each.id} · {each.said}") for each in standings.values()]


async def _sign_in(app: SaysoApp, provider: str) -> bool:
    """Whether they signed in."""
    signing = SignIns(app.wanted.home)
    ways = signing.way_of(provider)
    way = ways[0]
    if len(ways) > 1:
        said = {"key": "a key you type", "browser": "a browser on this machine", "device": "a code on another device"}
        picked = await _pick(app, f"Sign in to {provider} with", [Entry(each, said[each]) for each in ways])
        if picked is None:
            return False
        way = cast("Way", picked)
    if way != "key":
        return await _sign_in_by_flow(app, signing, provider, way)
    typed = await app.push_screen_wait(Asked(f"Key for {provider}", masked=True))
    if typed is None:
        app.tell("Nothing was kept.")
        return False
    app.tell(f"Kept the key for {provider}. {await signing.keep_key(provider, typed)}")
    await warm(app)
    return True


async def _sign_in_by_flow(app: SaysoApp, signing: SignIns, provider: str, way: Way) -> bool:
    """Runs the flow beside its screen; the screen stops it, and its end closes the screen."""
    screen = Told(f"Signing in to {provider}", "One moment …")
    said: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def flow() -> None:
            try:
                said.append(await signing.sign_in(provider, way, screen.tell))
            except (Refused, PeerRefused, PeerUnreachable) as failure:
                app.tell(f"Not signed in: {failure}")
            screen.dismiss(None)

        tasks.start_soon(flow)
        await app.push_screen_wait(screen)
        tasks.cancel_scope.cancel()
    app.tell(f"Signed in to {provider}. {said[0]}" if said else "Nothing was kept.")
    await warm(app)
    return bool(said)


# --- conversations ---------------------------------------------------------------------------------------------------


async def _permissions(app: SaysoApp, rest: str) -> None:
    if not rest:
        app.tell(f"Permissions: {app.wanted.permission}. A signature is always asked for, whatever stands here.")
        return
    if rest not in ("ask", "bypass"):
        raise Refused.because("invalid_value", f"{rest} is no permission mode", help="There are ask and bypass.")
    if app.wanted.attach is not None:
        raise Refused.because("unsupported_feature", "the hub you are attached to decides this")
    _idle(app)
    app.open_anew(permission=cast('Literal["ask", "bypass"]', rest))


async def _resume(app: SaysoApp, rest: str) -> None:
    _idle(app)
    if app.seat is None:
        return
    chosen = rest or await _pick(app, "Go on with", await list_past(app.seat, app.clock.now()))
    if chosen is not None:
        _idle(app)
        app.begin_anew(chosen)


async def _clear(app: SaysoApp, rest: str) -> None:
    _idle(app)
    app.begin_anew()


async def _compact(app: SaysoApp, rest: str) -> None:
    talk = _talk(app)
    if not talk.offers("session.compact"):
        raise Refused.because("unsupported_feature", f"{talk.adapter} cannot make its history shorter")
    await talk.compact(rest or None)


async def _autocompact(app: SaysoApp, rest: str) -> None:
    talk = _talk(app)
    if not talk.offers("session.compaction.policy"):
        raise Refused.because("unsupported_feature", f"{talk.adapter} decides this by itself")
    if not rest:
        policy = talk.state.compaction_policy if talk.state else None
        share = f" at {policy.share_percent} percent" if policy and policy.share_percent else ""
        app.tell(f"Made shorter by itself: {policy.kind if policy else 'auto'}{share}.")
        return
    _idle(app)
    app.settings = cast("OpenSettings", {**app.settings, "compaction_policy": _policy(rest)})
    app.begin_anew()


def _policy(rest: str) -> CompactionPolicy:
    number = rest.removesuffix("%").strip()
    if rest in ("on", "auto"):
        return CompactionPolicy(kind="auto")
    if rest == "off":
        return CompactionPolicy(kind="off")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= 100:
        return CompactionPolicy(kind="share", share_percent=int(number))
    raise Refused.because(
        "invalid_value", f"{rest} is no point to begin at", help="There are on, off, or 1 to 100 percent."
    )


async def _steer(app: SaysoApp, rest: str) -> None:
    if not rest:
        raise Refused.because("invalid_value", "say what to steer by: /steer TEXT")
    await app.steer(rest)


async def _abort(app: SaysoApp, rest: str) -> None:
    if not await _talk(app).cancel():
        app.tell("Nothing is running.")


async def _queue(app: SaysoApp, rest: str) -> None:
    talk = _talk(app)
    waiting = talk.queue
    verb, _, number = rest.partition(" ")
    if not rest:
        lines = [f"{at} {each.text}" for at, each in enumerate(waiting, 1)]
        app.tell("\n".join(lines) if lines else "Nothing waits.")
    elif verb == "drop" and number.isascii() and number.isdigit() and 1 <= int(number) <= len(waiting):
        was_taken = await talk.drop(waiting[int(number) - 1])
        app.tell("Taken out." if was_taken else "Its turn had come already.")
    else:
        raise Refused.because("invalid_value", "write it as /queue drop N", help=f"{len(waiting)} are waiting.")


async def _theme(app: SaysoApp, rest: str) -> None:
    names = [_AS_TERMINAL, *sorted(app.available_themes)]
    chosen = rest or await _pick(app, "Colours", [Entry(name, name) for name in names])
    if chosen is None:
        return
    if chosen not in names:
        raise Refused.because("invalid_value", f"no theme is called {chosen}", help=f"There are {', '.join(names)}.")
    app.use_theme(None if chosen == _AS_TERMINAL else chosen)


async def _quit(app: SaysoApp, rest: str) -> None:
    app.action_leave()


async def _pick(app: SaysoApp, title: str, entries: list[Entry], *, typed: str = "") -> str | None:
    if not entries:
        app.tell(f"{title}: there is nothing to choose from.")
        return None
    return await app.push_screen_wait(Picker(title, entries, typed=typed))


ACTS: Mapping[str, Callable[[SaysoApp, str], Awaitable[None]]] = {
    "abort": _abort,
    "autocompact": _autocompact,
    "clear": _clear,
    "compact": _compact,
    "help": _help,
    "login": _login,
    "logout": _logout,
    "model": partial(_model),
    "permissions": _permissions,
    "provider": _provider,
    "queue": _queue,
    "quit": _quit,
    "resume": _resume,
    "status": _status,
    "steer": _steer,
    "theme": _theme,
}
