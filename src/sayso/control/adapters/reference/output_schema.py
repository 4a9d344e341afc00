"""Whether an untrusted JSON Schema stands on its own and describes a given object (OAP-051).

It may refer to nothing outside itself: no file is read and no address fetched for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.validator.compiling import compile_schema, references
from sayso.core.refusal import Refused

__all__ = ("is_satisfied_by",)


def is_satisfied_by(schema: Mapping[str, object], value: Mapping[str, object]) -> bool:
    """False for a schema that is none, that refers elsewhere, or that this object does not satisfy."""
    if any(not node[name].startswith("#") for node, name in references(schema)):
        return False
    try:
        check = compile_schema(schema)
    except Refused:
        return False
    return check(value) is None
