"""The most a session gets: what its host gives, where others than the host's own person can open one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.control.loop.contract import SourceTerms
from sayso.control.loop.saved import SavedConversations
from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerRefused
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.loop.stage import staged
from tests.control.loop.test_opening import Opener

pytestmark = pytest.mark.anyio
SAYSO = "$.payload.metadata.sayso"


def folders(path: Path) -> Path:
    """A root with a folder inside, another whose name begins with the root's, and a link that leads to it."""
    root, other = path / "root", path / "root2"
    (root / "inside").mkdir(parents=True)
    other.mkdir()
    (root / "out").symlink_to(other)
    return root


def elect(**own: str) -> dict[str, Any]:
    return {"metadata": {"sayso": own}}


@pytest.mark.req("OAP-157", "OAP-163")
@pytest.mark.parametrize(
    ("elected", "member"),
    [
        ({"permission": "bypass"}, "permission"),
        ({"workspace": "/"}, "workspace"),
        ({"workspace": "{path}"}, "workspace"),
        ({"workspace": "{path}/root2"}, "workspace"),
        ({"workspace": "{path}/root/out"}, "workspace"),
        ({"workspace": "{path}/root/inside/../.."}, "workspace"),
    ],
)
async def test_a_session_gets_no_more_than_its_host_gives(
    trace: Trace, tmp_path: Path, elected: dict[str, str], member: str
) -> None:
    """A standing yes, a folder above the host's or beside it, one behind a link: refused by name, nothing opened."""
    root, opener = folders(tmp_path), Opener("workspace")
    talks = SavedConversations(tmp_path / "talks", clock=ManualClock(NOON))
    own = {name: value.format(path=tmp_path) for name, value in elected.items()}
    options: dict[str, Any] = {"openers": [opener], "workspace": root, "confined": True, "conversations": talks}
    async with staged([], record=trace.record, **options) as stage:
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso", **elect(**own))
        assert (opener.open_now, len(opener.terms)) == (1, 1)
        assert len(list((tmp_path / "talks").iterdir())) == 1
    refusal = refused.value.refusal
    assert (refusal.code, refusal.reason, refusal.place) == (
        "unsupported_feature", "unsatisfiable", f"{SAYSO}.{member}",
    )  # fmt: skip
    assert refusal.details == {"feature": "session.open", "field": f"metadata.sayso.{member}"}


@pytest.mark.req("OAP-163")
async def test_a_session_gets_the_hosts_folder_or_one_inside_it(trace: Trace, tmp_path: Path) -> None:
    """And the host's standing yes, or less."""
    root, opener = folders(tmp_path), Opener("workspace")
    options: dict[str, Any] = {"openers": [opener], "workspace": root, "permission": "bypass", "confined": True}
    async with staged([], record=trace.record, **options) as stage:
        for own in ({"workspace": str(root)}, {"workspace": str(root / "inside"), "permission": "ask"}):
            await stage.client.open("sayso", **elect(**own))
    given = [(terms.permission, terms.workspace) for terms in opener.terms]
    assert given == [("bypass", root), ("bypass", root), ("ask", root / "inside")]


@pytest.mark.req("OAP-163")
async def test_where_the_host_gives_no_folder_a_session_gets_none(trace: Trace, tmp_path: Path) -> None:
    """Whatever it names; without a name it opens without one."""
    opener = Opener("workspace")
    async with staged([], record=trace.record, openers=[opener], confined=True) as stage:
        with pytest.raises(PeerRefused) as refused:
            await stage.client.open("sayso", **elect(workspace=str(tmp_path)))
    assert refused.value.refusal.place == f"{SAYSO}.workspace"
    assert [terms.workspace for terms in opener.terms] == [None]


@pytest.mark.req("OAP-157", "OAP-164")
async def test_a_reopened_session_gets_no_more_either(trace: Trace, tmp_path: Path) -> None:
    """Neither what it elects, nor the folder its conversation had elsewhere; what is refused is let go again."""
    root, opener = folders(tmp_path), Opener("workspace")
    talks = SavedConversations(tmp_path / "talks", clock=ManualClock(NOON))
    inside = str(root / "inside")
    async with staged(
        [],
        record=trace.record,
        conversations=talks,
        openers=[opener],
        workspace=root,
        confined=True,
        opens={"session_id": "s1", **elect(workspace=inside)},
    ) as stage:
        await stage.client.close("s1")
        refusals = []
        for own in ({"permission": "bypass"}, {"workspace": str(tmp_path)}):
            with pytest.raises(PeerRefused) as refused:
                await stage.client.open("sayso", session_id="s1", reopen=True, **elect(**own))
            refusals.append(refused.value.refusal.place)
        await stage.client.open("sayso", session_id="s1", reopen=True)
        await stage.client.close("s1")
        (root / "inside").rmdir()
        (root / "inside").symlink_to(tmp_path / "root2")
        with pytest.raises(PeerRefused) as moved:
            await stage.client.open("sayso", session_id="s1", reopen=True)
    assert refusals == [f"{SAYSO}.permission", f"{SAYSO}.workspace"]
    assert moved.value.refusal.place == f"{SAYSO}.workspace"
    assert opener.terms == [SourceTerms(session_id="s1", workspace=root / "inside")] * 2
    assert opener.open_now == 0
