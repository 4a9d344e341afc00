"""One request of a signed-in person, and what a page needs to answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp

from sayso.apps.console.desk import Desk
from sayso.apps.console.forms import Form, new_token
from sayso.apps.console.logins import ConsoleLogin
from sayso.apps.console.surface import NOTICES, write_page
from sayso.apps.console.unlocking import Unlocking
from sayso.core.refusal import Refusal, Refused
from sayso.governance.proposal import Decider

__all__ = ("STATUSES", "Page", "Visit", "notice_of", "status_of")

_LONGEST_NAME = 200

STATUSES: Mapping[str, int] = {
    "field_invalid": 422,
    "field_missing": 422,
    "form_expired": 403,
    "form_malformed": 400,
    "not_your_role": 403,
    "passphrase_needed": 422,
    "sent_twice": 409,
    "text_changed": 409,
    "too_many_tries": 429,
    "wrong_passphrase": 422,
    "wrong_sign_in": 403,
}
"""What our own refusals are in HTTP; what begins with `unknown_` or `no_such_` is 404, and everything else 409."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """`login` is in force, and its role is enough for the page; `form` was sent by that sign-in, to this address."""

    desk: Desk
    request: Request
    login: ConsoleLogin
    unlocking: Unlocking
    form: Form = field(default_factory=Form)

    @property
    def decider(self) -> Decider:
        """The person, as decisions name them."""
        return Decider(id=self.login.user_id, name=self.login.name, role=self.login.role)

    @property
    def is_part(self) -> bool:
        """Whether the page's script asks for the part of it that changes, and not the person for the page."""
        return self.request.headers.get("hx-request") == "true" and "part" in self.request.query_params

    def query(self, name: str, *, longest: int = 200) -> str:
        """A query parameter that stands at most once; empty where it is missing. Refused: `field_invalid`."""
        found = self.request.query_params.getlist(name)
        if len(found) > 1 or any(len(each) > longest or "\x00" in each for each in found):
            raise Refused.because("field_invalid", "The address holds one such value", place=name)
        return found[0].strip() if found else ""

    def number(self, name: str, *, otherwise: int) -> int:
        """A query parameter that is a whole number. Refused: `field_invalid`."""
        typed = self.query(name, longest=15)
        if not typed:
            return otherwise
        if not (typed.isascii() and typed.isdigit()):
            raise Refused.because("field_invalid", "The address holds a whole number there", place=name)
        return int(typed)

    def passed(self, name: str) -> str:
        """A part of the path, which names something. Refused: `unknown_name` for what is nobody's name."""
        found = str(self.request.path_params[name])
        if len(found) > _LONGEST_NAME or not found.isprintable():
            raise Refused.because("unknown_name", "There is nothing of that name", help="Look in the list.")
        return found

    def show(self, template: str, *, said: Refusal | None = None, status: int | None = None, **values: Any) -> Response:
        """A page. With `said` it tells a refusal, keeps what was typed, and has the refusal's status."""
        status = status or (200 if said is None else status_of(said))
        headers = {}
        if said is not None and "retry_after" in said.details:
            headers["retry-after"] = str(said.details["retry_after"])
        everything = {
            "desk": self.desk,
            "login": self.login,
            "now": self.desk.clock.now(),
            "here": self.request.url.path,
            "notice": notice_of(self.request),
            "said": said,
            "typed": self.form.typed(),
            "token": lambda action: new_token(self.desk.ids, self.login.token, action),
            "locked": lambda: self.unlocking.is_needed(self.login.token),
            **values,
        }
        return Response(write_page(template, everything), status_code=status, headers=headers, media_type="text/html")

    def go(self, address: str, done: str | None = None) -> Response:
        """Where the person goes after a form did what it should: reloading that page sends nothing again."""
        return RedirectResponse(f"{address}?done={done}" if done else address, status_code=303)

    async def unlock(self) -> None:
        """Opens the person's keys with the passphrase in the form. Refused: as `Unlocking.unlock`."""
        await self.unlocking.unlock(self.login.token, self.form.secret("passphrase"))


Page: TypeAlias = Callable[[Visit], Awaitable[Response | ASGIApp]]


def notice_of(request: Request) -> str | None:
    """What the form that led here came to. Anybody can link here with the name of a notice: only our own page is heard,
    so that no other page makes this one say what is not so.
    """
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return None
    return NOTICES.get(request.query_params.get("done", ""))


def status_of(refusal: Refusal) -> int:
    """The HTTP status of a refusal on a page."""
    if refusal.code in STATUSES:
        return STATUSES[refusal.code]
    return 404 if refusal.code.startswith(("unknown_", "no_such_")) else 409
