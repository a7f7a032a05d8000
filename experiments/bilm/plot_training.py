"""Draw a run's training curve from its metrics.csv.

python experiments/bilm/plot_training.py runs/small-en/metrics.csv results/bilm/small-en/training-curve.svg
"""

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

mpl.use("Agg")
mpl.rcParams["svg.hashsalt"] = "training-curve"  # the same picture is the same file

from matplotlib import pyplot as plt  # noqa: E402

COLORS = {"forward": "#0072b2", "backward": "#d55e00"}
"""Told apart by colour-blind readers too."""


def main(metrics: Path, figure: Path) -> None:
    """Draw sampled losses and exact validation perplexities over the words read."""
    rows = pd.read_csv(metrics)
    words = rows["words"] / 1e6
    canvas, (losses, perplexities) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for direction, color in COLORS.items():
        losses.plot(words, rows[f"{direction}_sampled_loss"], color=color, label=direction, linewidth=1)
        valid = rows[f"valid_{direction}_perplexity"]
        known = valid.notna()
        perplexities.plot(words[known], valid[known], color=color, label=direction, marker="o", linewidth=1)
        told = [(x, y) for x, y in zip(words[known], valid[known], strict=True)]
        for x, y in told[:: -max(1, len(told) // 6)]:  # from the last on, a few: more would cover one another
            offset = (0, 8 if direction == "forward" else -14)
            perplexities.annotate(
                f"{y:.0f}", (x, y), xytext=offset, textcoords="offset points", color=color, ha="center", fontsize=8
            )
    rate = losses.twinx()
    rate.plot(words, rows["rate"], color="#999999", linestyle=":", linewidth=1)
    rate.set_ylabel("learning rate (dotted)")
    rate.set_ylim(bottom=0)
    losses.set_ylabel("sampled softmax loss (no likelihood)")
    losses.set_ylim(losses.get_ylim()[0], min(7.0, losses.get_ylim()[1]))
    perplexities.set_yscale("log")
    perplexities.set_ylabel("exact validation perplexity")
    for axes in (losses, perplexities):
        axes.set_xlabel("million words read")
        axes.legend(frameon=False)
    figure.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(figure, metadata={"Date": None} if figure.suffix == ".svg" else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
