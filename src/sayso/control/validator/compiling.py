"""JSON Schemas that somebody else wrote: compiled, never fetched (OAP-034, OAP-051).

A reference leads only to what is handed in; the library's own retrieval, which would read files and addresses, is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sayso.core.refusal import Refused

__all__ = ("Check", "compile_schema", "references")

Check = Callable[[object], str | None]
"""What is wrong with a value, or None."""

_VALUES = frozenset(("const", "enum", "default", "examples"))
_REFERENCES = ("$ref", "$dynamicRef")


def compile_schema(schema: Any, resources: Mapping[str, Any] | None = None) -> Check:
    """A check by this schema. Raises `Refused` `schema_invalid` when it is none, or refers to what is not there."""
    # The library is wanted only where a pack or an output schema is; the rest of the validator starts without it.
    import jsonschema_rs  # noqa: PLC0415

    try:
        registry = jsonschema_rs.Registry(list((resources or {}).items()), retriever=_refuse)
        validator = jsonschema_rs.Draft202012Validator(schema, registry=registry, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise Refused.because("schema_invalid", f"no usable JSON Schema: {_first_line(error)}") from None

    def check(value: object) -> str | None:
        error = next(iter(validator.iter_errors(value)), None)
        if error is None:
            return None
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        return f"{_first_line(error)} at ${place}"

    return check


def references(schema: object) -> Iterator[tuple[dict[str, Any], str]]:
    """Every object of a schema that refers somewhere, with the member that does; mere data is not read."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            yield from ((node, name) for name in _REFERENCES if isinstance(node.get(name), str))
            todo.extend(inner for name, inner in node.items() if name not in _VALUES)
        elif isinstance(node, list):
            todo.extend(node)


def _refuse(address: str) -> Any:
    raise ValueError(f"nothing is fetched: {address}")


def _first_line(error: Exception) -> str:
    said = getattr(error, "message", None) or str(error)
    return str(said).partition("\n")[0][:300]
