"""A tool source that speaks MCP, opened anew for each session (OAP-156, OAP-060..064).

The attachment comes resolved: a child's command, arguments and variables are the operator's (wire fact 43), and the
child sees those variables and nothing else (44). What an attachment cannot say, the operator says beside it.

The `mcp` package is loaded when the first source is opened: no session without one pays for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from sayso.control.loop.contract import SourceTerms, ToolSource
from sayso.control.loop.permitting import Permitting, shown
from sayso.control.mcp_sources.limits import Limits, Operator
from sayso.control.mcp_sources.source import Lives, McpTools
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import ToolSourceAttachment
from sayso.core.clock import Clock
from sayso.core.refusal import Refused
from sayso.net.child import Program
from sayso.net.environment import child_environment

__all__ = ("McpOpener", "mcp_opener")

_FEATURE = "action.tool_sources.attach"
_PROTOCOL = "mcp"
_MEMBERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "process": ("command", ()),
    "remote": ("endpoint", ("command", "args", "environment")),
}
"""By kind: the member it needs, and those that have no meaning for it. A child's `endpoint` is a name for people."""


class McpOpener:
    """An `OpensSource`. `operator` is None for a source that only an attachment describes.

    Refused `unsupported_feature` when it is made: a kind or a protocol that is not served, a member that is missing or
    has no meaning for its kind. Nothing is started before `open`.
    """

    def __init__(
        self,
        attachment: ToolSourceAttachment,
        *,
        environ: Mapping[str, str],
        clock: Clock,
        operator: Operator | None = None,
        limits: Limits | None = None,
    ) -> None:
        _verify(attachment)
        self._attachment = attachment
        self._environ = environ
        self._clock = clock
        self._operator = operator
        self._limits = limits or Limits()

    @property
    def id(self) -> str:
        """The name under which the source is published."""
        return self._attachment.id

    @asynccontextmanager
    async def open(self, terms: SourceTerms) -> AsyncIterator[ToolSource | None]:
        """The server's tools, asked about as the session's permission says. Refused `open_failed`, with the exit code
        and the last of stderr where there are any.
        """
        try:
            # What a person let pass unasked are sources that somebody set up here, not an address out of a request.
            asks = self._operator is None and self._attachment.kind == "remote"
            tools = McpTools(self.id, self._lives(terms), self._limits, self._clock, always_asks=asks)
            await tools.begin()
        except Refused as refused:
            raise _named(self.id, refused) from None
        try:
            yield Permitting(tools, terms.permission)
        finally:
            await tools.close()

    def _lives(self, terms: SourceTerms) -> Callable[[], Lives]:
        """How a server is started, as often as one is."""
        try:
            from sayso.control.mcp_sources.lives import lives_at, lives_of  # noqa: PLC0415 - half a second, and an extra
        except ImportError:
            need = "Install it with `pip install 'sayso[mcp]'`."
            raise Refused.because(
                "open_failed", "the package `mcp` is not installed", reason="not_installed", help=need
            ) from None
        if self._attachment.kind == "process":
            return lives_of(self._program(terms), self.id, self._limits, self._operator)
        return lives_at(str(self._attachment.endpoint), self.id, self._limits, self._operator)

    def _program(self, terms: SourceTerms) -> Program:
        attachment = self._attachment
        try:
            environment = child_environment(attachment.environment or (), self._environ, must_be_set=True)
        except Refused as refused:
            raise Refused.because("open_failed", refused.refusal.message, reason="environment") from None
        return Program(
            command=(str(attachment.command), *(attachment.args or ())),
            environment=environment,
            called=attachment.id,
            cwd=terms.workspace,
            line_limit=self._limits.message_bytes,
            patience=self._limits.patience,
        )


def mcp_opener(
    attachment: ToolSourceAttachment,
    *,
    environ: Mapping[str, str],
    clock: Clock,
    operators: Mapping[str, Operator] | None = None,
) -> McpOpener:
    """What opens a source that a client attaches; `operators` by the id of a source. Refused as `McpOpener` is; besides
    an endpoint without https that no operator configured: whoever may open a session is not thereby led to what
    listens on this machine.
    """
    operator = (operators or {}).get(attachment.id)
    opener = McpOpener(attachment, environ=environ, clock=clock, operator=operator)
    if operator is None and attachment.kind == "remote" and not str(attachment.endpoint).startswith("https:"):
        raise _no(attachment, "endpoint", "an endpoint that is not configured here is https")
    return opener


def _verify(attachment: ToolSourceAttachment) -> None:
    needed, foreign = _MEMBERS.get(attachment.kind, ("", ()))
    if not needed:
        raise _no(attachment, "kind", f"sources of kind {attachment.kind} are not opened here")
    if attachment.protocol not in (UNSET, _PROTOCOL):
        raise _no(attachment, "protocol", f"a source is spoken to in {_PROTOCOL}")
    if not getattr(attachment, needed):
        raise _no(attachment, needed, f"a source of kind {attachment.kind} has its {needed}")
    for member in foreign:
        if getattr(attachment, member):
            raise _no(attachment, member, f"a source of kind {attachment.kind} has no {member}")


def _no(attachment: ToolSourceAttachment, member: str, message: str) -> Refused:
    details = {"feature": _FEATURE, "reason": "unsatisfiable", "source": attachment.id, "field": member}
    return Refused.because("unsupported_feature", message, details=details)


def _named(source_id: str, refused: Refused) -> Refused:
    """The refusal of a session's opening, naming the source; what its server wrote last stays beside it."""
    fault = refused.refusal
    details = {**fault.details, "source": source_id}
    more = f" (exit code {fault.details['exit_code']})" if "exit_code" in fault.details else ""
    tail = f"; it wrote: {fault.details['stderr']}" if "stderr" in fault.details else ""
    # Both are the server's words, and this is printed on terminals.
    message = f"the tool source {source_id} did not open: {shown(f'{fault.message}{more}{tail}')}"
    return Refused.because("open_failed", message, reason=fault.reason, help=fault.help, details=details)
