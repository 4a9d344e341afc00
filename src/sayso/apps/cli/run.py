"""`sayso run`: one prompt to an agent that works in a folder, every event of it printed (OAP-212)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, NOT_STARTED, REFUSED
from sayso.apps.cli.options import home_option

if TYPE_CHECKING:
    from sayso.apps.agent_home import AgentWishes
    from sayso.apps.prompting.session import Verdict
    from sayso.apps.prompting.telling import Tells

__all__ = ("run",)

_LONGEST_PROMPT = 1024 * 1024
_NOTHING_TO_START_WITH = frozenset(
    ("credential_missing", "credential_expired", "model_not_found", "unknown_provider", "unknown_session")
)


@click.command(epilog="Exit codes: 0 completed, 1 failed or stopped, 2 called wrongly, 3 no such model, no credential.")
@click.argument("prompt", nargs=-1)
@click.option("--agent", is_flag=True, help="Run an agent. It is what `run` does; the word may be left out.")
@home_option
@click.option("--model", metavar="PROVIDER/MODEL", help="Which model; else the first provider you are signed in to.")
@click.option(
    "--permission",
    type=click.Choice(["ask", "bypass"]),
    default="ask",
    show_default=True,
    help="Ask before each call that changes something, or allow them all now.",
)
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    default=".",
    show_default="this folder",
    help="The folder its file tools are confined to.",
)
@click.option("--resume", "resumed", metavar="ID", help="Go on with an earlier conversation; its end named it.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one JSON envelope a line, and nothing else.")
def run(
    prompt: tuple[str, ...],
    agent: bool,
    home: Path,
    model: str | None,
    permission: str,
    workspace: Path,
    resumed: str | None,
    as_json: bool,
) -> int:
    """Have an agent do something in a folder: read, search, change files, run commands.

    It asks before each call that changes something; where there is no terminal to ask at, such a call is refused. With
    no provider signed in the offline planner answers, which is no language model. A `-` in PROMPT stands for what
    comes through a pipe.

    \b
      sayso run --agent 'Summarize this folder'
      sayso run --model ollama/qwen3 'Which tests are slow?'
      git diff | sayso run 'Review this change:' -
    """
    from sayso.apps.agent_home import AgentWishes
    from sayso.apps.cli.failures import say_failure
    from sayso.apps.cli.logs import log_to_stderr
    from sayso.apps.cli.running import Stopped, run_until_stopped
    from sayso.core.refusal import Refused

    words = _words(prompt)
    log_to_stderr()
    wishes = AgentWishes(
        model=model, permission="bypass" if permission == "bypass" else "ask", workspace=workspace.resolve(), keeps=True
    )
    tells = _tells(as_json=as_json)
    try:
        verdict = run_until_stopped(lambda: _follow(home, wishes, resumed, words, tells))
    except Stopped:
        return REFUSED
    except Refused as refused:
        code = say_failure(refused)
        return NOT_STARTED if refused.refusal.code in _NOTHING_TO_START_WITH else code
    return DONE if verdict.value == "completed" else REFUSED


async def _follow(home: Path, wishes: AgentWishes, resumed: str | None, words: str, tells: Tells) -> Verdict:
    from sayso.apps.agent_home import open_agent
    from sayso.apps.asking.keyboard import Keyboard
    from sayso.apps.home import open_home
    from sayso.apps.prompting.person import Answering
    from sayso.apps.prompting.session import follow

    async with open_agent(open_home(home, is_world=False), wishes) as agent:
        await agent.models.service.verify(agent.model_ref)
        if agent.notice is not None:
            tells.note(agent.notice)
        session = await agent.start(resumed=resumed)
        try:
            return await follow(session, words, tells, Answering(Keyboard(), sys.stderr))
        finally:
            tells.note(f"conversation {session.id}; go on with: sayso run --resume {session.id} ...")


def _words(prompt: tuple[str, ...]) -> str:
    """The prompt; a `-` in it stands for what comes through standard input."""
    from sayso.apps.asking.plain_text import is_text

    said = " ".join(word for word in prompt if word != "-").strip()
    is_piped = "-" in prompt or not (prompt or sys.stdin is None or sys.stdin.isatty())
    words = "\n\n".join(part for part in (said, _piped() if is_piped else "") if part)
    if not words:
        raise click.UsageError("Say what is to be done: sayso run 'Summarize this folder'")
    if not is_text(words):
        raise click.UsageError("The prompt is no text: its bytes are not UTF-8")
    return words


def _piped() -> str:
    """What came through the pipe. Raises a usage error when it is too long to be a prompt."""
    data = sys.stdin.buffer.read(_LONGEST_PROMPT + 1) if sys.stdin is not None else b""
    if len(data) > _LONGEST_PROMPT:
        raise click.UsageError(f"A prompt has at most {_LONGEST_PROMPT // 1024} KiB; name files in it instead")
    return data.decode(errors="surrogateescape").strip()


def _tells(*, as_json: bool) -> Tells:
    from sayso.apps.prompting.telling import JsonTelling, LinesTelling

    return JsonTelling(sys.stdout.buffer, sys.stderr) if as_json else LinesTelling(sys.stdout)
