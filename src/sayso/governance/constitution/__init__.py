"""What is allowed in a house at all: the text for people, the policies a program evaluates, and the judge of both."""

from sayso.governance.constitution.articles import Article
from sayso.governance.constitution.judge import REFUSED_BY_CONSTITUTION, Ceilings, Constitution, Verdict

__all__ = ("REFUSED_BY_CONSTITUTION", "Article", "Ceilings", "Constitution", "Verdict")
