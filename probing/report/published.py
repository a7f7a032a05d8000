"""Numbers of record: what others have published of each layer, each with its source, to put ours beside.

Only numbers that a source confirms stand here, as printed there. Nothing is computed; a note says what a reader has to
know before comparing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bilm.errors import UserError

PETERS = "Peters et al. 2018 (NAACL)"
HEWITT = "Hewitt & Liang 2019"
VOITA = "Voita & Titov 2020"
UNITS = {"accuracy": "%", "f1": "%", "selectivity": "points", "codelength_bits": "kbit", "compression": "×"}
"""The measures that published numbers are of, and the units that they are printed in."""


@dataclass(frozen=True, slots=True)
class Published:
    """One published number.

    Attributes
    ----------
    experiment : str
        The key that a config names: what was measured together.
    system : str
        What was measured, as its authors call it.
    view : str
        The layer, or "mean" or "mix"; the end of the names of our conditions, for a downstream model; "" for what has
        no layers.
    value : float
        As printed, in the unit of its metric.
    source, note : str
    metric, probe : str
        Which of our rows it stands beside.
    task : str
        The task's own name, where one experiment has several.
    """

    experiment: str
    system: str
    view: str
    value: float
    source: str
    note: str = ""
    metric: str = "accuracy"
    probe: str = "linear"
    task: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is to be known of the numbers of one published experiment.

    Attributes
    ----------
    title : str
    task : str
        How the names of our tasks begin that can stand beside it; "" where none can.
    split : str
        Of ours and of theirs.
    comparable : str
        What can be compared, and what cannot.
    probe : str
        The downstream model of ours whose conditions stand beside the settings of theirs, whatever the task; "" where
        layers are compared.
    """

    title: str
    task: str
    split: str
    comparable: str
    probe: str = ""


_OTHER_TASKS = (
    "Their tasks are not ours: the paper's are question answering (SQuAD), entailment (SNLI) and semantic roles (SRL), "
    "each with a large network of its own and the released biLM. Digits cannot be compared; only the direction can: "
    "which setting is better than which."
)

COMPARISONS: Mapping[str, Comparison] = {
    "table5-wsd": Comparison(
        "Peters et al. 2018, table 5: word sense disambiguation, F1 in %",
        "wsd",
        "test",
        "Test set, training data and method are the paper's (four sets of Raganato et al. 2017, nearest mean of "
        "SemCor, first sense where the lemma was not seen). The first sense can be compared exactly; with another biLM "
        "than the paper's only the ordering of the layers can.",
    ),
    "table6-pos": Comparison(
        "Peters et al. 2018, table 6: part-of-speech tagging, accuracy in %",
        "pos",
        "test",
        "The paper's are of the Penn Treebank's Wall Street Journal; with another treebank and a biLM of our own only "
        "the ordering of the layers can be compared, not the digits. The paper has no layer 0.",
    ),
    "table2-regularisation": Comparison(
        "Peters et al. 2018, table 2: no ELMo, the last layer alone or all layers with two mix penalties, on dev",
        "",
        "dev",
        f"{_OTHER_TASKS} There, each step from the baseline to the last layer alone, to all layers with λ = 1 (about "
        "their plain average) and with λ = 0.001 (a mix free to move) gains, and the first gains by far the most.",
        "bilstm",
    ),
    "table3-placement": Comparison(
        "Peters et al. 2018, table 3: where ELMo enters a task's network, on dev",
        "",
        "dev",
        f"{_OTHER_TASKS} There, SQuAD and SNLI score highest with ELMo at the input and the output, SRL at the input "
        "alone; the output alone is lowest in all three.",
        "bilstm",
    ),
    "hewitt-liang-2019-pos": Comparison(
        "Hewitt & Liang 2019: part-of-speech tagging, linear probe, accuracy in % and selectivity in points",
        "pos",
        "dev",
        "The paper's are of the Penn Treebank's dev set, one control draw; with another treebank and a biLM of our own "
        "only the ordering of the layers can be compared: accuracy is higher at layer 1, selectivity at layer 2.",
    ),
    "voita-titov-2020-pos": Comparison(
        "Voita & Titov 2020, table 1: part-of-speech tagging, online code",
        "pos",
        "train",
        "Their kbit add bits (first block) and nats (the others), so that they are too short by about 1.4 and the "
        "compression too high; ours are all in bits and differ by design. Their probe is an MLP with two hidden layers "
        "of 1000, on the Penn Treebank: only the ordering of the layers can be compared.",
    ),
    "figure1-downstream": Comparison(
        "Peters et al. 2018, figure 1: scores of downstream models over the share of training data",
        "",
        "dev",
        f"{_OTHER_TASKS} The figure has curves of SNLI and SRL with and without ELMo on 0.1 % to 100 % of the training "
        "data, and no numbers to put beside ours. The text says that SRL with ELMo and 1 % of the data does about as "
        "well as the baseline with 10 %, and that the gains are largest where there are few data.",
    ),
    "figure1-sample-efficiency": Comparison(
        "Peters et al. 2018, figure 1: scores over the share of training data",
        "",
        "dev",
        "The figure has curves of SNLI and SRL on 0.1 % to 100 % of the training data, and no numbers to put beside "
        "ours. It finds the largest gains where there are few data: SRL with ELMo and 1 % of the data does about as "
        "well as the baseline with 10 %. What can be compared is whether gains shrink as data grow.",
    ),
    "figure2-mix-weights": Comparison(
        "Peters et al. 2018, figure 2: the weights of the layers in learned mixes",
        "",
        "dev",
        "The figure shades its weights and prints no numbers to put beside ours. It finds that mixes at a task "
        "network's input favour LSTM layer 1, most for coreference and SQuAD, and that those at its output are almost "
        "equal, a little in favour of the lower layers. What can be compared is which layer has the largest weight.",
    ),
}
"""By the key that a config gives as `published`."""


def _layers(experiment: str, system: str, values: Sequence[float], first: int, **more: str) -> list[Published]:
    more = {"source": PETERS} | more
    return [Published(experiment, system, str(first + i), value, **more) for i, value in enumerate(values)]


def _table5() -> list[Published]:
    about = {"metric": "f1", "probe": "nearest", "source": f"{PETERS}, table 5"}
    others = (("WordNet first sense", 65.9), ("Raganato et al. 2017a", 69.9), ("Iacobacci et al. 2016", 70.1))
    return [
        *(Published("table5-wsd", system, "", value, **about) for system, value in others),
        *_layers("table5-wsd", "CoVe", (59.4, 64.7), 1, **about),
        *_layers("table5-wsd", "biLM", (67.4, 69.0), 1, **about),
    ]


def _table6() -> list[Published]:
    about = {"source": f"{PETERS}, table 6"}
    note = "the ICLR submission prints 97.0 and 95.8"
    others = (("Collobert et al. 2011", 97.3), ("Ma & Hovy 2016", 97.6), ("Ling et al. 2015", 97.8))
    return [
        *(Published("table6-pos", system, "", value, **about) for system, value in others),
        *_layers("table6-pos", "CoVe", (93.3, 92.8), 1, **about),
        *_layers("table6-pos", "biLM", (97.3, 96.8), 1, note=note, **about),
    ]


def _systems() -> list[Published]:
    """Tables 2 and 3: whole systems with ELMo."""
    layered = (("last layer only", "top"), ("all layers, λ = 1", "lambda=1"), ("all layers, λ = 0.001", "lambda=0.001"))
    regularised = (("baseline", "none"), *layered)
    placed = (("input only", "input"), ("input and output", "both"), ("output only", "output"))
    table2 = {"SQuAD": (80.8, 84.7, 85.0, 85.2), "SNLI": (88.1, 89.1, 89.3, 89.5), "SRL": (81.6, 84.1, 84.6, 84.8)}
    table3 = {"SQuAD": (85.1, 85.6, 84.8), "SNLI": (88.9, 89.5, 88.7), "SRL": (84.7, 84.3, 80.9)}
    return [
        Published(key, system, view, value, source, metric="accuracy" if task == "SNLI" else "f1", task=task)
        for key, source, settings, values in (
            ("table2-regularisation", f"{PETERS}, table 2", regularised, table2),
            ("table3-placement", f"{PETERS}, table 3", placed, table3),
        )
        for task, row in values.items()
        for (system, view), value in zip(settings, row, strict=True)
    ]


def _hewitt_liang() -> list[Published]:
    key, about = "hewitt-liang-2019-pos", {"source": HEWITT}
    selectivity = about | {"metric": "selectivity", "probe": "control"}
    untrained = "Proj0 (untrained biLSTM)"
    return [
        Published(key, untrained, "", 96.3, **about),
        *_layers(key, "ELMo", (97.2, 96.6), 1, **about),
        Published(key, untrained, "", 20.6, **selectivity),
        *_layers(key, "ELMo", (26.0, 31.4), 1, **selectivity),
    ]


def _voita_titov() -> list[Published]:
    key, about = "voita-titov-2020-pos", {"source": f"{VOITA}, table 1", "probe": "mdl"}
    return [
        *_layers(key, "ELMo", (173, 96, 115), 0, metric="codelength_bits", note="bits and nats mixed", **about),
        *_layers(key, "ELMo", (29.5, 53.06, 44.3), 0, metric="compression", note="bits and nats mixed", **about),
    ]


PUBLISHED: tuple[Published, ...] = (*_table5(), *_table6(), *_systems(), *_hewitt_liang(), *_voita_titov())
"""Every number of record."""


def published(experiment: str) -> list[Published]:
    """Return the numbers of one published experiment.

    Raises
    ------
    UserError
        If there is none of that name.
    """
    if experiment not in COMPARISONS:
        raise UserError(f"published: there are no published numbers {experiment!r}; known are {', '.join(COMPARISONS)}")
    return [one for one in PUBLISHED if one.experiment == experiment]
