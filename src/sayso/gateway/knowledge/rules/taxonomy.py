"""The thousand domains as a tree: what a data file must hold, and who is whose neighbour (GTW-041, GTW-043).

The file is UTF-8 text with one domain a line and four columns with a tab between them: `key`, `title`, `parent` (empty
at the top) and `description`. A file that breaks a rule is refused whole, with the line named: half a taxonomy would
answer questions about the other half wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from sayso.core.refusal import Corrupt, Refused

__all__ = ("COUNT", "FEWEST_WORDS", "UNKNOWN_DOMAIN", "Domain", "Domains", "read_domains")

COUNT = 1000
FEWEST_WORDS = 12
UNKNOWN_DOMAIN = "unknown_domain"
_COLUMNS = ("key", "title", "parent", "description")
_KEY = re.compile(r"[a-z0-9_]+(?:[.-][a-z0-9_]+)*")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """One subject. `parent` is None at the top."""

    key: str
    title: str
    parent: str | None
    description: str

    @property
    def text(self) -> str:
        """What is searched: the title as a sentence of its own, then the description."""
        return f"{self.title}. {self.description}"


class Domains:
    """A checked taxonomy, in the order of its file."""

    def __init__(self, domains: Iterable[Domain]) -> None:
        self._by_key: dict[str, Domain] = {domain.key: domain for domain in domains}
        self._children: dict[str | None, list[Domain]] = {}
        for domain in self._by_key.values():
            self._children.setdefault(domain.parent, []).append(domain)

    def __len__(self) -> int:
        return len(self._by_key)

    def all(self) -> tuple[Domain, ...]:
        """Every domain."""
        return tuple(self._by_key.values())

    def get(self, key: str) -> Domain | None:
        """The domain, or None."""
        return self._by_key.get(key)

    def find(self, key: str, *, place: str) -> Domain:
        """The domain. Refused: `unknown_domain`, with the keys that are spelt most like it."""
        found = self._by_key.get(key)
        if found is None:
            raise Refused.because(
                UNKNOWN_DOMAIN,
                "there is no domain with this key",
                place=place,
                help=f"The resource osz://domains lists all of them{self._spelt_like(key)}.",
            )
        return found

    def roots(self) -> tuple[Domain, ...]:
        """The domains at the top."""
        return self.children(None)

    def children(self, key: str | None) -> tuple[Domain, ...]:
        """The domains right below one."""
        return tuple(self._children.get(key, ()))

    def subtree(self, key: str) -> tuple[str, ...]:
        """The domain's own key and those of everything below it; nothing for a key that is not there."""
        if key not in self._by_key:
            return ()
        found = [key]
        for each in found:
            found += [child.key for child in self.children(each)]
        return tuple(found)

    def path(self, key: str) -> tuple[str, ...]:
        """The keys from the top down to the domain itself."""
        found: list[str] = []
        at = self._by_key.get(key)
        while at is not None:
            found.append(at.key)
            at = self._by_key.get(at.parent) if at.parent is not None else None
        return tuple(reversed(found))

    def apart(self, first: str, second: str) -> bool:
        """Whether two domains are far enough from one another for a link between them to say something: neither lies
        within the other, and they do not stand under the same parent.
        """
        one, other = self._by_key.get(first), self._by_key.get(second)
        if one is None or other is None or one is other:
            return False
        nested = first in self.path(second) or second in self.path(first)
        return not nested and (one.parent is None or one.parent != other.parent)

    def _spelt_like(self, key: str) -> str:
        last = re.split(r"[.-]", key)[-1]
        near = [each for each in self._by_key if last and last in each][:5]
        return f"; like it are {', '.join(near)}" if near else ""


def read_domains(data: bytes, *, count: int | None = COUNT) -> Domains:
    """The taxonomy a file holds. `count` is how many domains it must have, None for any number.

    Raises `Corrupt`, naming the line: columns, key, a key or title or description that stands twice, a description of
    fewer than twelve words, a parent that is not there or lies below itself, a wrong number of domains.
    """
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise Corrupt("the domains are not UTF-8", f"byte {error.start}") from None
    if not lines or tuple(lines[0].split("\t")) != _COLUMNS:
        raise Corrupt(f"the columns are not {', '.join(_COLUMNS)}", "line 1")
    rows = {number: _read_line(line, number) for number, line in enumerate(lines[1:], 2)}
    _refuse_repeats(rows)
    if count is not None and len(rows) != count:
        raise Corrupt(f"there are {len(rows)} domains and not {count}", f"line {len(lines)}")
    domains = Domains(rows.values())
    _refuse_bad_parents(rows, domains)
    return domains


def _read_line(line: str, number: int) -> Domain:
    place = f"line {number}"
    parts = line.split("\t")
    if len(parts) != len(_COLUMNS):
        raise Corrupt(f"{len(parts)} columns and not {len(_COLUMNS)}", place)
    key, title, parent, description = parts
    if not _KEY.fullmatch(key):
        raise Corrupt(f"{key!r} is no key: lower-case letters, digits and underscores, parts joined by dots", place)
    if not title.strip():
        raise Corrupt("a domain without a title", place)
    if len(_WORD.findall(description)) < FEWEST_WORDS:
        raise Corrupt(f"a description of fewer than {FEWEST_WORDS} words", place)
    return Domain(key=key, title=title, parent=parent or None, description=description)


def _refuse_repeats(rows: Mapping[int, Domain]) -> None:
    for what in ("key", "title", "description"):
        seen = sorted((str(getattr(row, what)).casefold(), number) for number, row in rows.items())
        for (value, _), (again, number) in pairwise(seen):
            if value == again:
                raise Corrupt(f"the {what} {value!r} stands twice", f"line {number}")


def _refuse_bad_parents(rows: Mapping[int, Domain], domains: Domains) -> None:
    reachable = {key for root in domains.roots() for key in domains.subtree(root.key)}
    for number, row in rows.items():
        if row.parent is not None and domains.get(row.parent) is None:
            raise Corrupt(f"the parent {row.parent!r} is not there", f"line {number}")
        if row.key not in reachable:
            raise Corrupt(f"{row.key!r} lies below itself", f"line {number}")
