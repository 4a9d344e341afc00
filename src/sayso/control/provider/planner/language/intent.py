"""What the person wants, from the words around the times: to book, move, cancel, know or find out.

The order of the questions decides between cues that meet: "is my booking cancelled" asks, "cancel and rebook" moves,
"can I get my appointment moved" moves, "do you have a slot? then book it" books.
"""

from __future__ import annotations

import re

from sayso.control.provider.planner.language import cues
from sayso.control.provider.planner.language.sheet import Sheet
from sayso.control.provider.planner.language.understood import Intent

__all__ = ("books_firmly", "cancels_firmly", "find_intent", "two_wishes")

_DENIES = re.compile(r"not\b|never\b|n't\b")


def find_intent(sheet: Sheet) -> Intent | None:
    """The intent that the message's verbs tell, its times standing as atoms on the sheet; None where no verb tells one,
    so that a mere service with a time can still count as a wish to book.
    """
    text = sheet.text
    if cues.NO_CANCEL.search(text):
        return Intent.DISCOVER if "cancel" in text and not _DENIES.search(text) else Intent.UNKNOWN
    for intent, is_told in _QUESTIONS:
        if is_told(text):
            return intent
    return None


def _lists_own(text: str) -> bool:
    return bool(cues.OWN_LIST.search(text))


def _moves(text: str) -> bool:
    if cues.MOVES.search(text) or cues.INSTEAD.search(text):
        return True
    refused = cues.CANNOT.search(text)
    return bool(refused and cues.OTHER_TIME.search(text, refused.end()))


def _cancels(text: str) -> bool:
    return bool(cues.CANCELS.search(text))


def _asks_first(text: str) -> bool:
    return bool(cues.ASKS_FIRST.match(text)) and _asks_own(text)


def _asks_own(text: str) -> bool:
    return bool(cues.ASKS_OWN.search(text)) and not cues.BOOKS_FIRMLY.match(text)


def _asks_offer(text: str) -> bool:
    return bool(cues.ASKS_OFFER.search(text)) and not cues.BOOKS_FIRMLY.search(text)


def _books(text: str) -> bool:
    return bool(cues.BOOKS.search(text) or cues.BOOKS_FIRMLY.search(text))


def _talks(text: str) -> bool:
    return bool(cues.SMALL_TALK.search(text)) and not cues.BOOKS_FIRMLY.search(text)


_QUESTIONS = (
    (Intent.UNKNOWN, _talks),
    (Intent.STATUS, _lists_own),
    (Intent.STATUS, _asks_first),
    (Intent.MOVE, _moves),
    (Intent.CANCEL, _cancels),
    (Intent.STATUS, _asks_own),
    (Intent.DISCOVER, _asks_offer),
    (Intent.BOOK, _books),
)


def two_wishes(sheet: Sheet) -> Intent | None:
    """The first wish of a breath that both cancels one thing and books another; None where there is only one."""
    cancels, books = cues.CANCELS.search(sheet.text), cues.BOOKS_FIRMLY.search(sheet.text)
    if not cancels or not books:
        return None
    return Intent.CANCEL if cancels.start() < books.start() else Intent.BOOK


def books_firmly(tidied: str) -> bool:
    """Whether a booking is asked for in so many words."""
    return bool(cues.BOOKS_FIRMLY.search(tidied))


def cancels_firmly(tidied: str) -> bool:
    """Whether a cancellation is asked for in so many words, and not only said to be unable to come or asked
    whether it can be done.
    """
    return bool(cues.CANCELS_FIRMLY.search(tidied)) and not cues.MAY_CANCEL.search(tidied)
