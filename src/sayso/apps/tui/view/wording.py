"""What the question panel says, as `Content` without markup: every word from elsewhere is cleaned strictly."""

from __future__ import annotations

import sys

from textual.content import Content

from sayso.apps.tui.view.blocks import Question
from sayso.apps.tui.view.calls import argument_text, find_diff
from sayso.apps.tui.view.clean import clean_name, clean_strict
from sayso.apps.tui.view.code import diff_styled
from sayso.apps.tui.view.form import Form
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.interaction import UserInputRequested
from sayso.control.protocol.payloads.scalars import UNSET

__all__ = ("form_hint", "form_text", "permission_hint", "permission_text", "title_of")

UNREADABLE = "What would have to be signed cannot be read, so this can only be declined."
_MUTED = "$text 60%"


def title_of(question: Question) -> Content:
    """The panel's first line."""
    return Content.assemble(("? ", "bold $text-warning"), (clean_name(question.asked.payload.title), "bold"))


def permission_text(question: Question) -> Content:
    """What a plain permission is about, whole: its description, else the call's arguments."""
    asked = question.asked.payload
    if question.kind == "unreadable":
        return Content(UNREADABLE)
    if not isinstance(asked, PermissionRequested):
        return Content("")
    if asked.description is not UNSET and asked.description.strip():
        text = clean_strict(asked.description)
        return diff_styled(text) if find_diff(asked.description) else Content(text)
    # What a person decides by is never cut.
    return Content("" if asked.arguments_json is UNSET else argument_text(asked.arguments_json, most=sys.maxsize))


def permission_hint(question: Question, *, may_say_yes: bool) -> str:
    """Which keys mean what."""
    if not may_say_yes:
        return "n declines, Esc stops the run"
    if question.kind == "signed":
        return (
            "These words stand for the document itself. y signs it with your key, n declines, PgDn shows what is below"
        )
    return "y allows it, n does not, Esc stops the run"


def form_text(asked: UserInputRequested, form: Form) -> Content:
    """One question of a form, with its options and where the cursor is."""
    parts: list[Content] = []
    if asked.description is not UNSET and asked.description.strip():
        parts.append(Content(clean_strict(asked.description)))
    at, of = form.position
    counted = f" ({at} of {of})" if of > 1 else ""
    parts.append(Content.styled(clean_strict(form.question.prompt), "bold") + Content.styled(counted, _MUTED))
    parts += [_option(form, at) for at in range(len(form.options))]
    if form.complaint:
        parts.append(Content.styled(form.complaint, "$text-warning"))
    return Content("\n").join(parts)


def form_hint(asked: UserInputRequested, form: Form) -> str:
    """Which keys mean what."""
    keys = {
        "text": ["Enter answers"],
        "single_choice": ["a number or Enter chooses"],
        "multi_choice": ["a number or Space ticks", "Enter answers"],
    }[form.question.kind]
    if form.question.required is not True:
        keys.append("Tab skips")
    if asked.allow_cancel is not False:
        keys.append("Esc declines")
    return ", ".join(keys)


def _option(form: Form, at: int) -> Content:
    option = form.options[at]
    marker = "> " if at == form.cursor else "  "
    ticked = ("[x] " if option.id in form.chosen else "[ ] ") if form.question.kind == "multi_choice" else ""
    number = f"{at + 1}. " if at < 9 else "   "
    told = f"  {clean_name(option.description)}" if option.description else ""
    style = "bold $text-accent" if at == form.cursor else ""
    return Content.assemble((f"{marker}{ticked}{number}{clean_name(option.label)}", style), (told, _MUTED))
