"""What the owner of a home has set: read once, from one file and the environment, and never from anything remote."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.core.refusal import Refused
from sayso.scheduling.terms.guest_details import ContactText, PersonName

__all__ = ("DATABASE_VARIABLE", "HOME_VARIABLE", "SETTINGS_FILE", "Settings", "default_home", "read_settings")

HOME_VARIABLE = "SAYSO_HOME"
DATABASE_VARIABLE = "SAYSO_DATABASE_URL"
SETTINGS_FILE = "settings.toml"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`settings.toml` of a home.

    `resolve` maps names of a test internet to loopback ports (`"shop.example" = "127.0.0.1:8443"`): plain HTTP goes to
    exactly that port while https URLs are what is signed. Nothing remote can add to it.
    `name` and `contact` (a telephone number or e-mail address) are what hosts may be told with a booking, under limits
    whose text says so; without a name nobody is told anything.
    `zone` is the person's IANA time zone; without it the machine's is taken.
    `keyapp_origin` is the public https origin that leads to `sayso keyapp serve`; without it what is signed cannot be
    taken back, and says so.
    `gateway_origin` is the public https origin that leads to the doors of `sayso up`; without it they answer on
    loopback alone.
    `model` is the model of an agent whose command names none, as `<provider>/<model>`.
    `callback_url` is the public https address that leads to `sayso guest listen`; holds carry it to hosts, which tell
    there what becomes of them. Without it everything is learned by asking.
    """

    resolve: Mapping[str, str] = {}
    zone: str | None = None
    name: PersonName | None = None
    contact: ContactText | None = None
    keyapp_origin: Annotated[str, Meta(pattern=r"^https://[a-z0-9.-]+$")] | None = None
    gateway_origin: Annotated[str, Meta(pattern=r"^https://[a-z0-9.-]+$")] | None = None
    model: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]*/\S+$", max_length=300)] | None = None
    callback_url: Annotated[str, Meta(pattern=r"^https://[a-z0-9.-]+(/[!-~]*)?$", max_length=2048)] | None = None


def default_home() -> Path:
    """`$SAYSO_HOME`, else `~/.sayso`."""
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else Path.home() / ".sayso"


def read_settings(home: Path) -> Settings:
    """The settings of a home; none is a home with defaults. Refused: `settings_invalid`, naming the line or key."""
    path = home / SETTINGS_FILE
    if not path.is_file():
        return Settings()
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as wrong:
        raise Refused.because(
            "settings_invalid",
            f"{path} cannot be read: {_said(wrong)}",
            place=str(path),
            help="Correct that line and try again.",
        ) from None


def _said(wrong: Exception) -> str:
    """What is wrong in words; of a member whose form is a pattern, how it is written."""
    name = str(wrong).rpartition("`$.")[2].removesuffix("`") if isinstance(wrong, msgspec.ValidationError) else ""
    return f"{name} is {_FORMS[name]}" if name in _FORMS else str(wrong)


_FORMS = {
    "name": "a name, up to 200 characters on one line",
    "contact": "one telephone number or one e-mail address, and nothing else",
    "gateway_origin": 'an https address in lower case without port or path, like "https://doors.example"',
    "keyapp_origin": 'an https address in lower case without port or path, like "https://keys.example"',
    "model": 'a provider and its model, like "ollama/qwen3"',
    "callback_url": 'an https address in lower case without port, like "https://me.example/heard"',
}
