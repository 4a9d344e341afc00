"""What a browser sends with a form, and the token that shows that it was ours (GTW-060: CSRF-safe).

Each form carries a nonce and an HMAC over its own address and that nonce, under the token of the sign-in it was made
for. So a form made by another page, for another address or for another sign-in is refused, and one that is sent twice
(a second click, a reload of the answer) does nothing the second time: the nonce is spent with the first.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from starlette.requests import Request

from sayso.core import b64u
from sayso.core.ids import Ids
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.edge import read_body

__all__ = ("FIELD", "FORM_CAP", "Form", "check_token", "new_token", "read_form", "receive_form")

FORM_CAP = 131_072
FIELD = "form_token"
_MEDIA_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 128
_NONCE = 16
_SHAPE = re.compile(r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")


class Form:
    """The fields of a form, each as it was typed, with line ends as one character and no space around."""

    def __init__(self, fields: Sequence[tuple[str, str]] = ()) -> None:
        self._fields: dict[str, list[str]] = {}
        for name, value in fields:
            self._fields.setdefault(name, []).append(value.replace("\r\n", "\n").replace("\r", "\n"))

    def text(self, name: str, *, longest: int = 2000) -> str:
        """A field that stands at most once; empty where it is missing. Refused: `field_invalid`."""
        found = self._fields.get(name, [""])
        if len(found) > 1 or len(found[0]) > longest:
            raise Refused.because(
                "field_invalid", f"This field holds one text of up to {longest} characters", place=name
            )
        return found[0].strip()

    def needed(self, name: str, label: str, *, longest: int = 2000) -> str:
        """As `text`, and filled in. Refused: `field_missing`."""
        found = self.text(name, longest=longest)
        if not found:
            raise Refused.because("field_missing", f"{label} is missing", place=name, help="Fill it in and send again.")
        return found

    def secret(self, name: str) -> str:
        """A password exactly as it was typed. Refused: `field_invalid`."""
        found = self._fields.get(name, [""])
        if len(found) > 1 or len(found[0]) > 1024:
            raise Refused.because("field_invalid", "This field holds one password", place=name)
        return found[0]

    def whole(self, name: str, label: str, *, least: int, most: int) -> int:
        """A whole number. Refused: `field_invalid`, `field_missing`."""
        typed = self.needed(name, label, longest=20)
        if not re.fullmatch(r"[0-9]{1,12}", typed) or not least <= int(typed) <= most:
            raise Refused.because("field_invalid", f"{label} is a whole number from {least} to {most}", place=name)
        return int(typed)

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a field that may stand several times."""
        return tuple(self._fields.get(name, ()))

    def typed(self) -> Mapping[str, str]:
        """What to show again after a refusal: the first value of each field, and no secret."""
        return {
            name: values[0]
            for name, values in self._fields.items()
            if name not in (FIELD, "password", "passphrase") and len(values) == 1
        }


async def receive_form(request: Request) -> Form:
    """The form that a request carries. Refused: `form_malformed`, also where the browser left before it was whole."""
    try:
        body = await read_body(request.receive, FORM_CAP)
    except PeerUnreachable:
        raise _malformed("the form never came whole") from None
    return read_form(request.headers.get("content-type", ""), body)


def read_form(content_type: str, body: bytes) -> Form:
    """The form in a body. Refused: `form_malformed`."""
    if content_type.partition(";")[0].strip().lower() != _MEDIA_TYPE:
        raise _malformed("this address takes the form of its page")
    try:
        fields = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise _malformed("the form cannot be read") from None
    # One engine keeps a NUL in a text and the other refuses it: nobody types one.
    if any("\x00" in value for _name, value in fields):
        raise _malformed("the form holds a character that nobody types")
    return Form(fields)


def new_token(ids: Ids, secret: str, action: str) -> str:
    """The token of one form that is sent to `action`, for the sign-in with this secret."""
    nonce = ids.token(_NONCE)
    return f"{nonce}.{_mac(secret, action, nonce)}"


def check_token(secret: str, action: str, token: str) -> str:
    """The nonce, still to be spent. Refused: `form_expired`."""
    nonce, _, mac = token.partition(".")
    if not _SHAPE.fullmatch(token) or not hmac.compare_digest(mac, _mac(secret, action, nonce)):
        raise Refused.because(
            "form_expired",
            "This form is not one of this sign-in's, or it is too old",
            help="Open the page again and repeat it there. Nothing was done.",
        )
    return nonce


def _mac(secret: str, action: str, nonce: str) -> str:
    said = f"sayso console form\n{action}\n{nonce}".encode()
    return b64u.encode(hmac.new(secret.encode(), said, hashlib.sha256).digest())


def _malformed(what: str) -> Refused:
    return Refused.because("form_malformed", what.capitalize(), help="Open the page again and repeat it there.")
