"""Names of foreign tools as every vendor of models takes them: `<source id>__<tool>`. Pure.

Vendors agree on 64 characters of `[A-Za-z0-9_-]` that begin with a letter. A name that fits stays as it is; one that
does not is written in their alphabet and ends in eight digits of its own SHA-256, so that what a name stands for never
depends on which other tools there are. The first `__` ends the source's part: that part holds none and does not end in
an underscore, so no two sources can make one name.
"""

from __future__ import annotations

import re

from sayso.proof.hashes import sha256_hex

__all__ = ("LONGEST", "SEPARATOR", "fitted_name")

LONGEST = 64
SEPARATOR = "__"
_SOURCE_LONGEST = 30
_DIGITS = 8
_SOURCE = re.compile(r"[A-Za-z](?:_?[A-Za-z0-9-])*")
_TOOL = re.compile(r"[A-Za-z0-9_-]+")
_FOREIGN = re.compile(r"[^A-Za-z0-9-]+")
_FOREIGN_IN_TOOL = re.compile(r"[^A-Za-z0-9_-]")


def fitted_name(source_id: str, tool: str) -> str:
    """The name a model calls this tool by."""
    source = _source_part(source_id)
    room = LONGEST - len(source) - len(SEPARATOR)
    if len(tool) <= room and _TOOL.fullmatch(tool):
        return f"{source}{SEPARATOR}{tool}"
    return f"{source}{SEPARATOR}{_marked(_FOREIGN_IN_TOOL.sub('_', tool), tool, room)}"


def _source_part(source_id: str) -> str:
    if len(source_id) <= _SOURCE_LONGEST and _SOURCE.fullmatch(source_id):
        return source_id
    plain = _FOREIGN.sub("_", source_id).strip("_")
    return _marked(plain if plain[:1].isalpha() else f"s{plain}", source_id, _SOURCE_LONGEST)


def _marked(plain: str, whole: str, longest: int) -> str:
    """`plain` cut to make room for the digits that tell `whole` from whatever else is written alike."""
    digest = sha256_hex(whole.encode("utf-8", "surrogatepass"))[:_DIGITS]
    stem = plain[: longest - _DIGITS - 1].rstrip("_") or "x"
    return f"{stem}_{digest}"
