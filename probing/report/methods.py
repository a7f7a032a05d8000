"""How each number of a report was made, and what it does not show, in words."""

from collections.abc import Iterator

from probing.report.document import Text, marked
from probing.report.inputs import Inputs

LIMITS: tuple[Text, ...] = (
    "That a probe can read something from a layer does not show that the network uses it: probing is correlational.",
    '"Reads best" is about this probe. A layer may hold as much in a form that this probe cannot read, and '
    "another probe may order the layers differently.",
    "What a probe reads in an untrained network comes from the words and the architecture, not from training; "
    "only what a trained network has beyond that was learned.",
    "An interval is about one value and the choice of test sentences. It is not about other corpora or training "
    "sets. Two layers are compared by a claim's paired difference, not by whether their intervals overlap.",
)
"""What a reader must not conclude."""


def methods(inputs: Inputs) -> Iterator[Text]:
    """Say how each kind of number that the report has was made, and of nothing that it has not."""
    bootstrap = inputs.settings.bootstrap
    probes, metrics = set(inputs.rows["probe"]), set(inputs.rows["metric"])
    yield marked(
        "**Accuracy**: the share of examples for which the label predicted is the gold one (any of them, where there "
        "are several). An example whose label train lacks is counted, and counts as wrong."
    )
    if "f1" in metrics:
        yield marked(
            "**F1** of word senses: precision and recall as the official scorer of Raganato et al. 2017 counts them. "
            "Each instance gets one answer, the first sense where the probe has none, so F1 is the accuracy. *Without "
            "fallback* such instances are left unanswered. *dev + test* is what is known as ALL, where dev is one of "
            "the benchmark's sets: something was chosen on a part of it."
        )
    if "f1_macro" in metrics:
        yield marked("**Macro** (f1_macro in results.csv): the mean over groups, each counting the same.")
    yield marked(
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
        yield marked(f"**Baselines**, which see no vectors: {told}.")
    yield marked(
        "**Views**: a number is one layer alone, *mean* the plain average of all layers, *concat* all layers side by "
        "side. The networks are frozen. An untrained network has the same shape and random weights from a seed."
    )
    if "nearest" in probes:
        yield marked(
            "**Nearest probe** (Peters et al. 2018, section 5.3): each sense's vector is the mean of its training "
            "examples; the answer is the candidate sense with the highest cosine, of the candidates that train has; "
            "the lemma's first sense where train has none of them. The paper does not state its distance: cosine is "
            "that of context2vec, whose method it follows."
        )
    if "linear" in probes:
        yield marked(
            "**Linear probe**: multinomial logistic regression with an L2 penalty, fitted on train after each feature "
            "was standardised with train's mean and standard deviation. The penalty is the one with the best accuracy "
            "on dev, chosen for each network and view by itself; dev accuracies are therefore a little too high. "
            "Nothing was chosen on test."
            + (" Of word senses, the softmax is over the lemma's trained senses only." if "f1" in metrics else "")
        )
    if "v_information_bits" in metrics:
        yield marked(
            "**V-information** (Xu et al. 2020): by how many bits an example the cross-entropy of the linear probe "
            "lies below that of a guess without any vector. It can come out below 0 where the probe over-fits."
        )
    yield from (marked(text) for probe, text in _PROBES.items() if probe in probes)
    yield marked(
        f"**Interval**: {100 * bootstrap.confidence:g} % percentile bootstrap over sentences: as many sentences as "
        f"have an example are drawn with replacement, {bootstrap.samples:,} times, and the accuracy over all their "
        "examples is taken each time. Tokens of one sentence are not independent, so sentences are what is drawn."
    )
    if inputs.claims:
        yield marked(
            "**Claims**: the paired difference resamples sentences for both layers at once, and its two-sided p is "
            "that of the same bootstrap. McNemar's exact test stands beside it and takes examples as independent."
        )
    if set(inputs.rows["train_percent"]) - {"100"}:
        yield marked(
            "**Shares of train**: sentences are drawn without replacement, anew for each draw; only the figure of "
            "training data shows them. All other figures and tables are of probes that were fitted on all of train."
        )


_PROBES = {
    "control": "**Control task and selectivity** (Hewitt & Liang 2019): every word type, case-sensitive, gets one "
    "label drawn from the task's distribution of labels, and a probe of the same kind is fitted to it. Selectivity is "
    "the accuracy on the task less that on the control, the mean of the draws. The *ceiling* is what the control "
    "allows: types that train lacks can only be guessed.",
    "mdl": "**Codelength** (Voita & Titov 2020, online code): the labels of train are sent in growing blocks, the "
    "first at log2 K bits a label, each other at the cross-entropy in bits of a probe fitted on those before it. "
    "*Compression* is the uniform code's length over it. *Data* is the cross-entropy of train under the last probe, "
    "*model* the rest.",
    "conditional": "**Conditional information** (Hewitt et al. 2021): by how many bits an example the cross-entropy of "
    "a linear probe on layer 0 falls when the layer stands beside it; with zeros there instead the width is the same.",
    "mix": "**Mix** (Peters et al. 2018, equation 1; Tenney et al. 2019): a linear probe on gamma times the weighted "
    "mean of the layers, weights and probe trained together, stopped early on dev. *Centre of gravity*: the mean layer "
    "under the weights. *Expected layer*: the mean layer under the gains of the mixes of layers 0 to k; it is not "
    "defined (–) where these sum to about nothing.",
    "bilstm": "**Downstream model** (bilstm; Peters et al. 2018, sections 3.3 and 5.2): a BiLSTM over the sentence, "
    "trained for the task from each seed and stopped early on dev. Its views are conditions: *none* is the model "
    "alone; *input*, *output* and *both* say where the frozen network's layers join what it reads or gives, as a "
    "learned mix of all layers; *top* or a number takes one layer alone; *lambda* is the penalty that draws the mix "
    "towards the plain average. *SD* is the standard deviation over seeds, *seeds* Student's interval of their mean, "
    "*sentences* the mean over seeds of each one's interval from resampling. *Less none* is a difference of means and "
    "no test.",
    "mlp": "**MLP probe**: a network with a hidden layer, trained from several seeds and stopped early on dev; values "
    "are the mean of the seeds.",
}
