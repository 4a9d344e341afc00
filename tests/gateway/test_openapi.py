"""The description of the doors, and what happens to whoever generates requests from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import hypothesis
import jsonschema_rs
import pytest
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.applications import Starlette

from sayso.core import strictjson
from sayso.core.gcra import Limit
from sayso.gateway.clients import Signer
from sayso.gateway.clients.for_httpx import SigningAuth
from sayso.gateway.doors.a2a.routes import A2a
from sayso.gateway.doors.acp.endpoint import routes as acp_routes
from sayso.gateway.doors.tasks.door import routes as task_routes
from sayso.gateway.guard.agents import Issued
from sayso.gateway.openapi import DOORS, PATH, describe, openapi_routes
from sayso.gateway.published import Published, published_routes
from sayso.gateway.strangers import Strangers
from sayso.gateway.tasks import Tasks
from sayso.net.fetch import Fetcher
from sayso.net.listen import serving
from sayso.proof.keys import PrivateKey
from sayso.testing.gateway import Bench, open_gateway
from sayso.testing.routes import ungoverned
from tests.gateway.doors.acp.houses import WIDE
from tests.gateway.doors.tasks.offices import memory_of

pytestmark = pytest.mark.anyio

KEY = PrivateKey.from_seed(bytes(range(32)))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STREAMS = (":stream", ":subscribe")
"""What stays open until a person has decided: tested where the door is."""
OPERATIONS = [each.id for _, operations in DOORS.values() for each in operations]


@dataclass(frozen=True)
class Front:
    """Every described route on one port."""

    bench: Bench
    tasks: Tasks
    ada: Issued
    url: str
    app: Starlette


class SigningHook(requests.auth.AuthBase):
    """Signs what the generator is about to send."""

    def __init__(self, front: Front) -> None:
        self._signer = Signer(front.ada.key, front.bench.clock)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        data = body.encode() if isinstance(body, str) else body
        assert request.method is not None
        request.headers.update(self._signer.headers(data, request.method, request.path_url))
        return request


@asynccontextmanager
async def open_front(folder: Path) -> AsyncIterator[Front]:
    async with open_gateway(folder, limits=WIDE) as bench:
        wide = Limit(WIDE.minute.period, 10_000)
        published = Published(
            bench.store, bench.ledger, KEY.public, bench.clock, folder, Strangers(bench.clock, read=wide, export=wide)
        )
        tasks = Tasks(bench.store, bench.ledger, memory_of(bench), bench.gateway.owner, bench.ids)
        app = Starlette(
            routes=[
                *acp_routes(bench.gateway, registry=bench.registry, gate=bench.gate),
                *A2a(bench.gateway, fetcher=Fetcher()).routes(),
                *task_routes(bench.gateway, tasks),
                *published_routes(published),
                *openapi_routes(bench.clock),
            ]
        )
        async with serving(app) as address:
            yield Front(bench, tasks, await bench.issue("ada"), address.url, app)
        published.close()


@pytest.mark.req("GTW-022")
async def test_the_description_is_served_to_anybody(tmp_path: Path) -> None:
    """Without a key, the same bytes each time, and every route in it is guarded or says why it is public."""
    async with open_front(tmp_path) as front, httpx.AsyncClient(base_url=front.url, timeout=None) as http:
        answer = await http.get(PATH)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.content == strictjson.encode(describe())
        assert (await http.get(PATH, headers={"if-none-match": answer.headers["etag"]})).status_code == 304
        assert ungoverned(front.app) == []


@pytest.mark.req("GTW-022")
def test_the_description_is_openapi() -> None:
    """Every reference leads somewhere, every schema is one, every operation has a name of its own."""
    document = describe()
    text = strictjson.encode(document).decode()
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})
        assert f"/{name}" in text
    for part in text.split('"$ref":"#/components/schemas/')[1:]:
        assert part.split('"')[0] in document["components"]["schemas"]
    assert len(set(OPERATIONS)) == len(OPERATIONS) == sum(map(len, document["paths"].values()))


@pytest.mark.req("GTW-022")
async def test_every_good_answer_is_described(tmp_path: Path) -> None:
    """Each operation done once as it should be: its status, media type and document are the description's."""
    async with open_front(tmp_path) as front:
        seen = await _walk(front)
    assert set(OPERATIONS) - seen == {
        "a2aStream",
        "a2aSubscribe",
        "a2aPushSet",
        "a2aPushes",
        "a2aPush",
        "a2aPushDelete",
    }


async def _walk(front: Front) -> set[str]:
    note = {"agent_name": "take-note", "input": [{"parts": [{"content": "milk"}]}]}
    sent = {
        "messageId": "m1",
        "role": "ROLE_USER",
        "parts": [{"data": {"act": "take_note", "arguments": {"text": "x"}}}],
    }
    resume = {"await_resume": {"message": {"parts": [{"content": "how far?"}]}}}
    walker = Walker(front)
    async with walker.http:
        await walker.go("acpPing")
        await walker.go("acpAgents")
        await walker.go("acpAgent", name="echo")
        run = await walker.go("acpStart", body={**note, "mode": "async"}, status=202)
        run_id, session_id = run["run_id"], run["session_id"]
        await walker.go("acpStart", body={**note, "agent_name": "echo"})
        await walker.go("acpRun", run_id=run_id)
        await walker.go("acpEvents", run_id=run_id)
        await walker.go("acpResume", body=resume, run_id=run_id)
        await walker.go("acpCancel", run_id=run_id, status=202)
        await walker.go("acpSession", session_id=session_id)
        await walker.go("acpSessions", session_id=session_id)
        task = await front.tasks.assign(
            front.ada.agent.id, "research", {}, budget_cents=0, reason="We bake", approved_by="ada"
        )
        await walker.go("tasks")
        await walker.go("taskResult", body={"body": "Flour is cheap"}, runId=task.id)
        found = await walker.go("a2aSend", body={"message": sent, "configuration": {"returnImmediately": True}})
        await walker.go("a2aTasks")
        await walker.go("a2aTask", id=found["task"]["id"])
        await walker.go("a2aCancel", id=found["task"]["id"])
        await walker.go("a2aCard")
        await front.bench.ledger.seal()
        await front.bench.ledger.checkpoint(KEY)
        for name in ("receiptKey", "receiptCheckpoint", "receiptExport"):
            await walker.go(name)
        await walker.go("receiptProof", seq="0")
        await walker.go("receiptDisclosure", number="0")
        await walker.go("receiptConsistency", query={"from": "1", "to": "2"})
    return walker.seen


class Walker:
    """Somebody who holds each answer against the description."""

    def __init__(self, front: Front) -> None:
        auth = SigningAuth(front.ada.key, front.bench.clock)
        self.http = httpx.AsyncClient(base_url=front.url, auth=auth, headers={"A2A-Version": "1.0"}, timeout=None)
        self.seen: set[str] = set()
        self._document = describe()

    async def go(
        self, name: str, /, *, status: int = 200, body: Any = None, query: dict[str, str] | None = None, **named: str
    ) -> Any:
        operation = next(each for _, listed in DOORS.values() for each in listed if each.id == name)
        path = operation.path.format(**named)
        answer = await self.http.request(operation.method, path, json=body, params=query)
        assert answer.status_code == status, answer.text
        self.seen.add(name)
        responses = self._document["paths"][operation.path][operation.method.lower()]["responses"]
        schema = responses[str(status)]["content"][answer.headers["content-type"]]["schema"]
        if schema == {"type": "string"}:
            return answer.text
        value = strictjson.parse(answer.content)
        jsonschema_rs.validate({**schema, "components": self._document["components"]}, value)
        return value


@pytest.mark.req("GTW-022")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
async def test_generated_requests_are_answered_as_described(tmp_path: Path, mode: GenerationMode) -> None:
    """Good and bad ones: never a 5xx, and status, media type and document are among those described."""
    async with open_front(tmp_path) as front:
        await anyio.to_thread.run_sync(_generate, front, mode)
        receipts = await front.bench.ledger.disclosures()
        assert len(receipts) > 100


def _narrowed() -> dict[str, Any]:
    """The description, with names that are some agent's and types that are read: more of what is made up then runs."""
    document = describe()
    schemas = document["components"]["schemas"]
    schemas["AcpCreate"]["properties"]["agent_name"] = {"enum": ["sayso", "echo", "take-note", "nobody"]}
    schemas["AcpCreate"]["properties"]["input"]["maxItems"] = 1
    schemas["AcpMessage"]["properties"]["parts"]["maxItems"] = 1
    schemas["AcpPart"]["properties"]["content_url"] = {"type": "null"}
    schemas["AcpPart"]["properties"]["content_type"] = {"enum": ["text/plain", "application/json"]}
    return document


def _generate(front: Front, mode: GenerationMode) -> None:
    hook = SigningHook(front)
    with requests.Session() as session:
        for found in schemathesis.openapi.from_dict(_narrowed()).get_all_operations():
            operation = found.ok()
            if operation.path.endswith(STREAMS):
                continue
            auth = hook if operation.path.startswith("/api/protocols") else None
            _probe(operation.as_strategy(mode), partial(_call, front.url, session, auth))


def _probe(cases: Any, call: Callable[[Any], Any]) -> None:
    @hypothesis.given(case=cases)
    @hypothesis.settings(
        max_examples=20,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    def probe(case: Any) -> None:
        case.validate_response(call(case), checks=CHECKS)

    with suppress(hypothesis.errors.Unsatisfiable):  # an operation without anything to get wrong
        probe()


def _call(url: str, session: requests.Session, auth: SigningHook | None, case: Any) -> Any:
    return case.call(base_url=url, session=session, auth=auth, timeout=60)
