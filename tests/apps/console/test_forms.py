"""Forms: what a browser sends, and the token that shows that the form was ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.apps.console.forms import check_token, new_token, read_form
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused

FORM = "application/x-www-form-urlencoded"
IDS = SystemIds()


def refused(call: object, *arguments: object) -> str:
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return caught.value.refusal.code


@pytest.mark.req("GTW-060")
def test_a_token_is_good_for_its_own_sign_in_and_address_alone() -> None:
    """Another sign-in's, another form's and a changed one are all refused; its nonce is what gets spent."""
    token = new_token(IDS, "mine", "/agents")
    assert check_token("mine", "/agents", token) == token.partition(".")[0]
    for secret, action, sent in (
        ("yours", "/agents", token),
        ("mine", "/gate/1/approve", token),
        ("mine", "/agents", token[:-1] + ("A" if token[-1] != "A" else "B")),
        ("mine", "/agents", "A" + token[1:] if token[0] != "A" else "B" + token[1:]),
        ("mine", "/agents", ""),
        ("mine", "/agents", token.partition(".")[2]),
    ):
        assert refused(check_token, secret, action, sent) == "form_expired"


def test_no_two_forms_have_the_same_token() -> None:
    """A token is spent once, so each form needs its own."""
    assert len({new_token(IDS, "mine", "/agents") for _ in range(100)}) == 100


def test_a_form_is_read_as_it_was_typed() -> None:
    """Percent signs, plus signs and line ends are the browser's spelling; white space around a text is nobody's."""
    form = read_form(f"{FORM}; charset=utf-8", b"name=+Ada+%26+co%0D%0Ax&password=+a+&scope=mcp&scope=acp")
    assert (form.text("name"), form.secret("password"), form.all("scope")) == ("Ada & co\nx", " a ", ("mcp", "acp"))
    assert form.typed() == {"name": " Ada & co\nx"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("", b"name=a"),
        (FORM, b"name=%ff"),
        (FORM, "name=é".encode()),
        (FORM, b"&".join(b"a=%d" % n for n in range(200))),
    ],
)
def test_what_is_no_form_of_ours_is_refused(content_type: str, body: bytes) -> None:
    """Another media type, bytes that are no UTF-8, more fields than any page has."""
    assert refused(read_form, content_type, body) == "form_malformed"


def test_a_field_that_stands_twice_or_is_too_long_is_refused() -> None:
    """Where one text is expected, two readers could take different ones."""
    form = read_form(FORM, b"name=a&name=b&reason=" + b"x" * 2001)
    assert (refused(form.text, "name"), refused(form.text, "reason")) == ("field_invalid", "field_invalid")
    assert (refused(form.secret, "name"), refused(form.needed, "nothing", "It")) == ("field_invalid", "field_missing")


@pytest.mark.parametrize("typed", ["", "-1", "1.5", "1e3", "٣", "101", "0x10", " "])
def test_a_number_is_written_in_ascii_digits_within_its_bounds(typed: str) -> None:
    """No sign, no other script's digits, no exponent."""
    form = read_form(FORM, b"")
    form._fields["n"] = [typed]
    with pytest.raises(Refused):
        form.whole("n", "The number", least=0, most=100)


@given(st.binary(max_size=300))
def test_any_body_is_a_form_or_refused(body: bytes) -> None:
    """Nothing else leaves the reader."""
    code, form = "form_malformed", None
    try:
        form = read_form(FORM, body)
    except Refused as failed:
        code = failed.refusal.code
    assert (form is not None and isinstance(form.typed(), dict)) or code == "form_malformed"
