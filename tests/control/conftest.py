"""What every control test can ask for: a trace, judged at its end by the machine and by the upstream schemas.

Where the upstream folder is missing its schemas judge nothing, and our own behaviour is tested all the same. A test
that is only about them asks for `shared` as well, and is skipped there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from sayso.control.protocol.conversation import Conversation, Diagnostic
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.machine import conclude, step
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.validator.judging import judge


@cache
def upstream(folder: Path, root: str) -> Any:
    """The upstream schema `root` with all its neighbours registered under their `$id`."""
    documents = [json.loads(path.read_text()) for path in sorted(folder.glob("*.schema.json"))]
    registry = jsonschema_rs.Registry([(document["$id"], document) for document in documents])
    return jsonschema_rs.validator_for({"$ref": root}, registry=registry)


def oracle(beside: Path | None, root: str) -> Any:
    """The upstream schema `root`; without the folder, the schema that admits everything."""
    if beside is None:
        return jsonschema_rs.validator_for(True)
    return upstream(beside / "oap" / "schema" / "v0.1", root)


@pytest.fixture
def agent_schema(beside: Path | None) -> Any:
    """Judges envelopes of agent-control-core."""
    return oracle(beside, "envelope.schema.json")


@pytest.fixture
def provider_schema(beside: Path | None) -> Any:
    """Judges envelopes of model-provider-core."""
    return oracle(beside, "provider-envelope.schema.json")


class Trace:
    """Every envelope in the order it counted. A whole one has both sides; a partial one is a client's view."""

    def __init__(self, schema: Any, *, is_partial: bool = False) -> None:
        self._schema = schema
        self.is_partial = is_partial
        self.envelopes: list[Envelope[Wire]] = []
        self._state = Conversation(is_partial=is_partial)
        self._judged = 0

    def record(self, envelope: Envelope[Wire]) -> None:
        self.envelopes.append(envelope)

    def types(self, run_id: str | None = None) -> list[str]:
        """The types of all envelopes, or of one run's events."""
        if run_id is None:
            return [envelope.type for envelope in self.envelopes]
        return [envelope.type for envelope in self.envelopes if envelope.run_id == run_id and envelope.sequence]

    def verify(self, *, is_over: bool = True) -> None:
        """Each envelope has its upstream shape, each came when it might, and at the end nothing is owed."""
        faults: list[Diagnostic] = []
        for envelope in self.envelopes[self._judged :]:
            error = next(self._schema.iter_errors(json.loads(write_envelope(envelope))), None)
            assert error is None, f"{envelope.type}: {error}"
            self._state, found = step(self._state, envelope)
            faults += found
        self._judged = len(self.envelopes)
        faults += conclude(self._state) if is_over and not self.is_partial else ()
        assert faults == []
        if is_over and not self.is_partial and self.envelopes:
            report = judge(b"\n".join(map(write_envelope, self.envelopes)))
            assert report.diagnostics == ()


@pytest.fixture
def trace(agent_schema: Any) -> Iterator[Trace]:
    """A hub's whole trace, judged when the test is over."""
    whole = Trace(agent_schema)
    yield whole
    whole.verify()
