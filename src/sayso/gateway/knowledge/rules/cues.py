"""What a passage does with its words: states an aim, drops one, warns, gives the all-clear, links, parts, denies.

Words and nothing else: no model judges here, so that whoever reads a hypothesis can see in its passages why each of
them counts for it or against it. English only; a passage in another language is found by search and weighed by none of
these, except where its vectors speak.
"""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ("AIM", "DANGER", "DENIAL", "DROPPED", "PARTED", "RELIEF", "Cues", "first_cue")

Cues: TypeAlias = re.Pattern[str]


def _cues(text: str) -> Cues:
    return re.compile(rf"\b(?:{'|'.join(each.strip() for each in text.split(','))})\b", re.IGNORECASE)


AIM = _cues(
    r"plans? to, planning to, planned to, intends? to, intended to, intention to, aims? to, aiming to,"
    r" wants? to, wishes to, would like to, goals?, objectives?, targets?, proposes?, proposed, proposal,"
    r" roadmap, next steps?, we should, we will, we must, going to, needs? to, hopes? to, commit(?:s|ted)? to,"
    r" seeks? to, prepar(?:e|es|ing) to"
)
DROPPED = _cues(
    r"no longer (?:plans?|intends?|wants?|aims?|needs?), abandon(?:s|ed)?, called off, cancel(?:s|led|ed)?,"
    r" decided against, decided not to, not going to, do(?:es)? not (?:plan|intend|want|aim|need), dropped the,"
    r" gave up, given up, will not, won[’']t, ruled out, shelved, withdr[ae]wn?"
)
DANGER = _cues(
    r"risks?, risky, dangers?, dangerous, hazards?, hazardous, threats?, threatens?, fail(?:s|ed|ing|ure|ures)?,"
    r" losses, loss, harm(?:s|ed|ful)?, unsafe, injur(?:y|ies|ed), damage[sd]?, outages?, breach(?:es|ed)?,"
    r" leak(?:s|ed|age)?, vulnerab(?:le|ility|ilities), fraud, shortages?, delays?, delayed, overruns?,"
    r" crash(?:es|ed)?, accidents?, unstable, contaminat(?:ed|ion), liabilit(?:y|ies),"
    r" deteriorat(?:es|ed|ing|ion), warn(?:s|ed|ing|ings)?, exposed to"
)
RELIEF = _cues(
    r"no (?:risk|risks|danger|threat|harm|losses|failures?|outages?|delays?|damage|accidents?|breach(?:es)?),"
    r" not at risk, without (?:risk|incident|failure|delay|loss), mitigat(?:es|ed|ing|ion), resolved, fixed,"
    r" prevent(?:s|ed), under control, all-clear, safely, is safe, are safe, was safe, were safe, proved safe,"
    r" reduc(?:es|ed) the risk, avert(?:s|ed), contained the, eliminat(?:es|ed), recovered, remed(?:y|ied)"
)
PARTED = _cues(
    r"no (?:link|connection|relation|relationship|correlation|overlap), unrelated, independent of,"
    r" nothing to do with, not (?:linked|related|connected|correlated),"
    r" do(?:es)? not (?:affect|influence|depend), separate from"
)
DENIAL = _cues(
    r"not?, never, none, neither, nor, without, cannot, \w+n[’']t, false, wrong, untrue, contrary,"
    r" refut(?:es|ed)"
)


def first_cue(cues: Cues, text: str) -> str | None:
    """The first cue in a passage as it stands there, in small letters, or None."""
    found = cues.search(text)
    return None if found is None else found.group().casefold()
