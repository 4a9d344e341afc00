"""How a workspace tool says no: always an error result the model can read and act on.

`invalid_arguments` is about what was asked, `tool_failed` about what was found; `reason` tells which no it is.
"""

from __future__ import annotations

import errno

from sayso.core.refusal import Refused

__all__ = ("bad_argument", "cannot", "of_system")

_WORDS = {
    errno.EACCES: ("not_permitted", "the system does not permit it"),
    errno.EPERM: ("not_permitted", "the system does not permit it"),
    errno.ENOENT: ("not_found", "there is no such file or folder"),
    errno.ENAMETOOLONG: ("name_too_long", "a name in it is too long"),
    errno.ENOSPC: ("disk_full", "the disk is full"),
    errno.EDQUOT: ("disk_full", "the disk quota is used up"),
    errno.EROFS: ("read_only", "it lies on a file system that is read-only"),
    errno.ELOOP: ("changed", "it changed while it was looked at"),
    errno.ENOTDIR: ("changed", "it changed while it was looked at"),
    errno.EINVAL: ("changed", "it changed while it was looked at"),
    errno.EEXIST: ("changed", "it changed while it was looked at"),
    errno.ENXIO: ("not_a_file", "it is no regular file"),
    errno.EILSEQ: ("path_not_valid", "its name cannot be written on this file system"),
}


def bad_argument(reason: str, message: str, *, place: str, help: str | None = None) -> Refused:  # noqa: A002 - the member's name on the wire
    """What was asked cannot be done for anybody."""
    return Refused.because("invalid_arguments", message, reason=reason, place=place, help=help)


def cannot(reason: str, message: str, *, place: str = "$.path", help: str | None = None) -> Refused:  # noqa: A002 - as above
    """What was asked cannot be done as things are."""
    return Refused.because("tool_failed", message, reason=reason, place=place, help=help)


def of_system(error: OSError, what: str, *, place: str = "$.path") -> Refused:
    """The system's no, in our words; `what` is the path as the model wrote it."""
    reason, words = _WORDS.get(error.errno or 0, ("system", "the system answered with an error"))
    return cannot(reason, f"{what}: {words}", place=place)
