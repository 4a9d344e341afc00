"""From a passage to evidence: which hypotheses it speaks for or against, and how much it weighs (GTW-044).

The rules, each of which names itself in the evidence it gives:

    kind       of            for it                            against it                         weight
    intent     one domain    the passage states an aim         it drops one                       closeness
    risk       one domain    the passage warns of something    it gives the all-clear             closeness
    bridge     two domains   the passage is near both          it says that they have nothing     the smaller closeness
                                                               to do with one another
    alignment  one domain    it says what another writer's     it denies what the other says,     likeness
                             passage says                      or the other way round

Every weight is multiplied by how sure the document's writer claims to be (1 unless a proposal says less). The words
that mean aim, warning and so on are listed in `cues`; against goes before for, because "no longer plans to" holds
"plans to". Bridges are made only between domains that are apart (`Domains.apart`), out of a passage's four closest.

An adopted proposal is an aim by itself: its first passage supports the intent of each domain it names, and what it
cites supports the intents and bridges of its domains at half its confidence.

One document gives a hypothesis one piece of evidence at most, its weightiest passage; and the same words count once,
whoever repeats them. Descriptions of domains give none: they say what a subject is, not what somebody saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Literal

import msgspec

from sayso.gateway.knowledge.rules import cues
from sayso.gateway.knowledge.rules.confidence import THOUSAND

__all__ = (
    "Finding",
    "Kind",
    "Likeness",
    "Place",
    "Read",
    "Subject",
    "find_evidence",
    "from_citations",
    "hypothesis_id",
    "strongest",
)

Kind = Literal["intent", "bridge", "alignment", "risk"]

_MOST_ENDS = 4
_CITED = 500
_ID_DIGITS = 26


class Place(msgspec.Struct, frozen=True):
    """A domain a passage belongs to, with its closeness in thousandths; `stated` where the writer named it."""

    domain_key: str
    closeness: int
    stated: bool


class Likeness(msgspec.Struct, frozen=True):
    """An earlier passage of another writer in one of a passage's domains that says nearly the same."""

    domain_key: str
    observation: str
    text: str
    likeness: int


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules know of one passage. `proposes` are the domains a proposal named, in its first passage only."""

    text: str
    places: Sequence[Place]
    likenesses: Sequence[Likeness] = ()
    confidence: int = THOUSAND
    proposes: Sequence[str] = ()


class Subject(msgspec.Struct, frozen=True, order=True):
    """What a hypothesis is about; `other_key` is a bridge's other end, the greater of its two keys."""

    kind: Kind
    domain_key: str
    other_key: str | None = None


class Finding(msgspec.Struct, frozen=True):
    """One piece of evidence, its weight in thousandths."""

    subject: Subject
    weight: int
    supports: bool
    rule: str


def hypothesis_id(subject: Subject) -> str:
    """The id of the hypothesis about a subject: the same wherever and whenever it is first thought of."""
    text = "\n".join((subject.kind, subject.domain_key, subject.other_key or ""))
    return f"hy_{sha256(text.encode()).hexdigest()[:_ID_DIGITS]}"


def find_evidence(read: Read, apart: Callable[[str, str], bool]) -> list[Finding]:
    """All that a passage gives; `apart` says whether two domains are worth linking."""
    found = [
        *_by_cue("intent", read, (cues.DROPPED, "drops an aim"), (cues.AIM, "states an aim")),
        *_by_cue("risk", read, (cues.RELIEF, "gives the all-clear"), (cues.DANGER, "warns")),
        *_bridges(read, apart),
        *_alignments(read),
        *(Finding(Subject("intent", key), read.confidence, True, "an adopted proposal") for key in read.proposes),
    ]
    return strongest(found)


def from_citations(keys: Sequence[str], confidence: int, apart: Callable[[str, str], bool]) -> list[Finding]:
    """What each observation gives that an adopted proposal about these domains cites."""
    weight = confidence * _CITED // THOUSAND
    subjects = [Subject("intent", key) for key in keys]
    subjects += [Subject("bridge", one, other) for one, other in combinations(sorted(keys), 2) if apart(one, other)]
    return [Finding(each, weight, True, "cited by an adopted proposal") for each in subjects if weight]


def strongest(findings: Iterable[Finding]) -> list[Finding]:
    """The weightiest finding of each subject, the first of equals, in the order of the subjects."""
    best: dict[tuple[str, str, str], Finding] = {}
    for each in findings:
        key = (each.subject.kind, each.subject.domain_key, each.subject.other_key or "")
        if each.weight > (best[key].weight if key in best else 0):
            best[key] = each
    return [best[key] for key in sorted(best)]


def _weigh(measure: int, read: Read) -> int:
    return measure * read.confidence // THOUSAND


def _by_cue(kind: Kind, read: Read, against: tuple[cues.Cues, str], favour: tuple[cues.Cues, str]) -> Iterator[Finding]:
    for (pattern, does), supports in ((against, False), (favour, True)):
        cue = cues.first_cue(pattern, read.text)
        if cue is not None:
            for place in read.places:
                rule = f"{does}: {cue}"
                yield Finding(Subject(kind, place.domain_key), _weigh(place.closeness, read), supports, rule)
            return


def _bridges(read: Read, apart: Callable[[str, str], bool]) -> Iterator[Finding]:
    cue = cues.first_cue(cues.PARTED, read.text)
    rule = "near both" if cue is None else f"parts them: {cue}"
    closest = sorted(read.places, key=lambda each: (-each.closeness, each.domain_key))[:_MOST_ENDS]
    for one, other in combinations(sorted(closest, key=lambda each: each.domain_key), 2):
        if apart(one.domain_key, other.domain_key):
            weight = _weigh(min(one.closeness, other.closeness), read)
            yield Finding(Subject("bridge", one.domain_key, other.domain_key), weight, cue is None, rule)


def _alignments(read: Read) -> Iterator[Finding]:
    denies = cues.first_cue(cues.DENIAL, read.text) is not None
    for each in read.likenesses:
        agrees = denies == (cues.first_cue(cues.DENIAL, each.text) is not None)
        rule = f"{'agrees with' if agrees else 'denies'} {each.observation}"
        yield Finding(Subject("alignment", each.domain_key), _weigh(each.likeness, read), agrees, rule)
