"""The console as one ASGI application (GTW-060).

`ROUTES` is the whole of it: address, method, the least role, and the page. Each goes through `_Console.guarded`, in
this order: signed in, role, the form and its token, then the page. `OPEN` is what needs no sign-in. A refusal is a page
with its sentence and status; whatever else fails is a page that says so, logged without a word of what was sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sayso.apps.console.desk import Desk
from sayso.apps.console.entrance import COOKIE, Entrance
from sayso.apps.console.forms import FIELD, check_token, receive_form
from sayso.apps.console.front import front
from sayso.apps.console.logins import ABSOLUTE, ConsoleLogin, find_login, touch
from sayso.apps.console.pages import agents, gate, hypotheses, knowledge, limits, live, overview, receipts, tasks
from sayso.apps.console.passwords import Passwords
from sayso.apps.console.surface import STATIC, write_page
from sayso.apps.console.unlocking import Unlocking
from sayso.apps.console.users import ROLES, Role
from sayso.apps.console.visit import Page, Visit
from sayso.core.refusal import Refusal, Refused
from sayso.proof.hashes import sha256_b64u
from sayso.store.nonces import spend
from sayso.store.unit import Unavailable

__all__ = ("OPEN", "PORT", "ROUTES", "console_app")

PORT = 6272
_FILES = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_log = structlog.get_logger(__name__)

Handler = Callable[[Request], Awaitable[Response | ASGIApp]]

ROUTES: tuple[tuple[str, str, Role, Page], ...] = (
    ("/", "GET", "viewer", overview.show),
    ("/live", "GET", "viewer", live.follow),
    ("/gate", "GET", "viewer", gate.show_queue),
    ("/gate/{proposal_id}", "GET", "viewer", gate.show_one),
    ("/gate/{proposal_id}/approve", "POST", "approver", gate.approve),
    ("/gate/{proposal_id}/reject", "POST", "approver", gate.reject),
    ("/gate/{proposal_id}/answer", "POST", "approver", gate.answer),
    ("/agents", "GET", "viewer", agents.show_all),
    ("/agents", "POST", "owner", agents.issue),
    ("/agents/{agent_id}", "GET", "viewer", agents.show_one),
    ("/agents/{agent_id}/rotate", "POST", "owner", agents.rotate),
    ("/agents/{agent_id}/revoke", "POST", "owner", agents.revoke),
    ("/agents/{agent_id}/suspend", "POST", "owner", agents.suspend),
    ("/agents/{agent_id}/reissue", "POST", "owner", agents.reissue),
    ("/tasks", "GET", "viewer", tasks.show_all),
    ("/tasks", "POST", "owner", tasks.assign),
    ("/tasks/{run_id}/withdraw", "POST", "owner", tasks.withdraw),
    ("/receipts", "GET", "viewer", receipts.show_records),
    ("/receipts/verify", "GET", "viewer", receipts.verify),
    ("/receipts/disclosures", "GET", "viewer", receipts.show_disclosures),
    ("/receipts/disclosures/{number}", "GET", "viewer", receipts.show_disclosure),
    ("/receipts/{number}", "GET", "viewer", receipts.show_record),
    ("/memory", "GET", "viewer", knowledge.search),
    ("/memory", "POST", "owner", knowledge.add),
    ("/hypotheses", "GET", "viewer", hypotheses.show_all),
    ("/hypotheses/{hypothesis_id}", "GET", "viewer", hypotheses.show_one),
    ("/hypotheses/{hypothesis_id}/simulate", "POST", "approver", hypotheses.simulate),
    ("/limits", "GET", "viewer", limits.show),
)
OPEN: tuple[tuple[str, str], ...] = (
    ("/sign-in", "GET"),
    ("/sign-in", "POST"),
    ("/sign-out", "POST"),
    ("/static/{name}", "GET"),
)
"""What is served without a sign-in: the door itself, and files that say nothing about anybody."""


def console_app(desk: Desk, *, hosts: Iterable[str], passwords: Passwords | None = None) -> ASGIApp:
    """The application, its edge included. `hosts` are the names it answers to, without ports."""
    console = _Console(desk, Entrance(desk, passwords or Passwords()))
    open_pages: dict[tuple[str, str], Handler] = {
        ("/sign-in", "GET"): console.entrance.show,
        ("/sign-in", "POST"): console.entrance.sign_in,
        ("/sign-out", "POST"): console.sign_out,
        ("/static/{name}", "GET"): _static,
    }
    pages = [(path, method, open_pages[path, method]) for path, method in OPEN]
    pages += [(path, method, console.guarded(path, method, role, page)) for path, method, role, page in ROUTES]
    routes = [Route(path, console.watched(path, method, page), methods=[method]) for path, method, page in pages]
    return front(Starlette(routes=routes, exception_handlers={404: console.nowhere}), hosts)


class _Console:
    def __init__(self, desk: Desk, entrance: Entrance) -> None:
        self._desk = desk
        self.entrance = entrance
        self._unlocking = Unlocking(desk.vault, desk.key, desk.store, desk.owner)

    def watched(self, path: str, method: str, handler: Handler) -> Handler:
        """The handler; what fails in it, a person gets a page that says so."""

        async def answer(request: Request) -> Response | ASGIApp:
            try:
                return await handler(request)
            except Unavailable:
                return self._bare(_AWAY, 503)
            except Exception as error:  # noqa: BLE001 - of a bug only its kind is told, and never what was sent
                _log.error("console_page_broke", page=path, method=method, error=type(error).__name__)
                return self._bare(_BROKE, 500)

        return answer

    async def nowhere(self, _request: Request, _error: Exception) -> Response:
        """An address that leads nowhere, told to anybody."""
        return self._bare(_NOWHERE, 404)

    def _bare(self, said: Refusal, status: int) -> Response:
        """A page of nobody's: what it says, and the way back."""
        values = {"desk": self._desk, "login": None, "here": "", "notice": None, "said": said}
        return Response(write_page("refused.html", values), status_code=status, media_type="text/html")

    def guarded(self, path: str, method: str, role: Role, page: Page) -> Handler:
        """The page for whoever may see it."""

        async def answer(request: Request) -> Response | ASGIApp:
            login = await self._login(request)
            if login is None:
                return _to_sign_in(request)
            visit = Visit(desk=self._desk, request=request, login=login, unlocking=self._unlocking)
            try:
                _check_role(login, role)
                if method == "POST":
                    visit = await self._with_form(visit)
                if "part" not in request.query_params and path != "/live":
                    # What the page asks for by itself does not keep anybody signed in.
                    await touch(self._desk.store, self._desk.owner, login, self._desk.clock.now())
                return await page(visit)
            except Refused as refused:
                return visit.show("refused.html", said=refused.refusal)

        return answer

    async def sign_out(self, request: Request) -> Response:
        """Ends the sign-in, if the form is its own, and locks what it opened."""
        login = await self._login(request)
        if login is None:
            return _to_sign_in(request)
        visit = Visit(desk=self._desk, request=request, login=login, unlocking=self._unlocking)
        try:
            await self._with_form(visit)
        except Refused as refused:
            return visit.show("refused.html", said=refused.refusal)
        await self._unlocking.lock(login.token)
        return await self.entrance.sign_out(login)

    async def _login(self, request: Request) -> ConsoleLogin | None:
        token = request.cookies.get(COOKIE)
        if not token or len(token) > 64 or not token.isascii():
            return None
        return await self._desk.store.reading(lambda view: find_login(view, self._desk.owner, token))

    async def _with_form(self, visit: Visit) -> Visit:
        """The visit with its form, whose token is spent. Refused: `form_malformed`, `form_expired`, `sent_twice`."""
        request, login, desk = visit.request, visit.login, self._desk
        form = await receive_form(request)
        nonce = check_token(login.token, request.url.path, form.text(FIELD, longest=100))
        scope = f"console {sha256_b64u(login.token.encode())}"
        until = login.started + ABSOLUTE
        if not await desk.store.unit(lambda unit: spend(unit, scope, nonce, until)):
            raise Refused.because(
                "sent_twice", "This form was sent already, and was not acted on again", help="See what came of it."
            )
        return Visit(desk=desk, request=request, login=login, unlocking=self._unlocking, form=form)


_BROKE = Refusal(code="internal", message="Something failed inside sayso", help="Nothing more was done. Try again.")
_AWAY = Refusal(code="unavailable", message="The database does not answer", help="Nothing was changed. Try again.")
_NOWHERE = Refusal(code="unknown_page", message="There is no such page", help="The overview leads to all there are.")


def _check_role(login: ConsoleLogin, least: Role) -> None:
    if ROLES.index(login.role) > ROLES.index(least):
        raise Refused.because(
            "not_your_role", f"That is for {'an owner' if least == 'owner' else f'an {least}'}; you are {login.role}"
        )


def _to_sign_in(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"hx-redirect": "/sign-in"})
    if request.url.path == "/live":
        return Response(status_code=401)
    return RedirectResponse("/sign-in", status_code=303)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        return Response(status_code=404)
    return FileResponse(STATIC / name, media_type=_FILES[name], headers={"cache-control": "no-cache"})
