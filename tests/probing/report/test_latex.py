from probing.report.document import Span, Table
from probing.report.latex import escaped, latex_table


def test_no_character_of_a_label_means_anything_to_latex() -> None:
    assert escaped("50 % of PRP$ & get_up #1 {a} ~ ^") == (
        r"50 \% of PRP\$ \& get\_up \#1 \{a\} \textasciitilde{} \textasciicircum{}"
    )
    assert escaped("a\\b") == r"a\textbackslash{}b"


def test_a_table_has_booktabs_rules_its_caption_and_a_label() -> None:
    table = Table(("view", "accuracy (%)"), (("mix_1", (Span("95.0", "strong"),)),), "A & B", name="toy")
    assert latex_table(table) == "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            r"\caption{A \& B}",
            r"\label{tab:toy}",
            r"\begin{tabular}{lr}",
            r"\toprule",
            r"view & accuracy (\%) \\",
            r"\midrule",
            r"mix\_1 & \textbf{95.0} \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
