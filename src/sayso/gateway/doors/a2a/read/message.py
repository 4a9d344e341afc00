"""Messages and push configurations in the three spellings: 1.0 (both bindings), 0.3 JSON-RPC, 0.3 REST.

0.3's two bindings differ: JSON-RPC has `kind` and `parts`, REST has protobuf's JSON, where the parts are `content`,
data stands in a `data` of its own and names may be written with underscores.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from sayso.gateway.doors.a2a.codes import content_type_not_supported, invalid_params
from sayso.gateway.doors.a2a.read.members import Members, plain
from sayso.gateway.doors.a2a.values import Message, Part, PushConfig

__all__ = ("Spelling", "read_message", "read_push")

Spelling = Literal["1.0", "0.3", "0.3 rest"]
_MOST_PARTS = 16
# What an HTTP header carries unchanged: no space at either end, since a client would refuse to send it.
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_LONGEST_URL = 2048
_LONGEST_TEXT = 8192  # a whole body; how long it may be is the payload's limit
_FILES = ("raw", "url", "file")
_ROLES: dict[Spelling, tuple[str, str]] = {
    "1.0": ("ROLE_USER", "ROLE_AGENT"),
    "0.3": ("user", "agent"),
    "0.3 rest": ("ROLE_USER", "ROLE_AGENT"),
}


def read_message(members: Members, spelling: Spelling) -> Message:
    """A message that a client sends. Refused: `invalid_params`, `content_type_not_supported` for a file or a link."""
    user, agent = _ROLES[spelling]
    role = members.take("role")
    if role != user:
        said = f"A client's message has the role {user}, not {agent}" if role == agent else f"The role is {user}"
        raise invalid_params(said, members.at("role"))
    listed = "content" if spelling == "0.3 rest" and members.has("content") else "parts"
    parts = members.list(listed, most=_MOST_PARTS)
    if not parts:
        raise invalid_params("A message has at least one part", members.at(listed))
    snake = spelling != "0.3"
    return Message(
        id=members.the_word("messageId"),
        role="user",
        parts=tuple(
            _read_part(Members(each, f"{members.at(listed)}[{number}]", snake=snake), spelling)
            for number, each in enumerate(parts)
        ),
        context=members.word("contextId"),
        task=members.word("taskId"),
        metadata=members.mapping("metadata"),
        extensions=members.words("extensions"),
        references=members.words("referenceTaskIds"),
    )


def _read_part(members: Members, spelling: Spelling) -> Part:
    if any(members.has(name) for name in _FILES):
        raise content_type_not_supported("Files and links are not taken here", members.place)
    metadata = members.mapping("metadata")
    kinds = [name for name in ("text", "data") if members.has(name)]
    if len(kinds) != 1 or (spelling == "0.3" and members.take("kind") != kinds[0]):
        raise invalid_params("A part is either text or data, and says which", members.place)
    if kinds == ["text"]:
        _check_type(members, "text/")
        text = members.text("text", most=_LONGEST_TEXT)
        if text is None:
            raise invalid_params("A text belongs here", members.at("text"))
        return Part(text=text, metadata=metadata)
    _check_type(members, "application/json")
    return Part(data=plain(_read_data(members, spelling)), metadata=metadata)


def _read_data(members: Members, spelling: Spelling) -> Any:
    match spelling:
        case "1.0":
            return members.take("data")
        case "0.3":
            return members.mapping("data")
        case "0.3 rest":
            return members.the_object("data").mapping("data")


def _check_type(members: Members, wanted: str) -> None:
    said = members.text("mediaType")
    bare = (said or wanted).partition(";")[0].strip().lower()
    if not (bare.startswith(wanted) or (wanted == "application/json" and bare.endswith("+json"))):
        raise content_type_not_supported(f"This media type is not taken here: {wanted} is", members.at("mediaType"))


def read_push(members: Members, task: str, *, is_nested: bool) -> PushConfig:
    """A push configuration; `is_nested` where authentication names schemes (0.3) rather than one (1.0).

    Refused: `invalid_params`; a token or credential that no HTTP header can carry is one.
    """
    url = members.text("url", most=_LONGEST_URL)
    if not url:
        raise invalid_params("The address to push to is missing", members.at("url"))
    scheme, credentials = _read_authentication(members.object("authentication"), is_nested=is_nested)
    return PushConfig(
        task=task,
        url=url,
        id=members.word("id"),
        token=_secret(members, "token"),
        scheme=scheme,
        credentials=credentials,
    )


def _read_authentication(members: Members | None, *, is_nested: bool) -> tuple[str | None, str | None]:
    if members is None:
        return None, None
    scheme = (members.words("schemes") or (None,))[0] if is_nested else _secret(members, "scheme")
    if scheme is not None and not (scheme.isascii() and scheme.replace("-", "").isalnum()):
        raise invalid_params("A scheme is one word, such as Bearer", members.place)
    return scheme, _secret(members, "credentials")


def _secret(members: Members, name: str) -> str | None:
    found = members.text(name, most=1024)
    if found and not _HEADER_VALUE.fullmatch(found):
        # The value is not told: it is a secret.
        raise invalid_params("Visible ASCII characters belong here, spaces only between them", members.at(name))
    return found or None
