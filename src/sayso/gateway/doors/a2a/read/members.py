"""Members of an object, taken one at a time, each refusal naming its place.

A2A's readers must skip what they do not know (A2A 1.0 section 3.6), so what is not taken is not looked at. JSON null
means absent. `snake` also admits protobuf's own names (`message_id`), which 0.3's REST clients send; a member under
both names is refused, since two readers could take different ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.a2a.codes import invalid_params

__all__ = ("Members", "plain")

_LONGEST_ID = 128
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LARGEST_WHOLE = 2**53


class Members:
    """An object at `place`. Every method refuses `invalid_params`."""

    def __init__(self, value: JsonValue, place: str, *, snake: bool = False) -> None:
        if not isinstance(value, Mapping):
            raise invalid_params("An object belongs here", place)
        self._value = value
        self._snake = snake
        self.place = place

    def at(self, name: str) -> str:
        """Where a member stands."""
        return f"{self.place}.{name}"

    def everything(self) -> Mapping[str, JsonValue]:
        """All of it, as it is."""
        return self._value

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        return self.take(name) is not None

    def take(self, name: str) -> Any:
        """The member as it is; None where it is absent."""
        found = self._value.get(name)
        if self._snake and (other := _HUMP.sub("_", name).lower()) != name and other in self._value:
            if name in self._value:
                raise invalid_params(f"The member stands twice, as {name} and as {other}", self.at(name))
            found = self._value[other]
        return found

    def text(self, name: str, *, most: int = 2000) -> str | None:
        """A text."""
        found = self.take(name)
        if found is not None and (not isinstance(found, str) or len(found) > most):
            raise invalid_params(f"A text of at most {most} characters belongs here", self.at(name))
        return found

    def word(self, name: str) -> str | None:
        """An id: printable, so that it can be stored and shown; empty is absent."""
        found = self.text(name, most=_LONGEST_ID) or None
        if found is not None and not found.isprintable():
            raise invalid_params("An id holds printable characters only", self.at(name))
        return found

    def the_word(self, name: str) -> str:
        """An id that has to be there."""
        found = self.word(name)
        if found is None:
            raise invalid_params("This id is missing", self.at(name))
        return found

    def number(self, name: str, *, least: int = 0, most: int = 2**31 - 1) -> int | None:
        """A whole number; 5.0 is one, as protobuf's JSON has it."""
        found = plain(self.take(name))
        if found is not None and (isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most):
            raise invalid_params(f"A whole number from {least} to {most} belongs here", self.at(name))
        return found

    def flag(self, name: str) -> bool:
        """A yes or no; absent is no."""
        found = self.take(name)
        if found is not None and not isinstance(found, bool):
            raise invalid_params("true or false belongs here", self.at(name))
        return bool(found)

    def object(self, name: str) -> Members | None:
        """An object."""
        found = self.take(name)
        return None if found is None else Members(found, self.at(name), snake=self._snake)

    def the_object(self, name: str) -> Members:
        """An object that has to be there."""
        return Members(self.take(name), self.at(name), snake=self._snake)

    def mapping(self, name: str) -> dict[str, Any] | None:
        """An object as a value."""
        found = self.take(name)
        if found is not None and not isinstance(found, dict):
            raise invalid_params("An object belongs here", self.at(name))
        return found

    def list(self, name: str, *, most: int = 64) -> list[Any]:
        """An array; absent is empty."""
        found = self.take(name)
        if found is None:
            return []
        if not isinstance(found, list) or len(found) > most:
            raise invalid_params(f"An array of at most {most} belongs here", self.at(name))
        return found

    def words(self, name: str) -> tuple[str, ...]:
        """An array of ids."""
        found = self.list(name)
        if not all(isinstance(each, str) and len(each) <= _LONGEST_ID * 4 for each in found):
            raise invalid_params("An array of short texts belongs here", self.at(name))
        return tuple(found)


def plain(value: Any) -> Any:
    """The value with 5.0 read as 5: protobuf has only doubles, so its clients cannot send a whole number as one."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        return int(value)
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
