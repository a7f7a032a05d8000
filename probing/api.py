"""An experiment from Python: `probing.run` does what `probing run` does and returns the rows.

`import probing` does not load this module, nor PyTorch with it, before one of its names is asked for.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bilm.errors import UserError
from bilm.settings import check_settings, nearest
from probing.claims import SPLIT, Judged, read_claims
from probing.config import ExperimentConfig, ExperimentError, load_experiment
from probing.experiment import run_experiment
from probing.predictions import WHOLE
from probing.report.figures import accuracy_by_layer, accuracy_by_task
from probing.report.inputs import read_inputs
from probing.report.series import known_for
from probing.results import scores, select


@dataclass(frozen=True)
class Result:
    """What a run measured.

    Attributes
    ----------
    folder : Path
        Where results.csv, claims.csv, report.html, figures/ and the rest are.
    rows : DataFrame with the columns `probing.results.COLUMNS`
        One measured number a row.
    claims : DataFrame with the fields of `probing.claims.Judged` as columns
        One claim's verdict on one network a row; no rows where the experiment claims nothing.
    """

    folder: Path
    rows: pd.DataFrame
    claims: pd.DataFrame

    def plot(self, task: str | None = None, *, probe: str | None = None) -> Figure:
        """Draw the test score of every layer.

        Parameters
        ----------
        task : str, optional
            One task, as the rows call it. By default all, side by side.
        probe : str, optional
            By default the nearest mean for word senses and the linear probe for all else, where they were run: what
            Peters et al. 2018 read layers with.

        Raises
        ------
        UserError
            If the experiment has no such task, or no probe that read its layers.
        """
        inputs = read_inputs(self.folder)
        tested = select(self.rows, split=SPLIT, train_percent=WHOLE)
        corpora = dict(zip(tested["task"], tested["corpus"], strict=True))
        if task is not None and task not in corpora:
            raise UserError(f"this experiment has no task {task!r}: {nearest(task, corpora)}")
        panels = [
            (name, corpus, _probe(select(tested, task=name), name, probe))
            for name, corpus in corpora.items()
            if task in (None, name)
        ]
        confidence, names = inputs.settings.bootstrap.confidence, inputs.layer_names
        if len(panels) > 1:
            return accuracy_by_task(self.rows, panels, split=SPLIT, confidence=confidence, layer_names=names)
        ((name, corpus, own),) = panels
        return accuracy_by_layer(
            self.rows, name, corpus, probe=own, split=SPLIT, confidence=confidence, layer_names=names
        )


def run(
    config: str | Path | Mapping[str, Any] | ExperimentConfig,
    out: str | Path = "results",
    overrides: Sequence[str] = (),
    fresh: bool = False,
) -> Result:
    """Run an experiment: encode, probe, write rows, figures and a report. What is done already is not done again.

    Parameters
    ----------
    config : path, mapping or ExperimentConfig
        A YAML file, or its keys.
    out : path
        Results go to `out/<name>/`.
    overrides : sequence of str
        `key.path=value`, the value being YAML, such as "tasks.0.column=xpos".
    fresh : bool
        Fit every probe anew.

    Raises
    ------
    UserError
        If the config is not allowed, or data or a model is missing.

    Examples
    --------
    `probing.run("experiments/quickstart.yaml")` runs a file. An experiment can also be written down as it is run:

    >>> import probing
    >>> question = {
    ...     "name": "words-alone",
    ...     "tasks": [{"task": "pos", "corpus": "homographs"}],
    ...     "probes": ["majority", "type-majority"],
    ...     "bootstrap": {"samples": 100},
    ... }
    >>> result = probing.run(question, out=folder)
    >>> rows = result.rows[(result.rows["split"] == "test") & (result.rows["subset"] == "all")]
    >>> rows[rows["metric"] == "accuracy"][["probe", "value"]].round(2).values.tolist()
    [['majority', 0.24], ['type-majority', 0.9]]
    >>> result.claims.empty
    True
    """
    if not isinstance(out, str | os.PathLike):
        raise ExperimentError(f"out: expected a path, not {out!r}")
    if not isinstance(fresh, bool):  # "no" would be true, and results lost
        raise ExperimentError(f"fresh: expected True or False, not {fresh!r}")
    if not isinstance(overrides, list | tuple) or not all(isinstance(one, str) for one in overrides):
        raise ExperimentError(f"overrides: expected a list such as ['tasks.0.column=xpos'], not {overrides!r}")
    folder = run_experiment(_config(config, overrides), Path(out), fresh=fresh)
    claims = pd.DataFrame(read_claims(folder.folder / "claims.csv"), columns=list(Judged._fields))
    return Result(folder.folder, folder.rows, claims)


def _config(config: str | Path | Mapping[str, Any] | ExperimentConfig, overrides: Sequence[str]) -> ExperimentConfig:
    if isinstance(config, str | Path):
        return load_experiment(Path(config), overrides)
    if isinstance(config, ExperimentConfig):
        if not overrides:
            return config
        config = config.model_dump(mode="json")
    if not isinstance(config, Mapping) or not all(isinstance(key, str) for key in config):
        found = "keys that are no text" if isinstance(config, Mapping) else f"a {type(config).__name__}"
        raise ExperimentError(f"config: expected a path, a mapping of keys or an ExperimentConfig, not {found}")
    return check_settings(config, ExperimentConfig, overrides, source="config", error=ExperimentError)


def _probe(rows: pd.DataFrame, task: str, asked: str | None) -> str:
    """Return the probe to draw for one task, of those that read single layers."""
    layers = scores(rows[rows["view"].str.isdecimal()])
    found = list(dict.fromkeys(layers["probe"]))
    if not found:
        raise UserError(f"no probe read the layers for {task}: there is nothing to draw")
    if asked is not None:
        if asked in found:
            return asked
        raise UserError(f"no probe {asked!r} read the layers for {task}: {nearest(asked, found)}")
    return known_for(rows, found)
