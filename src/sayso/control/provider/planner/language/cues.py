"""The turns of phrase by which people show what they want, one a line. WHEN stands for any day or time already read.

A cue decides alone only where its verb cannot be part of a service's name; verbs that can ("change", "remove") need an
appointment as their object, or a new time after "to".
"""

from __future__ import annotations

import re

from sayso.control.provider.planner.language.sheet import CLOCK, DAY, HOUR, PART, USED

__all__ = (
    "ASKS_FIRST",
    "ASKS_OFFER",
    "ASKS_OWN",
    "BOOKS",
    "BOOKS_FIRMLY",
    "CANCELS",
    "CANCELS_FIRMLY",
    "CANNOT",
    "INSTEAD",
    "MAY_CANCEL",
    "MOVES",
    "NO_CANCEL",
    "OTHER_TIME",
    "OWN_LIST",
    "SMALL_TALK",
    "WHEN",
)

WHEN = f"[{CLOCK}{DAY}{HOUR}{PART}]"
_OWN = r"(?:my|our|mine|ours)"
_OBJECT = r"(?:my|our|mine|the|that|this|it|an?|me|us)"
_BOOKING = r"(?:appointments?|appts?|bookings?|reservations?|slots?|visits?|sessions?|time|date|day)"
_LIST = r"(?:bookings?|appointments?|appts?|reservations?|schedule|calendar|agenda|diary|visits?)"
_NOT = r"(?:can't|cannot|can not|won't|unable to|not able to|not going to|couldn't|won't be able to|not be able to)"
_NEED = r"(?:need|want|require)"


def _any(*cues: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{cue})" for cue in cues))


NO_CANCEL = _any(
    r"\b(?:don't|do not|dont|never|not) (?:want to |wish to |wanna )?(?:cancel|call off)\b",
    r"\b(?:cancel+ation|refund|cancel+ing|reschedul\w+) (?:policy|policies|fees?|rules?|terms?|charges?|costs?)\b",
)

CANCELS_FIRMLY = _any(
    r"\bcancel(?:s|led|ed|ling|ing|lation|ation)?\b|\bcancl?e?l\b",
    r"\bcall(?:ing)? off\b|\bcall (?:it|that|(?:my|the) [\w ]{1,40}?) off\b",
    r"\btake me off\b|\b(?:scrap|kill|ditch|get rid of|back out of|pull out of|forget(?: about)?) (?:my|the|that|it)\b",
    rf"\b(?:delete|remove|drop|scratch|undo|withdraw) (?:it|(?:my|the|that) (?:[\w ]|{WHEN}){{0,40}}?{_BOOKING})\b",
    rf"\b(?:don't|do not|dont|doesn't|won't|no) {_NEED}\b.*\b(?:any ?more|any longer|after all|booking|appointment)\b",
    rf"\bno longer {_NEED}\b",
)
MAY_CANCEL = re.compile(
    r"\b(?:can|could|may|might|am) i (?:\w+ ){0,3}?cancel|\bis (?:it|there) (?:[\w ]{1,30} )?(?:to|of) cancel"
)
# Somebody who cannot come may want to cancel or to move.
_UNABLE = rf"\b(?:{_NOT}|can no longer) (?:be there|make it|make (?:my|the)|come|attend|keep)\b"
CANCELS = _any(CANCELS_FIRMLY.pattern, _UNABLE)

_SHIFT_VERB = r"(?:(?:mov|nudg|slid)(?:e|ing)|(?:shift|push|bump|delay|transfer)(?:ing)?)"
_CHANGE_VERB = r"(?:chang(?:e|ing)|switch(?:ing)?|swap(?:ping)?|alter|adjust|modify|update|edit|amend)"
# A verb that may also be part of a service's name counts only where a verb can stand.
_AS_VERB = (
    r"(?:^|[,.;!?] ?|\b(?:to|please|can|could|you|i|we|and|or|just|me|let's|wanna|gotta|must|should|would|might|about"
    r"|consider|mind|need|of|hi|hello|hey) )"
)
MOVES = _any(
    r"\bre-?schedul\w*|\bre-?book\w*|\bpostpon\w*|\bre-?arrang\w*|\breschedual\w*",
    rf"\b{_SHIFT_VERB} (?:{_OBJECT}\b|back\b|out\b|up\b|forward\b|to {WHEN}|{WHEN})",
    rf"\b{_BOOKING} (?:up|back|forward)\b",
    r"\b(?:moved|shifted|pushed|bumped|changed|brought) (?:to|back|up|forward|from|until|by|out)\b",
    rf"\b(?:bring|pull|put) (?:it|that|{_OWN} [\w' ]{{1,40}}?|the [\w' ]{{1,40}}?|{_BOOKING}) (?:forward|off|back"
    rf"|up)\b",
    r"\bput(?:ting)? off\b|\bbring(?:ing)? forward\b",
    rf"{_AS_VERB}{_CHANGE_VERB} (?:{_OBJECT} )?(?:[\w']+ |{WHEN}+(?:'s)? ){{0,3}}?{_BOOKING}\b",
    rf"{_AS_VERB}{_CHANGE_VERB}\b[^.?!]*? (?:to|from|for)(?: \w+)? {WHEN}",
    rf"{_AS_VERB}{_CHANGE_VERB} (?:it|that|mine|when)\b",
    r"\b(?:different|another|other|new|later|earlier|better) (?:time|day|date|slot) for (?:my|the|our)\b",
    rf"\b(?:instead of|rather than) {WHEN}",
    rf"(?<!n't )(?<!not )\bmake (?:it|that|my [\w ]{{1,40}}?|the [\w ]{{1,40}}?) (?:(?:on|at|for) )?(?:{WHEN}"
    rf"|\w+ (?:earlier|later)|earlier|later)",
    rf"\b(?:have|get) (?:it|that|{_OWN} [\w ]{{1,40}}?) (?:moved|changed|earlier|later|sooner)\b",
    r"\b(?:come|be|go) (?:in )?(?:an? \w+ |a bit )?(?:earlier|later|sooner)\b",
)
INSTEAD = _any(rf"{WHEN}[^.?!]*\binstead\b", rf"\binstead\b[^.?!]*{WHEN}")
CANNOT = _any(
    rf"\b{_NOT}\b",
    r"\b(?:doesn't|don't|does not|no longer|not) (?:work|good|suit|fit)s?\b",
    r"\bcan no longer\b",
)
OTHER_TIME = _any(
    rf"\b(?:how|what) about\b[^.!]*{WHEN}",
    rf"\b(?:can|could|may) (?:we|i|you)\b[^.!]*{WHEN}",
    rf"\b(?:is|would|let's|maybe|are you free|do you have|works?|possible)\b[^.!]*{WHEN}",
)

OWN_LIST = _any(
    rf"\b(?:show|list|see|check|view|pull up|review|read)\b(?: me"
    rf"| us)?(?: \w+){{0,3}}? ?{_OWN}(?: \w+)? {_LIST}\b",
    r"\b(?:show|list|see|view|check)\b(?: me)?(?: all| the| existing| upcoming| current| future)* (?:bookings"
    r"|appointments)\b",
    rf"^(?:{_OWN}|upcoming|all(?: my)?)(?: upcoming| current| next)? {_LIST}\b[^\w]*$",
)
_NOT_OFFERED = r"(?! (?:can|could|would|might|should|will|do you|are you|does|offers|has)\b)"
ASKS_OWN = _any(
    r"\bwhat(?:'s|s)?\b.*\b(?:do i have|have i got|have i booked|did i book|am i (?:booked|down|signed)|i(?:'ve"
    r"| have))\b",
    rf"\bwhat(?:'s|s)?\b.*\b(?:booked|coming up|upcoming|on (?:my|the) {_LIST}|in my {_LIST})\b",
    rf"\bwh(?:at|ich)\b.*\b{_OWN}(?: \w+){{0,2}} {_LIST}\b",
    rf"\b(?:when|where|who|what time|what day|which day|how long)\b(?:'s"
    rf"|s)?{_NOT_OFFERED}(?: \w+){{0,3}}? (?:{_OWN}|do i|am i"
    rf"|did i|i'm)\b",
    r"\bwhen(?:'s| is) (?:the|that|it)\b(?! (?:next|earliest|first|soonest))",
    rf"\b(?:is|are|was|were|has|have|did|does|will)(?:n't)? (?:{_OWN}|the|that|it|everything|you|i)\b.*"
    r"\b(?:confirm\w*|book(?:ed)?|reserved?|still on|set|scheduled|go through|gone through|went through|happening"
    r"|good to go|sorted"
    r"|cancel(?:l?ed)?|made|in place|on track|all right|moved)\b",
    r"\b(?:do|did) i (?:still |already |even |currently )?(?:have|got|book)\b(?! to\b)|\bhave i (?:got|booked|made)\b",
    rf"\b(?:check|tell|remind|look up|find out|confirm|verify|know)\b(?: me| us)?(?: \w+){{0,4}}? {_OWN}\b",
    r"\bremind (?:me|us) (?!to\b|that\b)",
    r"\bstatus\b|\bam i (?:still |all |already )?(?:booked|scheduled|confirmed|down|set|on|good)\b",
    rf"\bhow much (?:is|was|will|did|does)(?: \w+)? {_OWN}\b",
    rf"\b(?:is|are) {_OWN}\b.*\?|\b(?:any|got) (?:bookings|appointments|anything booked)\b[^\w]*$",
)
# Opened like this, a message asks about what is, even where it names a move or a cancellation.
ASKS_FIRST = re.compile(
    r"(?:(?:hi|hey|hello|so|ok|okay|please|sorry)\b[ ,!.]*)*(?:is|are|was|were|has|have|did|do|does|when|what"
    r"|where|who|which)\b"
    r"(?! about\b| (?:it|this|that|there) (?:still )?(?:possible|ok|okay|too late|all right|alright|fine|any way)\b)"
)
ASKS_OFFER = _any(
    r"\bwhat(?:'s|s)?\b.*\b(?:offer(?:ed)?|availab\w+|free|services?|open(?:ings?)?|cost|price[sd]?|charge|options"
    r"|slots?|menu)\b",
    r"\bwhat(?:'s|s)?\b.*\b(?:you|they|there|you guys) (?:got|have|do|sell)\b",
    r"\bwhat (?:times?|days?|dates?|kinds? of|sorts? of|types? of)\b|\bwhat (?:can|could) (?:i|you) book\b"
    r"|\bwhat else\b",
    r"\bwhat (?:would|does|do|will|might) (?:an?|the|your)\b",
    r"\bhow (?:early|late|quickly|fast)\b",
    r"\bhow much\b|\bhow long (?:is|does|would|will|do)\b|\bhow soon\b|\bprices? (?:for|of|list)\b",
    r"\b(?:do|does) (?!i\b|we\b)[\w' ]{1,40}? (?:have|offer|do|accept|provide|take|sell|got)\b(?! (?:my|me))",
    r"\b(?:is|are) there\b|\bgot any\b",
    r"\bany(?:thing|body| one|one)? (?:\w+ )?(?:openings?|availab\w+|slots?|times|spaces?|spots?|free|open"
    r"|appointments?)\b",
    r"^anything\b",
    r"\bwhen (?:can|could|would|might|are|is|do|does|will)\b|\b(?:earliest|soonest|first|next) (?:you|they) (?:can"
    r"|could|have)\b",
    r"\bwhich (?:shops?|places?|times?|days?|services?|hosts?|businesses)\b|\bwho (?:does|do|offers?|can|could|has)\b",
    r"\b(?:show|list|give|tell|find out|see|check|look for)\b.*\b(?:availab\w+|open(?:ings?)?|times|slots|services"
    r"|options|prices|hours)\b",
    r"\b(?:opening|business|open) hours\b|\bwhat time do (?:you|they)\b|\btell me (?:more )?about\b",
    rf"^(?:are|is) (?!my|our|it|that)(?:[\w':]| |{WHEN}){{1,40}} (?:open|available|free|possible)\b",
    rf"\b(?:what(?:'s|s| is| are)?|when(?:'s|s| is)?) ?{USED}",
)

BOOKS_FIRMLY = _any(
    r"(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\byour )\b(?:book|schedule|reserve|arrange|organi[sz]e)\b (?!policy"
    r"|status)(?=\w)",
    r"\bset (?:me |us )?up (?:an?|with|for)\b|\bsign (?:me|us|(?:my|our) \w+) up\b|\bpencil me\b|\b(?:fit|squeeze"
    r"|slot) (?:me|us"
    r"|him|her|my \w+) in\b",
    r"\bmake (?:me |us )?an? (?:[\w]+ ){0,3}?(?:appointment|booking|reservation)\b",
)
BOOKS = _any(
    r"\b(?:book|booked|schedule|reserve)\b",
    r"\b(?:can|could|may|might|would)(?: \w+)? (?:i|we|you)\b",
    r"\b(?:i|we)(?:'d|d| would)? (?:\w+ )?(?:like|love|need|want|require|wish|prefer|hope)\b",
    r"\bi(?:'m|m| am) (?:\w+ )?(?:looking|hoping|after|due|trying|in need)\b|\b(?:looking|hoping) (?:for|to)\b",
    r"\b(?:need|needs|want|wants|wanna|gotta|must)\b|\b(?:due|overdue|time|appointment|appt|slot) (?:for|with)\b",
    r"\b(?:get|find|give|grab|put|order|request|snag|sort|(?<!\bi )have|fit|squeeze) (?:me|us|my|our|an?|the|in|one)\b",
    r"\blet's (?:do|book|go|get|make|have)\b|\bi'll (?:take|have|go)\b|\bhelp me\b|\bset (?:\w+ ){0,2}up\b"
    r"|\binterested in\b|\bwondering if\b",
)
SMALL_TALK = _any(
    r"\b(?:weather|joke|poem|news|your name|translate|capital of|president|recipe|stock|story|essay|code|song)\b",
    r"\b(?:who|what|how) are you\b|\bare you (?:an?|human|real|there)\b|\bwhat can you (?:do|help)\b"
    r"|\bwhat do you do\b|^help\b",
    r"\bremind me (?:to|that)\b|\bset (?:an alarm|a timer|a reminder)\b|\b(?:play|turn (?:on|off)|send|e-?mail|buy)\b",
    r"\b(?:write|sing|draw|tell) (?:me )?an?\b|\bmeaning of\b|\bexplain\b|\bthank(?:s| you)\b[^\w]*$",
)
