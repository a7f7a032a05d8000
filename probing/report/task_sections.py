"""What a report shows of tasks: pictures of all of them, then a section each of figures, tables and what they say."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from probing.report.document import Block, Paragraph, Picture, Section
from probing.report.downstream import downstream_blocks, placement
from probing.report.figures import accuracy_by_layer, accuracy_by_subset, accuracy_by_task
from probing.report.inputs import Inputs
from probing.report.measure_figures import measures_by_layer, mix_weights
from probing.report.measures import UNIT_NOTE, measures_table, mix_tables
from probing.report.reading import baselines, what_was_read
from probing.report.series import (
    SUBSETS,
    accuracy_series,
    downstream_probes,
    known_for,
    probed_by,
    subset_panels,
    told,
    vector_probes,
    whole,
)
from probing.report.shares import sample_efficiency
from probing.report.tables import accuracy_table, fallback_table, subset_table
from probing.results import scores, select

_SHOWN_ELSEWHERE = ("control", "mdl", "conditional", "mix")


def tasks_of(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Return (task, corpus) of the rows, in order."""
    return list(dict.fromkeys(zip(rows["task"], rows["corpus"], strict=True)))


def side_by_side(inputs: Inputs) -> Iterator[Block]:
    """Draw the layers of all tasks beside one another, each read by the probe that it is known for."""
    panels = []
    for task, corpus in tasks_of(inputs.rows):
        rows = whole(select(inputs.rows, task=task, corpus=corpus))
        tested = scores(select(rows, split="test"))
        layered = [probe for probe in _own_probes(rows) if probe not in downstream_probes(rows)]
        probes = [probe for probe in layered if accuracy_series(select(tested, probe=probe), "all")]
        if probes:
            panels.append((task, corpus, known_for(rows, probes)))
    if len(panels) > 1:
        confidence = inputs.settings.bootstrap.confidence
        figure = accuracy_by_task(inputs.rows, panels, confidence=confidence, layer_names=inputs.layer_names)
        gist = " ".join(told(subset_panels(inputs.rows, *panel, "test", ["all"])) for panel in panels)
        yield Picture("layers", f"Test scores of each task by layer, side by side. {gist}", figure)


def more_pictures(inputs: Inputs) -> Iterator[Block]:
    """Draw other measures, mixes' weights, downstream models and scores over shares of train, where there are any."""
    for stem, draw, what in (
        ("measures", partial(measures_by_layer, layer_names=inputs.layer_names), "Several measures by layer"),
        ("mix-weights", mix_weights, "Weights of the layers in a learned mix"),
        (
            "placement",
            partial(placement, confidence=inputs.settings.bootstrap.confidence),
            "Scores of a downstream model",
        ),
        ("sample-efficiency", sample_efficiency, "Test scores over the share of the training sentences"),
    ):
        if drawing := draw(inputs.rows):
            yield Picture(stem, f"{what}. {drawing.told}", drawing.figure)


def task_sections(inputs: Inputs, task: str, corpus: str) -> Iterator[Section]:
    """Yield the section of one task and, below it, those of its other measures and its mix."""
    yield Section(f"{task} on {corpus}", tuple(_accuracy_blocks(inputs, task, corpus)))
    confidence = inputs.settings.bootstrap.confidence
    if table := measures_table(inputs.rows, task, corpus, confidence):
        note = Paragraph(f"{_how_values_are_written(confidence)} {UNIT_NOTE}")
        yield Section(f"Other measures of {task}", (table, note), 3)
    if tables := tuple(mix_tables(inputs.rows, task, corpus, confidence)):
        note = Paragraph(_how_values_are_written(confidence))
        yield Section(f"Mix of layers for {task}", (*tables, note), 3)


def _own_probes(rows: pd.DataFrame) -> list[str]:
    return [probe for probe in vector_probes(rows) if probe not in _SHOWN_ELSEWHERE]


def _accuracy_blocks(inputs: Inputs, task: str, corpus: str) -> Iterator[Block]:
    """Yield what was measured, the figures and the tables, probe by probe."""
    rows = whole(select(inputs.rows, task=task, corpus=corpus))
    confidence = inputs.settings.bootstrap.confidence
    layers = inputs.layer_names
    downstream = downstream_probes(select(inputs.rows, task=task, corpus=corpus))
    probes = list(dict.fromkeys([*_own_probes(rows), *downstream]))  # these may all be fitted on parts of train
    for probe in probes:
        tested = scores(select(rows, probe=probe, split="test"))
        stem = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{task}-{Path(corpus).name}-{probe}")
        if probe in downstream:
            yield from downstream_blocks(inputs, task, corpus, probe, stem)
            continue
        if accuracy_series(tested, "all"):
            series = accuracy_series(scores(select(probed_by(rows, probe), split="test")), "all")
            yield Paragraph(what_was_read(task, probe, series, baselines(rows), layers))
            figure = accuracy_by_layer(rows, task, corpus, probe=probe, confidence=confidence, layer_names=layers)
            gist = told(subset_panels(rows, task, corpus, probe, "test", ["all"]))
            yield Picture(f"{stem}-layers", f"The {probe} probe on test, by layer. {gist}", figure)
            if tested[tested["n"] > 0]["subset"].isin(list(SUBSETS)[1:]).any():
                figure = accuracy_by_subset(rows, task, corpus, probe=probe, confidence=confidence, layer_names=layers)
                gist = told(subset_panels(rows, task, corpus, probe, "test", list(SUBSETS)))
                yield Picture(f"{stem}-subsets", f"The same for all examples and for subsets of them. {gist}", figure)
        yield accuracy_table(rows, task, corpus, probe=probe, confidence=confidence, name=stem)
        for table in (subset_table, fallback_table):
            if made := table(rows, task, corpus, probe=probe):
                yield made
    if not probes:
        yield accuracy_table(rows, task, corpus, confidence=confidence)
    yield Paragraph(
        f"Values in %. {_how_values_are_written(confidence)} Bold is the highest number of a trained network in a "
        "column; it is no test of a difference."
    )


def _how_values_are_written(confidence: float) -> str:
    interval = f"[{100 * confidence:g} % interval]"
    return (
        f"Values stand with {interval} or, of several seeds, as their mean with (lowest–highest); of five seeds or "
        f"more, {interval} after it is Student's, of the mean over seeds."
    )
