"""What came of each claim: the first thing that a report says."""

from collections.abc import Iterator

from probing.claims import Judged
from probing.report.document import Block, Paragraph, Table, Text, Verdict, Verdicts
from probing.report.inputs import Inputs
from probing.report.tables import NOTHING, percent


def claims_blocks(inputs: Inputs) -> Iterator[Block]:
    """Say each claim's verdict, put the numbers behind it in a table, and say how to read them."""
    yield Verdicts(tuple(_verdict(judged) for judged in inputs.claims))
    confidence = 100 * inputs.settings.bootstrap.confidence
    named = ("claim", "task", "probe", "network", "claimed better", "claimed worse")
    header = (*named, f"difference [{confidence:g} %]", "p", "Holm-adjusted p", "McNemar p", "n", "verdict")
    caption = "Every claim's paired difference on test, in points"
    yield Table(header, tuple(_line(judged) for judged in inputs.claims), caption, text_columns=4, name="claims")
    yield Paragraph(
        "Test scores in %, differences in points. A claim is supported where the whole interval of the paired "
        "difference lies above 0 and the Holm-adjusted p is small enough, refuted where the interval lies below 0 and "
        f"p is as small, else undecided; small enough is below {1 - inputs.settings.bootstrap.confidence:.4g}. "
        "Sentences are resampled, for both layers at once; McNemar's test, beside it, takes examples as independent. "
        "p is adjusted for the number of claims in a family (Holm)."
    )


def _verdict(judged: Judged) -> Verdict:
    measure = "" if judged.measure == "score" else f", {judged.measure}"
    where = "" if judged.subset == "all" else f", {judged.subset}"
    about = f"{judged.encoder}; {judged.task}{where}, {judged.probe} probe{measure}"
    numbers = f"{_change(judged)} points, p {_p(judged.p)}, Holm-adjusted p {_p(judged.p_holm)}"
    return Verdict(judged.verdict, judged.claim, about, numbers)


def _line(judged: Judged) -> tuple[Text, ...]:
    return (
        judged.claim,
        judged.task if judged.subset == "all" else f"{judged.task}, {judged.subset}",
        judged.probe if judged.measure == "score" else f"{judged.probe}, {judged.measure}",
        judged.encoder,
        f"{judged.better}: {percent(judged.better_value)}",
        f"{judged.worse}: {percent(judged.worse_value)}",
        _change(judged),
        f"{judged.p:.4f}",
        f"{judged.p_holm:.4f}",
        f"{judged.mcnemar_p:.2g}" if judged.mcnemar_p == judged.mcnemar_p else NOTHING,
        f"{judged.n:,}",
        judged.verdict,
    )


def _change(judged: Judged) -> str:
    return f"{100 * judged.difference:+.2f} [{100 * judged.ci_low:+.2f}, {100 * judged.ci_high:+.2f}]"


def _p(value: float) -> str:
    return f"= {value:.4f}" if value >= 0.0001 else "< 0.0001"
