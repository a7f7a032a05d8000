"""What is measured of several cells together: selectivity, information in bits, expected layer, control ceiling.

Each is a mean over examples of a difference between cells, so that both sides of it are always resampled together.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probing.config import ExperimentConfig
from probing.journal import EVALUATED
from probing.predictions import WHOLE, Cell, Predictions
from probing.probes.control import control_ceiling
from probing.probes.mix import expected_layer
from probing.statistics import mean_intervals
from probing.tasks import Split

Hits = Mapping[tuple[Cell, str], NDArray[np.bool_]]
"""Whether each answer is right, by cell and split."""
_Place = tuple[str, int | None, str, str]  # encoder, its seed, view, percentage of train
_Values = NDArray[np.float64]


def derived_rows(
    config: ExperimentConfig, splits: Mapping[str, Split], finished: Mapping[Cell, Predictions], hits: Hits
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one task; `finished` and `hits` are of its cells alone."""
    for name in EVALUATED:
        split = splits[name]
        per_example = list(_differences(name, finished, hits))
        if per_example:
            settings = config.bootstrap
            stacked = np.stack([values for _, values in per_example])
            intervals = mean_intervals(
                stacked, split.sentence_index, settings.samples, settings.confidence, settings.seed
            )
            for (named, values), (low, high) in zip(per_example, intervals, strict=True):
                about = {"split": name, "subset": "all", "n": len(values)}
                yield named | about | {"value": values.mean(), "ci_low": low, "ci_high": high}
        if any(cell.probe.probe == "control" for cell in finished):
            named = _named(("", None, "", WHOLE), "control", "control_ceiling")
            value = control_ceiling(splits["train"], split)
            yield named | {"split": name, "subset": "all", "n": len(split.examples), "value": value}
        yield from _expected_layers(name, finished, hits)


def selectivity(linear: Sequence[NDArray[np.bool_]], control: Sequence[NDArray[np.bool_]]) -> _Values:
    """Return each example's part of the selectivity: right for the task less right for the control, means over draws.

    References
    ----------
    Hewitt & Liang 2019.
    """
    difference: _Values = np.mean(linear, axis=0) - np.mean(control, axis=0)
    return difference


def _differences(
    name: str, finished: Mapping[Cell, Predictions], hits: Hits
) -> Iterator[tuple[dict[str, Any], _Values]]:
    """Yield (columns that name it, one value an example) of what is a difference of two cells."""
    cells: dict[tuple[_Place, str], list[Cell]] = {}
    for cell in finished:
        place = (cell.encoder, cell.encoder_seed, cell.view, cell.train_percent)
        cells.setdefault((place, cell.probe.probe), []).append(cell)

    def right(place: _Place, probe: str) -> list[NDArray[np.bool_]]:
        return [hits[cell, name] for cell in cells.get((place, probe), [])]

    def bits(place: _Place, probe: str) -> _Values | None:
        found = [finished[cell].answers.get(name) for cell in cells.get((place, probe), [])]
        known = [np.asarray(one.bits, dtype=np.float64) for one in found if one and one.bits is not None]
        return np.mean(known, axis=0) if known else None

    for place, probe in cells:
        encoder, encoder_seed, view, percent = place
        if probe == "control" and right(place, "linear"):
            values = selectivity(right(place, "linear"), right(place, "control"))
            yield _named(place, "control", "selectivity"), values
        # What one knows without any vector, less what remains unknown with them: V-information (Xu et al. 2020).
        before = bits(("", None, "", percent), "majority")
        after = bits(place, probe)
        if probe == "linear" and before is not None and after is not None:
            yield _named(place, probe, "v_information_bits"), before - after
        # The same, but what layer 0 tells is known already (Hewitt et al. 2021).
        before = bits((encoder, encoder_seed, "0", percent), "conditional")
        if probe == "conditional" and view != "0" and before is not None and after is not None:
            yield _named(place, probe, "conditional_information_bits"), before - after


def _expected_layers(name: str, finished: Mapping[Cell, Predictions], hits: Hits) -> Iterator[dict[str, Any]]:
    """Yield the expected layer of each series of mixes 0..l."""
    series: dict[tuple[Any, ...], dict[str, float]] = {}
    for cell in finished:
        if cell.probe.probe == "mix":
            key = (cell.encoder, cell.encoder_seed, cell.seed, cell.train_percent)
            series.setdefault(key, {})[cell.view] = float(hits[cell, name].mean())
    for (encoder, encoder_seed, seed, percent), by_view in series.items():
        if len(by_view) > 1:
            value, _ = expected_layer([by_view[f"mix-{layer}"] for layer in range(len(by_view) - 1)] + [by_view["mix"]])
            n = next(len(hits[cell, name]) for cell in finished if cell.probe.probe == "mix")
            named = _named((encoder, encoder_seed, "mix", percent), "mix", "expected_layer", seed)
            yield named | {"split": name, "subset": "all", "n": n, "value": value}


def _named(place: _Place, probe: str, metric: str, seed: int | None = None) -> dict[str, Any]:
    encoder, encoder_seed, view, percent = place
    return {
        "encoder": encoder,
        "encoder_seed": "" if encoder_seed is None else str(encoder_seed),
        "view": view,
        "probe": probe,
        "seed": "" if seed is None else str(seed),
        "train_percent": percent,
        "metric": metric,
    }
