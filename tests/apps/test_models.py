"""Which model is meant, and what a home whose credentials cannot be read says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.home import open_home
from sayso.apps.models import MODEL_VARIABLE, open_models
from sayso.control.provider.planner.provider import MODEL
from sayso.core.refusal import Refused

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-150", "OAP-212")
@pytest.mark.parametrize(
    ("mode", "data", "code"), [(0o644, '{"v": 1, "providers": {}}', "file_not_private"), (0o600, "{", "config_invalid")]
)
async def test_credentials_that_cannot_be_read_are_not_none(tmp_path: Path, mode: int, data: str, code: str) -> None:
    """The planner does not answer in place of a model somebody is signed in to; a key in the environment still does,
    and what goes on in the background ends nothing.
    """
    home = open_home(tmp_path / "home", is_world=False)
    (home.path / "auth.json").write_text(data)
    (home.path / "auth.json").chmod(mode)
    async with open_models(home, environ={}) as models:
        with pytest.raises(Refused) as refused:
            await models.choose(None)
        assert (refused.value.refusal.code, refused.value.refusal.place) == (code, str(home.path / "auth.json"))
        assert await models.choose(None, is_offline=True) == MODEL
        assert await models.choose("kimi/k") == "kimi/k"
        await models.renew()
    async with open_models(home, environ={"KIMI_API_KEY": "k"}) as models:
        assert await models.choose(None) == "kimi/kimi-for-coding"


@pytest.mark.req("OAP-212")
async def test_a_model_is_the_one_asked_for_then_the_environments_then_none(tmp_path: Path) -> None:
    """Of the environment that was given, which need not be the process's."""
    home = open_home(tmp_path / "home", is_world=False)
    async with open_models(home, environ={MODEL_VARIABLE: "toy/m"}) as models:
        assert await models.choose("other/m") == "other/m"
        assert await models.choose(None) == "toy/m"
        assert await models.choose(None, is_offline=True) == MODEL
    async with open_models(home, environ={MODEL_VARIABLE: ""}) as models:
        assert await models.choose(None) == MODEL
