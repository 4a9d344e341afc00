"""What the constitution knows of an act's arguments besides their shape (Article VIII)."""

from __future__ import annotations

from typing import Final

__all__ = ("names_secret",)

_SECRETS: Final = tuple(
    spelling.encode()
    for name in (
        "password", "passphrase", "passwd", "secret", "api_key", "private_key", "access_token", "refresh_token",
        "authorization", "cookie", "credential", "credentials",
    )
    for spelling in {name, name.replace("_", "")}
)  # fmt: skip
_LONGEST: Final = max(map(len, _SECRETS))


def names_secret(data: bytes) -> bool:
    """Whether a member of this compact JSON has a name that ends like a password, key or token, at any depth.

    Words inside values never count: a quotation mark in there is escaped, so it is not followed by a bare colon.
    """
    members = data.split(b'":')[:-1]
    return any(name[-_LONGEST:].lower().endswith(_SECRETS) for name in members)
