"""The report of one experiment: a Markdown page of figures, tables and how to read them, from its folder alone."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from bilm.files import write_text
from probing.claims import Judged
from probing.report.figures import accuracy_by_layer, accuracy_by_subset, accuracy_by_task, save
from probing.report.inputs import Environment, Inputs, read_inputs
from probing.report.series import BASELINES, SUBSETS, Series, accuracy_series, task_name
from probing.report.tables import accuracy_table, ends, fallback_table, markdown_table, percent, subset_table
from probing.results import UNTRAINED, Measured, measured, scores, select

_LIMITS = """\
- That a probe can read something from a layer does not show that the network uses it: probing is correlational.
- "Reads best" is about this probe. A layer may hold as much in a form that this probe cannot read, and another probe
  may order the layers differently.
- What a probe reads in an untrained network comes from the words and the architecture, not from training; only what a
  trained network has beyond that was learned.
- An interval is about one value and the choice of test sentences. It is not about other corpora or training sets. Two
  layers are compared by a claim's paired difference, not by whether their intervals overlap."""
_SHOWN_LABELS = 60


def write_report(folder: Path) -> None:
    """Write `report.md` and `figures/` from the results in `folder`.

    Parameters
    ----------
    folder : Path
        Has results.csv, config.yaml and environment.json. The same files give the same bytes: no dates are written.

    Raises
    ------
    UserError
        If one of the three is missing or cannot be used, or the report cannot be written.
    """
    inputs = read_inputs(folder)
    title = next((name for name in inputs.rows["experiment"] if name), folder.resolve().name)
    sections = [f"# {title}", *([inputs.settings.question] if inputs.settings.question else [])]
    sections += ["## Claims", *_claims_section(inputs)] if inputs.claims else []
    sections += _side_by_side(inputs, folder)
    for task, corpus in _tasks(inputs.rows):
        sections += [f"## {task} on {corpus}", *_task_section(inputs, task, corpus, folder)]
    sections += ["## Data", *_data_section(inputs.environment)]
    sections += ["## Networks", _networks(inputs.environment)] if inputs.environment.encoders else []
    sections += ["## Warnings", "\n".join(f"- {warning}" for warning in _warnings(inputs)) or "None."]
    sections += ["## How each number was made", "\n".join(f"- {line}" for line in _methods(inputs))]
    sections += ["## What probing does not show", _LIMITS]
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", inputs.config))])
    sections += ["## Configuration", "`probing run config.yaml` repeats this experiment; `config.yaml` is this:"]
    sections += [f"{fence}yaml\n{inputs.config.rstrip()}\n{fence}"]
    sections += ["## Versions", _versions(inputs.environment)]
    write_text(folder / "report.md", "\n\n".join(sections) + "\n")


def _tasks(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(rows["task"], rows["corpus"], strict=True)))


def _probes(rows: pd.DataFrame) -> list[str]:
    """Return the probes that read vectors."""
    return list(dict.fromkeys(rows["probe"][rows["encoder"] != ""]))


def _claims_section(inputs: Inputs) -> Iterator[str]:
    """Say each claim's verdict, and put the numbers behind it in a table."""
    yield "\n".join(f"- {_verdict(judged)}" for judged in inputs.claims)
    confidence = 100 * inputs.settings.bootstrap.confidence
    lines = []
    for judged in inputs.claims:
        change = f"{100 * judged.difference:+.2f} [{100 * judged.ci_low:+.2f}, {100 * judged.ci_high:+.2f}]"
        p_values = (f"{judged.p:.4f}", f"{judged.mcnemar_p:.2g}")
        views = (f"{judged.better}: {percent(judged.better_value)}", f"{judged.worse}: {percent(judged.worse_value)}")
        lines.append([judged.task, judged.probe, judged.encoder, *views, change, *p_values, f"{judged.n:,}"])
    header = ["task", "probe", "network", "claimed better", "claimed worse", f"difference [{confidence:g} %]"]
    yield markdown_table([*header, "p", "McNemar p", "n"], lines, text_columns=3)
    yield (
        "Test scores in %. A claim is supported where the whole interval of the paired difference lies above 0, "
        "refuted where it lies below, else undecided. Sentences are resampled, for both layers at once; McNemar's "
        "test, beside it, takes examples as independent. No correction for the number of claims is made."
    )


def _verdict(judged: Judged) -> str:
    return f"**{judged.verdict}**: {judged.claim} ({judged.encoder}; {judged.task}, {judged.probe} probe)"


def _side_by_side(inputs: Inputs, folder: Path) -> Iterator[str]:
    """Draw the layers of all tasks beside one another, each read by the probe that it is known for."""
    panels = []
    for task, corpus in _tasks(inputs.rows):
        rows = select(inputs.rows, task=task, corpus=corpus)
        probes = [p for p in _probes(rows) if accuracy_series(scores(select(rows, probe=p, split="test")), "all")]
        # Peters et al. 2018 read senses by the nearest mean and parts of speech by a linear probe.
        known_for = "nearest" if not select(rows, probe="first-sense").empty else "linear"
        if probes:
            panels.append((task, corpus, known_for if known_for in probes else probes[0]))
    if len(panels) > 1:
        layers = {label: facts.layers for label, facts in inputs.environment.encoders.items()}
        confidence = inputs.settings.bootstrap.confidence
        figure = accuracy_by_task(inputs.rows, panels, confidence=confidence, layer_names=layers)
        save(figure, folder / "figures", "layers")
        yield _image("layers", "Test scores of each task by layer, side by side; the tables below have the numbers.")


def _task_section(inputs: Inputs, task: str, corpus: str, folder: Path) -> Iterator[str]:
    """Draw the figures of one task; yield what was measured, the figures and the table, probe by probe."""
    rows = select(inputs.rows, task=task, corpus=corpus)
    confidence = inputs.settings.bootstrap.confidence
    layers = {label: facts.layers for label, facts in inputs.environment.encoders.items()}
    for probe in _probes(rows):
        tested = scores(select(rows, probe=probe, split="test"))
        if series := accuracy_series(tested, "all"):
            yield _what_was_read(task, probe, series, _baselines(rows), layers)
            stem = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{task}-{Path(corpus).name}-{probe}")
            figure = accuracy_by_layer(rows, task, corpus, probe=probe, confidence=confidence, layer_names=layers)
            save(figure, folder / "figures", f"{stem}-layers")
            yield _image(
                f"{stem}-layers", f"Accuracy of the {probe} probe on test, by layer; the table has the numbers."
            )
            if tested[tested["n"] > 0]["subset"].isin(list(SUBSETS)[1:]).any():
                figure = accuracy_by_subset(rows, task, corpus, probe=probe, confidence=confidence)
                save(figure, folder / "figures", f"{stem}-subsets")
                yield _image(f"{stem}-subsets", "The same for all examples and for subsets of them.")
        yield accuracy_table(rows, task, corpus, probe=probe)
        for table in (subset_table, fallback_table):
            if text := table(rows, task, corpus, probe=probe):
                yield text
    if not _probes(rows):
        yield accuracy_table(rows, task, corpus)
    yield (
        f"Values in %, with [{100 * confidence:g} % interval] or, of several seeds, as their mean with "
        "(lowest–highest). Bold is the highest number of a trained network in a column; it is no test of a difference."
    )


def _baselines(rows: pd.DataFrame) -> dict[str, Measured]:
    tested = scores(select(rows, split="test", subset="all"))
    cells = {name: measured(select(tested, probe=probe)) for probe, name in BASELINES.items()}
    return {name: cell for name, cell in cells.items() if cell}


def _image(stem: str, alternative: str) -> str:
    """Show the PNG, which looks the same everywhere, and link it to the SVG."""
    return f"[![{alternative}](figures/{stem}.png)](figures/{stem}.svg)"


def _what_was_read(
    task: str,
    probe: str,
    series: Sequence[Series],
    baselines: Mapping[str, Measured],
    layers: Mapping[str, Sequence[str]],
) -> str:
    """Say in plain words which single layer has the highest test score, beside the lower bounds."""
    sentences = [f"A {probe} probe read {task_name(task)} from each view of each frozen network."]
    untrained = {one.encoder: one for one in series if not one.trained}
    trained = [one for one in series if one.trained]
    for one in trained or untrained.values():
        best = _best_layers(one)
        if not best:
            continue
        names = [_layer(view, layers.get(one.encoder, ())) for view in best]
        verb = "has" if len(best) == 1 else "have equally"
        cell = one.cells[best[0]]
        text = f"Of the single layers of {one.encoder}, {' and '.join(names)} {verb} the highest test score: "
        text += _said(cell)
        beside = []
        if "0" in one.cells and "0" not in best:
            beside.append(f"layer 0 has {_said(one.cells['0'])}")
        lower = untrained.get(one.encoder + UNTRAINED)
        if lower and (views := _best_layers(lower)):
            beside.append(f"the same network untrained has at most {_said(lower.cells[views[0]])}, at layer {views[0]}")
        sentences.append(f"{text}; {', and '.join(beside)}." if beside else f"{text}.")
    if not trained:
        sentences.append("There is no trained network in this experiment.")
    if baselines:
        sentences.append(
            "Without any vectors, "
            + " and ".join(f"{name} has {_said(cell)}" for name, cell in reversed(list(baselines.items())))
            + "."
        )
    sentences.append("Whether two layers differ by more than chance is what a claim's paired difference tells.")
    return " ".join(sentences)


def _best_layers(one: Series) -> list[str]:
    """Return the single layer with the highest value, or all that share it."""
    values = {view: cell.value for view, cell in one.cells.items() if view.isdecimal()}
    return [view for view, value in values.items() if value == max(values.values())]


def _layer(view: str, names: Sequence[str]) -> str:
    return f"layer {view} ({names[int(view)]})" if int(view) < len(names) else f"layer {view}"


def _said(cell: Measured) -> str:
    seeds = f" as the mean of {cell.seeds} seeds" if cell.seeds > 1 else ""
    return f"{percent(cell.value)} %{seeds} {ends(cell)}".rstrip()


def _data_section(environment: Environment) -> Iterator[str]:
    sizes = [
        [task, facts.corpus, name, f"{split.sentences:,}", f"{split.examples:,}", f"`{split.sha256[:12]}`"]
        for task, facts in environment.data.items()
        for name, split in facts.splits.items()
    ]
    yield markdown_table(["task", "corpus", "split", "sentences", "examples", "SHA-256"], sizes, text_columns=3)
    notes = []
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
    yield "\n".join(f"- {note}" for note in notes)


def _networks(environment: Environment) -> str:
    lines = [
        [label, facts.description, ", ".join(facts.layers), f"{facts.dim:,}", f"`{facts.fingerprint[:12]}`"]
        for label, facts in environment.encoders.items()
    ]
    return markdown_table(["network", "what it is", "layers, from 0", "width", "fingerprint"], lines, text_columns=3)


def _warnings(inputs: Inputs) -> Iterator[str]:
    """Name the fits whose penalty may not be the best one, or which stopped before they were done."""
    found: dict[str, list[str]] = {}
    for probe in _probes(inputs.rows):
        settings = inputs.settings.of_probe(probe)
        chosen = select(inputs.rows, probe=probe, metric="l2_penalty")
        grid = sorted(settings.get("penalties", []) or inputs.environment.penalties)
        if not grid and not chosen.empty:
            yield f"{probe}: the penalties tried are not told, so none was checked for being at their end."
        for network, view, value in _fits(chosen):
            for end, bound in (("smallest", grid[0]), ("largest", grid[-1])) if len(grid) > 1 else ():
                if math.isclose(value, bound, rel_tol=1e-5):  # results.csv keeps six digits
                    where = f"the penalty chosen, {value:g}, is the {end} of those tried; a better one may lie beyond"
                    found.setdefault(f"{network}: {where}", []).append(view)
        limit = settings.get("max_iterations")
        for network, view, value in _fits(select(inputs.rows, probe=probe, metric="iterations")):
            if limit is not None and value >= limit:
                where = f"the fit used all of its {limit} iterations and may have stopped short of the optimum"
                found.setdefault(f"{network}: {where}", []).append(view)
    for warning, views in found.items():
        yield f"{warning} ({'views' if len(views) > 1 else 'view'} {', '.join(views)})."


def _fits(rows: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    columns = (rows[name] for name in ("task", "corpus", "encoder", "encoder_seed", "view", "value"))
    for task, corpus, encoder, seed, view, value in zip(*columns, strict=True):
        yield f"{task} on {corpus}, {encoder}{f', seed {seed}' if seed else ''}", view, float(value)


def _methods(inputs: Inputs) -> Iterator[str]:
    bootstrap = inputs.settings.bootstrap
    probes, metrics = set(inputs.rows["probe"]), set(inputs.rows["metric"])
    yield (
        "**Accuracy**: the share of examples for which the label predicted is the gold one (any of them, where there "
        "are several). An example whose label train lacks is counted, and counts as wrong."
    )
    if "f1" in metrics:
        yield (
            "**F1** of word senses: precision and recall as the official scorer of Raganato et al. 2017 counts them. "
            "Each instance gets one answer, the first sense where the probe has none, so F1 is the accuracy. *Without "
            "fallback* such instances are left unanswered. *dev + test* is what is known as ALL, where dev is one of "
            "the benchmark's sets: something was chosen on a part of it."
        )
    if "f1_macro" in metrics:
        yield "**Macro** (f1_macro in results.csv): the mean over groups, each counting the same."
    yield (
        "**Subsets**: *ambiguous* are word forms with more than one label in train, *unseen* those that train lacks; "
        "forms are case-sensitive. On all other examples the form alone decides, so that context can show its worth in "
        "these two only. Of word senses, *first sense right* are those where the inventory's first sense is a gold one."
    )
    meanings = {
        "majority": "*majority class* always answers the most frequent label of train",
        "type-majority": "*type majority* answers the form's most frequent label in train, for a form that train lacks "
        "the majority class",
        "first-sense": "*first sense* answers the first sense that the inventory lists for the lemma",
        "most-frequent-sense": "*most frequent sense* answers the lemma's most frequent sense in train, else the first",
    }
    told = "; ".join(meaning for name, meaning in meanings.items() if name in probes)
    if told:
        yield f"**Baselines**, which see no vectors: {told}."
    yield (
        "**Views**: a number is one layer alone, *mean* the plain average of all layers, *concat* all layers side by "
        "side. The networks are frozen. An untrained network has the same shape and random weights from a seed."
    )
    if "nearest" in probes:
        yield (
            "**Nearest probe** (Peters et al. 2018, section 5.3): each sense's vector is the mean of its training "
            "examples; the answer is the candidate sense with the highest cosine, of the candidates that train has; "
            "the lemma's first sense where train has none of them. The paper does not state its distance: cosine is "
            "that of context2vec, whose method it follows."
        )
    if "linear" in probes:
        yield (
            "**Linear probe**: multinomial logistic regression with an L2 penalty, fitted on train after each feature "
            "was standardised with train's mean and standard deviation. The penalty is the one with the best accuracy "
            "on dev, chosen for each network and view by itself; dev accuracies are therefore a little too high. "
            "Nothing was chosen on test."
            + (" Of word senses, the softmax is over the lemma's trained senses only." if "f1" in metrics else "")
        )
    yield (
        f"**Interval**: {100 * bootstrap.confidence:g} % percentile bootstrap over sentences: as many sentences as "
        f"have an example are drawn with replacement, {bootstrap.samples:,} times, and the accuracy over all their "
        "examples is taken each time. Tokens of one sentence are not independent, so sentences are what is drawn."
    )


def _versions(environment: Environment) -> str:
    software = {"layer-probing": environment.package, "Python": environment.python} | environment.libraries
    return ", ".join(f"{name} {version}" for name, version in software.items()) + f"; {environment.platform}."
