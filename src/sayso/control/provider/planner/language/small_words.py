"""Words that never name a service, a business or a person: what is left of a message when times, prices and these are
taken away is what it is about. Closed word classes and the talk that surrounds a request; no trade's words.
"""

from __future__ import annotations

__all__ = ("ARTICLES", "CLOSING", "JOINTS", "NO_PLACE", "OPENING", "SMALL")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the my our your his her their its some any this that these those another one")

# Words that may stand inside a service's name ("cut and colour"), though not at its ends.
JOINTS = _words("and & + of n the a an my our her his on off at out up with")

# Small talk that counts after a content word, where it ends a service's name ("health check").
CLOSING = _words("change changes check checks service servicing call fix work set up")

# Small talk that may open a business's name.
OPENING = _words("best first great nice good perfect quick right new open happy")

_FUNCTION = _words("""
i me my mine myself we us our ours you your yours he him his she her hers they them their theirs it its this
that these those who whom whose which what when where why how there here someone somebody anyone anybody
everyone something anything everything nothing one ones somewhere anywhere a an the some any each every either
neither both all none no not and or but nor so yet if then than because since as while unless until though
although whether of at by for with about against between into through during before after above below to from up
down in out on off over under again further onto toward towards per via within without near around along across
is am are was were be been being do does did doing done don't doesn't didn't have has had having haven't hasn't
can can't cannot could couldn't will won't would wouldn't shall should shouldn't may might must mustn't ought
need needs needed i'm i'd i'll i've we're we'd we'll we've you're you'd you'll it's it'd it'll that's that'd
there's he's she's they're what's when's where's who's how's let's isn't aren't wasn't weren't im ive id cant
dont wont didnt doesnt whats whens ain't gonna wanna gotta lemme
""")

_ASKING = _words("""
book booking booked schedule scheduling scheduled reserve reserving reserved arrange arranging organize organise
set setup make making made get getting got give grab find finding look looking want wants wanted wanting like
love prefer wish hope hoping try trying fit squeeze slot pencil put sign see check tell show list know ask
asking wonder wondering help please pls plz thanks thank thx cheers ty hi hey hello yo dear good morning day go
going come coming bring bringing take taking drop dropping call say let able possible possibly maybe perhaps
just really also too quite very actually basically simply kindly asap soon sooner soonest earliest latest first
next last available availability opening openings free open spot spots space room appointment appointments appt
appts reservation reservations slots session sessions visit visits time times date dates days week weeks month
hour hours minute minutes o'clock moment whenever anytime sometime some ideally preferably hopefully works work
working best ok okay fine alright sure yes yeah yep yup no nope nah right great perfect cool sounds suits
convenient flexible soonish later earlier early late around about approximately roughly exactly sharp instead
rather else other another different new existing current upcoming same that's move moving moved reschedule
rescheduling rescheduled postpone postponing push pushing pushed shift shifting change changing changed switch
switching swap swapping delay cancel cancelling canceling cancelled canceled cancellation scrap delete remove
forget anymore longer any-more back forward ahead up need needing require required requires must due overdue
confirm confirmed confirmation status still on question quick-question chance bookings calendar agenda diary
never till til rebook rebooking rebooked bit left remaining bump bumping nudge ditch kill lot guys guy remind
remember whether went gone through seeing yet favour favor sorry came plan plans planned planning offer offers
offered offering provide services service options option menu kind kinds type types sort sorts price prices
priced cost costs costing pay paying spend spending charge charges rate rates money budget limit max maximum
total tax taxes including included tops most least less more cheaper than cheap under below dollars bucks much
many long far away today tonight tomorrow now immediately urgently urgent quickly request requesting requirement
happen happening happens feel think guess suppose mean means keep keeping wherever whatever matter matters mind
anything's unless ready finished finish end ends ending start starts starting begin begins beginning person
people name named phone number email us id again after somehow way stuff thing things place places shops hosts
hosting provider providers businesses shop business host someone's use using usual favourite favorite nearest
nearby closest local nice doesn't i'd
""")

SMALL = _FUNCTION | _ASKING

# After "at", "from" or "by" these name no business.
NO_PLACE = _words("""
home work least most all once last first best noon night lunch school moment door same time earliest latest
point price cost rate lunchtime weekend end beginning start convenience any some phone email car bus myself me
you now then there here today tomorrow about around
""")
