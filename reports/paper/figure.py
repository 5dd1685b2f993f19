"""The paper's scores and a store's in one figure per metric: a panel per dataset and label ratio, a line per row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.paper.claims import title_of
from reports.paper.printed import DATASETS, METRICS, RATIOS
from reports.paper.replication import Beside


def paper_and_store(pairs: Sequence[Beside], stem: Path, *, simulated: bool) -> tuple[Path, Path]:
    """Draw one metric of the paper and of a store as PNG and PDF; the caption marks simulated ECGs.

    pairs: not empty, of one metric. stem: path without suffix. Returns the two files.
    """
    from reports.figures.draw import PairPanel, ScorePair, plot_score_pairs  # here, because matplotlib loads slowly

    def panel(ratio: float, dataset: str) -> PairPanel:
        own = [pair for pair in pairs if (pair.place.ratio, pair.place.dataset) == (ratio, dataset)]
        shown = [
            ScorePair(title_of(p.place.variant), (p.paper.mean, p.ours.mean), (p.paper.std, p.ours.std)) for p in own
        ]
        return PairPanel(f"{DATASETS[dataset]}, {100 * ratio:g} %", tuple(shown))

    ratios = [ratio for ratio in RATIOS if any(pair.place.ratio == ratio for pair in pairs)]
    datasets = [name for name in DATASETS if any(pair.place.dataset == name for pair in pairs)]
    rows = list(dict.fromkeys(title_of(pair.place.variant) for pair in pairs))
    score = f"{METRICS[pairs[0].place.metric]} in percent, mean ± standard deviation over seeds"
    note = f"{score}{'; the store holds simulated ECGs' if simulated else ''}."
    panels = [[panel(ratio, dataset) for dataset in datasets] for ratio in ratios]
    return plot_score_pairs(panels, rows, ("paper", "store"), note, stem)
