"""What other measures than accuracy say of each layer, and how the layers are mixed: as tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from probing.report.document import Table, Text
from probing.report.series import downstream_probes, whole
from probing.report.tables import NOTHING, ends, percent, student
from probing.results import Measured, measured, ordered_views, scores, select
from probing.statistics import CONFIDENCE

KBIT = 1024
"""Bits in a kbit, as in the published tables."""
MIX_LAYERS = "mix_weight_"
UNIT_NOTE = (
    "A kbit is 1,024 bits, and all blocks are counted in bits. The published kbit of Voita & Titov 2020 add bits (the "
    "first block) and nats (the others), so that ours are longer, and compressions lower, by about 1.4: they differ by "
    "design."
)


class Measure(NamedTuple):
    """A column of the table of measures: which rows it is of, and how a value is written."""

    heading: str
    probe: str
    metric: str
    split: str
    written: Callable[[float], str]


def kbit(bits: float) -> str:
    """Write bits in kbit."""
    return f"{bits / KBIT:,.1f}"


def number(digits: int) -> Callable[[float], str]:
    """Return a writer of numbers with so many decimals."""
    return lambda value: f"{value:.{digits}f}"


MEASURES = (
    Measure("accuracy (%)", "linear", "accuracy", "test", percent),
    Measure("F1 (%)", "linear", "f1", "test", percent),
    Measure("control accuracy (%)", "control", "accuracy", "test", percent),
    Measure("selectivity (points)", "control", "selectivity", "test", percent),
    Measure("control ceiling (%)", "control", "control_ceiling", "test", percent),
    Measure("codelength (kbit)", "mdl", "codelength_bits", "train", kbit),
    Measure("compression (×)", "mdl", "compression", "train", number(2)),
    Measure("data (kbit)", "mdl", "data_bits", "train", kbit),
    Measure("model (kbit)", "mdl", "model_bits", "train", kbit),
    Measure("V-information (bits)", "linear", "v_information_bits", "test", number(3)),
    Measure("conditional information (bits)", "conditional", "conditional_information_bits", "test", number(3)),
)
_OWN = {"control", "mdl", "conditional"}
_OWN_METRICS = {"v_information_bits"}


def written(rows: pd.DataFrame, write: Callable[[float], str], confidence: float = CONFIDENCE) -> str:
    """Write one cell: a value with its interval, or the mean of several seeds with range and, of five, t-interval."""
    cell = measured(rows)
    if cell is None:
        return NOTHING
    text = f"{write(cell.value)} {ends(cell, write)}".rstrip()
    if interval := student(rows, confidence):
        text += f" [{write(interval[0])}, {write(interval[1])}]"
    return text


def measures_table(rows: pd.DataFrame, task: str, corpus: str, confidence: float = CONFIDENCE) -> Table | None:
    """Return what every measure says of every view of every network; None where there is but accuracy."""
    rows = whole(select(rows, task=task, corpus=corpus, subset="all"))
    rows = rows[~rows["probe"].isin(downstream_probes(rows))]
    if not (_OWN & set(rows["probe"]) or _OWN_METRICS & set(rows["metric"])):
        return None
    columns = [measure for measure in MEASURES if not of_measure(rows, measure).empty]
    lines: list[tuple[Text, ...]] = []
    vectors = rows[rows["encoder"] != ""]
    for encoder in dict.fromkeys(vectors["encoder"]):
        here = vectors[(vectors["encoder"] == encoder) & (vectors["probe"] != "mix")]
        for view in ordered_views(here["view"]):
            cells = [
                written(of_measure(rows, one, encoder, view), one.written, confidence)
                if one.metric != "control_ceiling"
                else written(of_measure(rows, one), one.written)
                for one in columns
            ]
            lines.append((encoder, view, *cells))
    header = ("network", "view", *(measure.heading for measure in columns))
    return Table(header, tuple(lines), f"{task} on {corpus}: other measures by view", 2, name=f"{task}-measures")


def of_measure(
    rows: pd.DataFrame, measure: Measure, encoder: str | None = None, view: str | None = None
) -> pd.DataFrame:
    """Return the rows of one measure, of one view of one encoder if these are given."""
    found = select(rows, probe=measure.probe, metric=measure.metric, split=measure.split, subset="all")
    wanted = {name: text for name, text in (("encoder", encoder), ("view", view)) if text is not None}
    return select(found, **wanted)


def mix_tables(rows: pd.DataFrame, task: str, corpus: str, confidence: float = CONFIDENCE) -> Iterator[Table]:
    """Yield a table of each network's mix as a whole, then one of its layers: weights, and scores of layers 0 to k."""
    rows = whole(select(rows, task=task, corpus=corpus, probe="mix", subset="all"))
    tested, facts = select(rows, split="test"), select(rows, split="train", view="mix")
    summary: list[tuple[Text, ...]] = []
    by_layer: list[tuple[Text, ...]] = []
    for encoder in dict.fromkeys(rows["encoder"]):
        own = select(facts, encoder=encoder)
        own_scores = scores(select(tested, encoder=encoder))
        expected = select(tested, encoder=encoder, metric="expected_layer")
        cells = [written(select(own_scores, view="mix"), percent, confidence)]
        for metric, digits in (("mix_gamma", 2), ("centre_of_gravity", 2), ("kl_from_uniform_bits", 3)):
            cells.append(written(select(own, metric=metric), number(digits), confidence))
        summary.append((encoder, *cells, written(expected, number(2), confidence)))
        layers = mix_layers(own)
        for layer in layers:
            view = "mix" if layer == layers[-1] else f"mix-{layer}"
            by_layer.append(
                (
                    encoder,
                    str(layer),
                    written(select(own, metric=f"{MIX_LAYERS}{layer}"), number(3), confidence),
                    written(select(own_scores, view=view), percent, confidence),
                    _gain(own_scores, layer, layers),
                )
            )
    if not summary:
        return
    whole_mix = ("network", "score (%)", "gamma", "centre of gravity", "KL from uniform (bits)", "expected layer")
    yield Table(whole_mix, tuple(summary), f"{task} on {corpus}: the learned mix of all layers", name=f"{task}-mix")
    header = ("network", "layer", "weight", "score of layers 0 to it (%)", "gain (points)")
    yield Table(header, tuple(by_layer), f"{task} on {corpus}: the mix by layer", 2, name=f"{task}-mix-layers")


def mix_layers(facts: pd.DataFrame) -> list[int]:
    """Return the layers that the rows have weights of."""
    metrics = dict.fromkeys(facts["metric"][facts["metric"].str.startswith(MIX_LAYERS)])
    return sorted(int(metric.removeprefix(MIX_LAYERS)) for metric in metrics)


def _gain(own_scores: pd.DataFrame, layer: int, layers: Sequence[int]) -> str:
    def cell(index: int) -> Measured | None:
        return measured(select(own_scores, view="mix" if index == layers[-1] else f"mix-{index}"))

    now, before = cell(layer), cell(layer - 1)
    return f"{100 * (now.value - before.value):+.2f}" if layer and now and before else NOTHING
