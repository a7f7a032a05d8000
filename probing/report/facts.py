"""What the numbers of a report were made from: data, networks, software, and what to be wary of."""

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from probing.report.document import Block, Bullets, Span, Table, Text
from probing.report.inputs import Environment, Inputs
from probing.report.series import vector_probes, whole
from probing.report.tables import percent
from probing.results import select

_SHOWN_LABELS = 60
_SHOWN_LAYERS = 4


def data_blocks(environment: Environment) -> Iterator[Block]:
    """Yield the sizes of the splits, then what is to be known of their labels and of repeated sentences."""
    sizes: list[tuple[Text, ...]] = [
        (task, facts.corpus, name, f"{split.sentences:,}", f"{split.examples:,}", _hash(split.sha256))
        for task, facts in environment.data.items()
        for name, split in facts.splits.items()
    ]
    header = ("task", "corpus", "split", "sentences", "examples", "SHA-256")
    yield Table(header, tuple(sizes), "The data of each task", text_columns=3)
    notes: list[Text] = []
    for task, facts in environment.data.items():
        shown = facts.labels[:_SHOWN_LABELS]
        more = f", and {facts.n_labels - len(shown):,} more" if facts.n_labels > len(shown) else ""
        notes.append(f"{task}: {facts.n_labels:,} labels in train: {', '.join(shown)}{more}.")
        for split, labels in facts.labels_not_in_train.items():
            examples = sum(labels.values())
            few = list(labels.items())[:_SHOWN_LABELS]
            listed = ", ".join(f"{label} ({count:,})" for label, count in few)
            listed += f", and {len(labels) - len(few):,} more (see environment.json)" if len(labels) > len(few) else ""
            reach = 1 - examples / max(1, facts.splits[split].examples)
            notes.append(
                f"{task}, {split}: "
                + (
                    f"{examples:,} examples have a label that train lacks; they are counted, and a probe that can only "
                    f"answer what it has seen reaches at most {percent(reach)} %: {listed}."
                    if labels
                    else "no example has a label that train lacks."
                )
            )
        for split, count in facts.sentences_also_in_train.items():
            notes.append(
                f"{task}, {split}: {count:,} of {facts.splits[split].sentences:,} sentences also stand in train."
            )
    yield Bullets(tuple(notes))


def networks_table(environment: Environment) -> Table:
    """Return what each network is, what it can see of a sentence where its description tells, and its layers."""
    lines: list[tuple[Text, ...]] = [
        (label, one.description, _listed(one.layers), f"{one.n_layers}", f"{one.dim:,}", _hash(one.fingerprint))
        for label, one in environment.encoders.items()
    ]
    header = ("network", "what it is", "its layers, from 0", "layers", "width", "fingerprint")
    return Table(header, tuple(lines), "The networks", text_columns=3)


def _listed(layers: Sequence[str]) -> str:
    """Name the layers; of many, the first two and the last."""
    shown = layers if len(layers) <= _SHOWN_LAYERS else [*layers[:2], "…", layers[-1]]
    return ", ".join(shown)


def _hash(digest: str) -> Text:
    return (Span(digest[:12], "code"),)


def warnings(inputs: Inputs) -> Iterator[str]:
    """Name the fits on all of train whose penalty may not be the best one, or which stopped before they were done."""
    found: dict[str, list[str]] = {}
    rows = whole(inputs.rows)
    for probe in vector_probes(rows):
        settings = inputs.settings.of_probe(probe)
        chosen = select(rows, probe=probe, metric="l2_penalty")
        grid = sorted(settings.get("penalties", []))
        if not grid and not chosen.empty:
            yield f"{probe}: the penalties tried are not told, so none was checked for being at their end."
        for network, view, value in _fits(chosen):
            for end, bound in (("smallest", grid[0]), ("largest", grid[-1])) if len(grid) > 1 else ():
                if math.isclose(value, bound, rel_tol=1e-5):  # results.csv keeps six digits
                    where = f"the penalty chosen, {value:g}, is the {end} of those tried; a better one may lie beyond"
                    found.setdefault(f"{network}: {where}", []).append(view)
        limit = settings.get("max_iterations")
        for network, view, value in _fits(select(rows, probe=probe, metric="iterations")):
            if limit is not None and value >= limit:
                where = f"the fit used all of its {limit} iterations and may have stopped short of the optimum"
                found.setdefault(f"{network}: {where}", []).append(view)
    for warning, views in found.items():
        yield f"{warning} ({'views' if len(views) > 1 else 'view'} {', '.join(views)})."


def _fits(rows: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    columns = (rows[name] for name in ("task", "corpus", "encoder", "encoder_seed", "view", "value"))
    for task, corpus, encoder, seed, view, value in zip(*columns, strict=True):
        yield f"{task} on {corpus}, {encoder}{f', seed {seed}' if seed else ''}", view, float(value)


def versions(environment: Environment) -> str:
    """Name the software that the numbers were made with."""
    software = {"layer-probing": environment.package, "Python": environment.python} | environment.libraries
    return ", ".join(f"{name} {version}" for name, version in software.items()) + f"; {environment.platform}."
