"""Words by which a message asks for nothing to be done: "do not book", "never mind", "should I book?".

Every word of denial has to be accounted for, else the message is asked about: by a limit or an excluded day that was
read, by a turn of phrase that asks ("don't forget to", "why don't you"), by a reason ("I can't make it", "it isn't
running well"), or by a cancellation that it expresses. A denial that none of these explains may bear on anything, so
nothing is done on it. New turns of phrase fail safe: they are asked about until they are listed here.
"""

from __future__ import annotations

import re

from sayso.control.provider.planner.language.sheet import AMOUNT, CLOCK, DAY, HOUR, PART, USED
from sayso.control.provider.planner.language.understood import Intent, Problem
from sayso.control.provider.planner.language.windows import UNSUITED

__all__ = ("find_denials",)

_WHEN = f"[{CLOCK}{DAY}{HOUR}{PART}{AMOUNT}]"
_ACTION = (
    r"(?:(?:re-?)?(?:book|schedul|reserv)\w*|arrang\w+|organi[sz]\w+|cancel\w*|mov(?:e|ed|ing)\b|postpon\w+|push\w*"
    r"|shift\w*|delay\w*|bring|bump\w*|chang\w+|switch\w*|swap\w*|hold|approv\w+|confirm\w*|sign|set up|call off|buy"
    r"|touch\w*|proceed\w*|go ahead|go through|drop|delete|remove|(?:get|find|grab|order) (?:me|us|an?|the|my)\b"
    r"|do (?:it|that|this|anything|so)"
    r"|make (?:me |us )?(?:an?|the|any) (?:\w+ )?(?:appointment|booking|reservation))"
)

_DENIAL = re.compile(
    r"\b(?:not|never|no(?![\w-])|none|nothing|nobody|nowhere|neither|nor|nope|nah|without|cannot|unless|except|excluding"
    r"|other than|apart from|hardly|barely|avoid\w*|refus\w+|\w+n't|don\Wt|do'nt|dnt|donot|nvr)(?!\w)"
)
_END = re.compile(r"[.;!?,]|\b(?:because|since|as|so|but|and|or)\b| - ")

_LEAVES = r"(?:don't|do not|don\Wt|do'nt|dnt|donot|never|nvr|not|needn't|shouldn't|mustn't)"
_SOFT = (
    r"(?: (?:please|ever|actually|really|just|want(?:ing)?|wish|need|like|going|dare|even|yet|you|to|for|me|let|go"
    r"|ahead|and|be|have|it|i|we|us|anyone|bother|intend|plan|think|should|try|trying|any|a|an|the)){0,6}?"
)
_NEVER_MIND = (
    r"never ?mind|\bnvm\b|forget (?:it|that|this|about (?:it|that|this|everything)|everything|i (?:asked|said))\b"
    r"|\b(?:scratch|strike) (?:that|this|it|all)\b|\b(?:disregard|ignore) (?:that|this|it|me|my|everything|what)\b"
    r"|\bdo nothing\b|\b(?:don't|do not) bother\b|\bleave (?:it|things|everything) (?:be|alone|as)\b|\blet it be\b"
    r"|\b(?:kidding|jk|joking)\b"
)
_STOPS = (
    rf"\b(?:avoid|refrain from|hold off(?: on)?|stop|quit|skip|against|without)(?: \w+){{0,2}}? {_ACTION}"
    r"|\bhold off\b|(?:^|[.,;!?-] ?)(?:stop|wait|abort|undo)(?: (?:it|that|this))?[.! ]*$"
    r"|\b(?:don't|do not|never) want\b[^.;!?,]*\b(?:book|cancel+|mov|reschedul|chang|postpon|shift)ed\b"
    r"|\b(?:actually|no|but|wait|oh|hmm|sorry),? (?:please )?(?:don't|do not|not|no)[.! ]*$"
    r"|\b(?:don't|do not)[.! ]*$|[,.;!?-] ?(?:no|nope|nah|not)[.! ]*$"
)
_CALLED_OFF = re.compile(
    rf"\b{_LEAVES}{_SOFT} {_ACTION}|\b(?:no need(?! for\b)|no reason|no point|rather you didn't)\b|{_NEVER_MIND}"
    rf"|{_STOPS}"
)
_SECOND_THOUGHT = re.compile(r"\bchanged? my mind\b|\bon second thoughts?\b|\bdecided against\b")

_ACT_OR_HAVE = r"(?:need|have|want|get|ought|require)"
_DELIBERATES = re.compile(
    r"\b(?:should|shall|must|ought) (?:i|we)\b|\bshouldn't (?:i|we)\b"
    rf"|\b(?:do|don't) (?:i|we) (?:\w+ )?(?:{_ACT_OR_HAVE})(?: to)?\b|\bam i (?:supposed|required|obliged|meant)\b"
    r"|\bis (?:it|there)(?: any| a)? (?:necessary|needed|worth\w*|better|best|wise|smart|required|mandatory|sensible"
    r"|good idea|need|point|reason)\b"
    r"|\bwould (?:it|that) be (?:better|best|wise|smart|sensible|worth\w*|a good)\b"
    r"|\b(?:do|would|don't|wouldn't) you (?:(?:think|reckon) (?:i|we|it|that|an?)|recommend|suggest|advise)\b"
    r"|^need (?:i|we)\b|\bwhy (?:would|should|do|does|did|must|shall|is|are|was|were|has|have)\b"
    r"|\bwould it (?:hurt|help|matter|make sense)\b|\bwhat (?:if|happens if)\b|\bwhether (?:or not|to)\b"
    r"|\b(?:if|whether) (?:or not )?(?:i|we) (?:\w+ )?(?:should|need|must|ought|have to|want)\b"
    rf"|\bhow (?:would|do|does|can|could|might|to)\b[^.;!?]*? {_ACTION}|\bif (?:i|you|we|they) {_ACTION}"
    r"|\b(?:has|have|did|was|were) (?:anyone|anybody|someone|somebody|he|she|they)\b|\bi wish (?:i|you|we|they)\b"
    r"|\bis (?:an?|my|the) [\w ]{1,40}? (?:necessary|needed|due|required)\b"
)

# Denials in form only.
_ASKING = re.compile(
    r"\b(?:don't|do not|never) (?:you )?(?:forget|hesitate|fail) to\b"
    r"|\bwhy (?:don't|not|can't|won't|do not)(?: (?:you|we|i))?\b|\b(?:ca|could|wo|would)n't (?:you|we)\b"
    r"|\b(?:wouldn't|don't|won't|would not|do not)(?: you| they)? (?:mind|care)\b|\bnot only\b"
    r"|\b(?:can't|cannot|can not) wait\b|\bno(?:t in a)? (?:rush|hurry|worries|problem|preference|doubt|issue)\b"
    r"|\bnot (?:fussy|picky|urgent|in a (?:rush|hurry)|bothered|an emergency|too bad)\b|^(?:no|nope|nah)[,.] ?(?=\w)"
    r"|\bnothing (?:fancy|special|major|serious|urgent|crazy|complicated)\b|\bwithout (?:delay|fail)\b"
    r"|\bif (?:you|they) (?:don't|do not|wouldn't) mind\b|\b(?:doesn't|don't|does not|do not) matter\b"
    r"|\bi (?:don't|do not) have an? (?:appointment|booking|visit) yet\b"
)
_UNSUITED_PART = re.compile(rf"{UNSUITED}{PART}")
_ABLE = (
    r"(?:can't|cannot|can not|won't|will not|couldn't|could not|unable to|not able to|not going to|no longer"
    r"|can no longer)"
)
_TO_COME = r"(?:make|making|come|coming|attend|keep|be|get|manage|wait|stay|drive|leave|reach|go|do)\b"
_CANNOT_COME = re.compile(
    rf"\b{_ABLE}(?: (?:be able to|be|able to))? {_TO_COME}|\b(?:not|n't) (?:free|available|around|in town|here|home)\b"
)
_NO_FIT = re.compile(r"\b(?:doesn't|don't|does not|do not|no longer|won't|not|isn't) (?:work|good|suit|fit|convenient)")
_UNABLE = re.compile(
    rf"\b(?:i|we)(?:'m| am| are)? {_ABLE} (?:wait|stay|drive|walk|reach|see|sleep|get (?!there|away)|be late)\b"
)
_NOT_NEEDED = re.compile(r"\b(?:not|isn't|no longer) (?:needed|necessary|required)\b(?: any ?more\b)?")
_NO_MORE = re.compile(
    r"\b(?:don't|do not|doesn't|won't|no longer) (?:need|want|require) (?:(?:my|our|the|that|this|it)\b"
    r"|.*\b(?:any ?more|any longer|after all)\b)|\bno longer (?:need|want|require)\b"
)
_WANTS_NONE = re.compile(
    r"\b(?:don't|do not|doesn't|never|not|no longer) (?:really |actually |even )?(?:want|need|like|require)"
    r"(?: to (?:have|get|see|take))? (?:an?|the|my|our|any|that|this)\b(?! (?:price|total|bill|cost)\b)"
)

# Reluctance, and what is to stay as it is.
_RELUCTANT = re.compile(
    r"\b(?:regret|hate|loathe|dread|dislike|afraid|mistake|by accident|(?:sooner|rather) \w+ than)\b"
    r"|\b(?:i|we)(?:'ve)? already (?:have|got|had|booked)\b"
    r"|\bkeep (?:it|that|them|my [\w ]{1,30}|the [\w ]{1,30})[.! ]*$"
)
# Where no verb tells a wish, a sentence about what is, was or stays is none either.
_TELLS = re.compile(
    r"(?:^|[.;!?,] ?|\bplease )(?:keep|leave|skip|pass)\b(?! (?:it|this|the \w+) (?:under|below|at|within|to)\b)"
    r"|^(?:(?:hi|hey|hello|so|well|but|and|ok|okay)[,.! ]+)*(?:i|we|he|she|they|you)(?:'\w+)? \w"
)

# Reasons: what is not so, told of things and bodies, in a clause that neither asks for anything nor names a time.
_SUBJECT = r"(?:(?:my|our|his|her) [\w' -]{1,40}?|he|she|they|i|i'm|i've|she's|he's|they're)"
_STATE = (
    r"(?:start|run|work|feel|sound|look|turn|stop|brak|drain|heat|cool|charg|clos|open|shin|sleep|walk|eat|see|hear|stand"
    r"|breath|well|right|properly|safe|clean|straight|been|had)(?:e|s|ing|ning|ping|en)?"
)
_REASON = re.compile(
    rf"^ ?(?:hi |hello |sorry |well )?{_SUBJECT}(?: ?have| has| had| am| is| are)? (?:\w+n't|\w+ not|not|never|cannot)"
    rf"(?: \w+)?? {_STATE}\b|^ ?not feeling\b"
    r"|^ ?i (?:don't|do not) (?:drive|own|know (?:much|anything|a lot|how|what's|what is))\b"
    r"|^ ?i (?:don't|do not) have (?:an?|my|any) (?!time|money|cash|need|reason|use)"
)
_NO_REASON = re.compile(
    rf"{_WHEN}|\b(?:{_ACTION}|need\w*|want\w*|if|unless|only|any ?more|after all|for (?:me|us)|appointments?|appts?"
    r"|visits?|bookings?|it's off)\b"
)


def find_denials(marked: str, left: str, intent: Intent | None) -> frozenset[Problem]:
    """What of a message asks that nothing be done, or may ask it. `marked` is the sheet with its atoms standing, `left`
    the same once every limit, day and time that was read is used.
    """
    if intent in (Intent.STATUS, Intent.DISCOVER):
        return frozenset()
    text = _ASKING.sub(lambda match: USED * len(match[0]), marked)
    if _CALLED_OFF.search(text) or (intent in (Intent.BOOK, None) and _SECOND_THOUGHT.search(text)):
        return frozenset({Problem.CALLED_OFF})
    if _DELIBERATES.search(marked):
        return frozenset({Problem.UNDECIDED})
    if _RELUCTANT.search(text) or (intent is None and _TELLS.search(text)):
        return frozenset({Problem.DENIED})
    if _WANTS_NONE.search(text) and not (intent is Intent.CANCEL and _NO_MORE.search(text)):
        return frozenset({Problem.DENIED})
    for pattern in (_UNSUITED_PART, *(_EXPLAINED.get(intent, ()) if intent else ())):
        text = pattern.sub(lambda match: USED * len(match[0]), text)
    denials = (match for match in _DENIAL.finditer(text) if left[match.start()] != USED)
    return frozenset() if all(_is_reason(text, match) for match in denials) else frozenset({Problem.DENIED})


_EXPLAINED = {
    Intent.MOVE: (_CANNOT_COME, _NO_FIT),
    Intent.CANCEL: (_CANNOT_COME, _NO_FIT, _NO_MORE, _NOT_NEEDED),
}


def _is_reason(text: str, denial: re.Match[str]) -> bool:
    """Whether a denial only tells why: its clause says how things are or that somebody is unable to come."""
    start = max((match.end() for match in _END.finditer(text, 0, denial.start())), default=0)
    end = _END.search(text, denial.end())
    clause = text[start : end.start() if end else len(text)]
    if _NO_REASON.search(clause):
        return False
    return bool(_REASON.search(clause) or _UNABLE.search(clause))
