"""Product and floor as bars, each table a panel, each bar a multiple of its floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

__all__ = ("draw",)


def draw(reports: Sequence[Mapping[str, Any]], path: str) -> None:
    """Writes one figure of all reports to `path`."""
    figure, panels = pyplot.subplots(len(reports), 1, figsize=(9, 1.2 + 1.6 * len(reports)), squeeze=False)
    for panel, found in zip(panels[:, 0], reports, strict=True):
        rows = found["rows"]
        names = [row["name"] for row in rows]
        times = [row["times_floor"] or 1.0 for row in rows]
        bars = panel.barh(names, times, color=["0.75" if name == found["floor"] else "tab:blue" for name in names])
        panel.bar_label(bars, [f"{row['median']:,.4g} {row['unit']}" for row in rows], padding=4, fontsize=8)
        panel.set_title(found["title"], fontsize=9, loc="left")
        panel.set_xlabel(f"times {found['floor']}" if found["floor"] else "", fontsize=8)
        panel.margins(x=0.2)
        panel.invert_yaxis()
    figure.suptitle(reports[0]["machine"], fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
