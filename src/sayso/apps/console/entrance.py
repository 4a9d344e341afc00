"""The door of the console: the form that signs in, and what ends a sign-in.

Before anybody is signed in the form's token hangs on a cookie of its own, so that no other page can sign a person in as
somebody else. The cookie of a sign-in is new with each, HttpOnly, SameSite=Strict, and gone with the browser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sayso.apps.console.desk import Desk
from sayso.apps.console.forms import FIELD, Form, check_token, new_token, receive_form
from sayso.apps.console.logins import ConsoleLogin, sign_in, sign_out
from sayso.apps.console.passwords import Passwords
from sayso.apps.console.surface import write_page
from sayso.apps.console.users import list_users
from sayso.apps.console.visit import notice_of, status_of
from sayso.core.refusal import Refusal, Refused

__all__ = ("COOKIE", "Entrance")

COOKIE = "sayso_console"
_VISITOR = "sayso_console_visitor"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_HERE = "/sign-in"


class Entrance:
    """Signing in and out."""

    def __init__(self, desk: Desk, passwords: Passwords) -> None:
        self._desk = desk
        self._passwords = passwords

    async def show(self, request: Request) -> Response:
        """The form; where there is no user yet, how to add one."""
        return await self._form(request, {})

    async def sign_in(self, request: Request) -> Response:
        """A sign-in, or the form again with what is wrong."""
        desk, form = self._desk, Form()
        try:
            form = await receive_form(request)
            # No cookie is no secret: a token made without one would be anybody's.
            check_token(_visitor(request) or self._desk.ids.token(32), _HERE, form.text(FIELD, longest=100))
            peer = request.client.host if request.client else "nobody"
            name, password = form.text("name", longest=100), form.secret("password")
            token = await sign_in(desk.store, desk.ledger, desk.ids, self._passwords, desk.owner, name, password, peer)
        except Refused as refused:
            return await self._form(request, form.typed(), refused.refusal)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
        response.delete_cookie(_VISITOR, httponly=True, samesite="strict", path=_HERE)
        return response

    async def sign_out(self, login: ConsoleLogin) -> Response:
        """The end of a sign-in; the browser forgets what it kept of it."""
        await sign_out(self._desk.store, self._desk.ledger, self._desk.owner, login)
        response = RedirectResponse(f"{_HERE}?done=signed_out", status_code=303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
        response.headers["clear-site-data"] = '"cache"'
        return response

    async def _form(self, request: Request, typed: Mapping[str, str], said: Refusal | None = None) -> Response:
        users = await self._desk.store.reading(lambda view: list_users(view, self._desk.owner))
        kept = _visitor(request)
        visitor = kept or self._desk.ids.token(32)
        values: dict[str, Any] = {
            "desk": self._desk,
            "login": None,
            "here": _HERE,
            "notice": notice_of(request),
            "said": said,
            "typed": typed,
            "has_users": bool(users),
            "token": lambda action: new_token(self._desk.ids, visitor, action),
        }
        headers = (
            {}
            if said is None or "retry_after" not in said.details
            else {"retry-after": str(said.details["retry_after"])}
        )
        status = 200 if said is None else status_of(said)
        response = Response(
            write_page("sign_in.html", values), status_code=status, headers=headers, media_type="text/html"
        )
        if not kept:
            response.set_cookie(_VISITOR, visitor, httponly=True, samesite="strict", path=_HERE)
        return response


def _visitor(request: Request) -> str:
    """The visitor's own secret; empty where the browser has none, or none of ours."""
    found = request.cookies.get(_VISITOR, "")
    return found if _TOKEN.fullmatch(found) else ""
