"""The adapters a hub serves and the tool sources clients may attach, by name.

Whoever registers an entry, from the document of `--config` or from a program, meets the same checks here (OAP-088).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sayso.control.adapters.contract import Adapter
from sayso.control.hub.registry_document import ToolSourceEntry, not_valid
from sayso.control.hub.tool_sources import ConfiguredSource, configured_source, resolve_attachments
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.session import SessionOpenRequest
from sayso.core.refusal import Misuse, Refused

__all__ = ("Registry",)

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Registry:
    """Names in sorted order; a name is an address, so it is short and plain.

    `environ` is where the names in an environment list get their values from; without it nothing is set, because
    nothing ambient is inherited.
    """

    def __init__(
        self, adapters: Mapping[str, Adapter] | None = None, *, environ: Mapping[str, str] | None = None
    ) -> None:
        self._adapters: dict[str, Adapter] = {}
        self._capacities: dict[str, int] = {}
        self._sources: dict[str, ConfiguredSource] = {}
        self._environ = dict(environ or {})
        for name, adapter in (adapters or {}).items():
            if not _NAME.fullmatch(name):
                raise Misuse(f"{name!r} is no name for an adapter")
            self._adapters[name] = adapter

    def __repr__(self) -> str:
        return f"Registry({', '.join(name for name, _ in self)})"

    def register(self, name: str, adapter: Adapter, *, journal_capacity: int | None = None) -> None:
        """Adds an adapter. `journal_capacity` is how many events each of its sessions keeps for replay.

        Refused `config_invalid`: a name that is none, or is taken; a capacity below one.
        """
        place = f"adapters.{name}"
        if not _NAME.fullmatch(name):
            raise not_valid("name", f"{name!r} is no name for an adapter", place=place)
        if name in self._adapters:
            raise not_valid("registered", f"an adapter named {name} is registered", place=place)
        if journal_capacity is not None:
            if journal_capacity < 1:
                raise not_valid("shape", "a journal keeps at least one event", place=f"{place}.journal_capacity")
            self._capacities[name] = journal_capacity
        self._adapters[name] = adapter

    def register_source(self, source_id: str, entry: ToolSourceEntry) -> None:
        """Adds a tool source that clients may attach by its id.

        Refused `config_invalid`: an id that is none, or is taken; a kind outside the five; a process without a command;
        a variable listed twice, misnamed, or not set here.
        """
        place = f"tool_sources.{source_id}"
        if not source_id:
            raise not_valid("name", "a tool source has an id", place=place)
        if source_id in self._sources:
            raise not_valid("registered", f"a tool source named {source_id} is registered", place=place)
        self._sources[source_id] = configured_source(source_id, entry, self._environ)

    def find(self, name: str) -> Adapter:
        """Raises `Refused` `unknown_adapter`."""
        adapter = self._adapters.get(name)
        if adapter is None:
            raise Refused.because("unknown_adapter", "no adapter has this name")
        return adapter

    def journal_capacity(self, name: str) -> int | None:
        """What this adapter was registered with."""
        return self._capacities.get(name)

    def attached(self, request: Envelope[SessionOpenRequest]) -> Envelope[SessionOpenRequest]:
        """The request with each source as its operator configured it: for the adapter alone, it may hold secrets.

        Raises `Refused` `unsupported_feature` for what may not come over a wire (OAP-062..064).
        """
        return resolve_attachments(request, self._sources, self._environ)

    def __iter__(self) -> Iterator[tuple[str, Adapter]]:
        return iter(sorted(self._adapters.items()))
