"""The A2A door's routes: the guarded ones, and the agent card, which anybody may read (GTW-003).

The card stands under the prefix and at the origin's root, by 0.2's name and by the present one, as one document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sayso.core import strictjson
from sayso.gateway.beneath import beneath
from sayso.gateway.doors.a2a.endpoint import A2aDoor
from sayso.gateway.doors.a2a.following import Following
from sayso.gateway.doors.a2a.notices import Notices
from sayso.gateway.doors.a2a.read.version import PREFIX
from sayso.gateway.doors.a2a.tasks import Tasks
from sayso.gateway.doors.a2a.write.card import write_card
from sayso.gateway.doors.door import door_app, public_app
from sayso.gateway.gateway import Gateway
from sayso.gateway.listening import agent_may_be_told, key_may_listen
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.net.fetch import Fetcher
from sayso.proof.hashes import sha256_b64u

__all__ = ("CARDS", "A2a")

CARDS = tuple(f"{where}/.well-known/{name}.json" for where in (PREFIX, "") for name in ("agent-card", "agent"))
"""Where the card stands."""
_FRESH = "public, max-age=300"


class A2a:
    """The door with what it needs. `origin` is the public one, such as `https://gateway.example`; without it the card
    says what the client called us, which `hosts` has judged.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        fetcher: Fetcher,
        hosts: Iterable[str] | None = LOOPBACK_HOSTS,
        origin: str | None = None,
    ) -> None:
        gate = gateway.governor.gate
        tasks = Tasks(gateway.store, gate, gateway.owner)
        self._hosts = None if hosts is None else frozenset(hosts)
        self._origin = origin.rstrip("/") if origin else None
        self.notices = Notices(gateway.store, tasks, gateway.owner, agent_may_be_told(gateway.owner))
        """Run it in the house's task group, or nobody is pushed anything."""
        self.door = A2aDoor(
            tasks=tasks,
            following=Following(gateway.store, gate),
            fetcher=fetcher,
            owner=gateway.owner,
            ids=gateway.ids,
            limits=gateway.limits,
            listener=partial(key_may_listen, gateway.owner),
            url=lambda crossing: self._url(crossing.header(b"host")),
            version=version("sayso"),
        )
        self._gateway = gateway

    def routes(self) -> list[Route]:
        """The door's routes; the cards first, since the door answers every path under its prefix."""
        app = door_app(self._gateway, self.door, hosts=self._hosts)
        guarded = Edge(_Card(self._url), hosts=self._hosts, body_cap=0)
        card = public_app(guarded, "an agent card says how to come in, and holds nothing else")
        return [
            *(Route(path, endpoint=card) for path in CARDS),
            *beneath(PREFIX, app),
        ]

    def _url(self, host: str | None) -> str:
        origin = self._origin or f"http://{host or 'localhost'}"
        return f"{origin}{PREFIX}"


class _Card:
    """The public card, with a validator, so that a client that has it is told so in no bytes."""

    def __init__(self, url: Callable[[str | None], str]) -> None:
        self._url = url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            await Response(status_code=405, headers={"allow": "GET, HEAD"})(scope, receive, send)
            return
        body = strictjson.encode(write_card(self._url(request.headers.get("host")), version("sayso")))
        tag = f'"{sha256_b64u(body)}"'
        headers = {"etag": tag, "cache-control": _FRESH, "vary": "host"}
        held = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if held & {tag, "*"}:
            await Response(status_code=304, headers=headers)(scope, receive, send)
            return
        await Response(body, media_type="application/json", headers=headers)(scope, receive, send)
