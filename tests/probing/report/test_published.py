from pathlib import Path

import pandas as pd
import pytest

from bilm.errors import UserError
from probing.report import page
from probing.report.page import write_report
from probing.report.published import COMPARISONS, PUBLISHED, UNITS, published
from probing.results import write_rows


def values(experiment: str, system: str, metric: str = "accuracy") -> dict[str, float]:
    found = [one for one in published(experiment) if one.system == system and one.metric == metric]
    return {one.view: one.value for one in found}


def test_the_published_numbers_are_those_of_the_papers() -> None:
    assert values("table5-wsd", "biLM", "f1") == {"1": 67.4, "2": 69.0}
    assert values("table5-wsd", "WordNet first sense", "f1") == {"": 65.9}
    assert values("table6-pos", "biLM") == {"1": 97.3, "2": 96.8}
    assert values("table6-pos", "CoVe") == {"1": 93.3, "2": 92.8}
    assert values("hewitt-liang-2019-pos", "ELMo") == {"1": 97.2, "2": 96.6}
    assert values("hewitt-liang-2019-pos", "ELMo", "selectivity") == {"1": 26.0, "2": 31.4}
    assert values("voita-titov-2020-pos", "ELMo", "codelength_bits") == {"0": 173, "1": 96, "2": 115}
    table2 = [one.value for one in published("table2-regularisation") if one.task == "SNLI"]
    assert table2 == [88.1, 89.1, 89.3, 89.5]
    table3 = [one.value for one in published("table3-placement") if one.task == "SRL"]
    assert table3 == [84.7, 84.3, 80.9]


def test_every_published_number_has_a_source_a_unit_and_an_experiment_that_says_what_can_be_compared() -> None:
    assert all(one.source and one.metric in UNITS and one.experiment in COMPARISONS for one in PUBLISHED)
    assert all(one.comparable for one in COMPARISONS.values())


def test_published_numbers_that_are_not_known_are_an_error_that_names_those_that_are() -> None:
    with pytest.raises(UserError, match=r"'table9'; known are table5-wsd, table6-pos"):
        published("table9")


def test_ours_and_theirs_stand_in_one_table_with_what_can_be_compared(rich_folder: Path) -> None:
    text = (rich_folder / "report.md").read_text(encoding="utf-8")
    beside = text.split("## Beside the published numbers\n\n")[1].split("\n\n## ")[0]
    assert "only the ordering of the layers can be compared" in beside
    assert "| accuracy (%) | net | 1 | ours, toy-corpus |  | 95.00 [94.60, 95.50] |" in beside
    assert "| accuracy (%) | biLM | 1 | Peters et al. 2018 (NAACL), table 6 | the ICLR submission" in beside
    assert "(figures/beside-table6-pos.png)" in beside
    assert "mix" not in beside


@pytest.mark.parametrize("key", sorted(COMPARISONS))
def test_every_published_experiment_can_be_set_beside_results_that_lack_its_measures(
    key: str, folder: Path, rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "save", lambda figure, folder, stem: '<svg viewBox="0 0 1 1"></svg>')
    write_rows(rows[rows["probe"].isin(["majority", "linear"])], folder / "results.csv")
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.write(f"published: {key}\n")
    write_report(folder)
    assert COMPARISONS[key].comparable in (folder / "report.md").read_text(encoding="utf-8")
