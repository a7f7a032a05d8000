"""The model that comes with the package: it loads by name, has the size and the quality that its card tells."""

from pathlib import Path

import numpy as np
import pytest

from bilm import BiLM, Embedder
from bilm.checkpoint import shipped_models
from bilm.evaluation import evaluate, score
from bilm.text import read_sentences

FOLDER = Path(__file__).parents[2] / "bilm" / "pretrained" / "small-en"
TEXT = [["The", "bank", "closed", "at", "five", "."], ["A", "goose", "sat", "on", "the", "bank", "."], ["Yes"]]


def test_small_en_ships_with_its_card_and_training_curve_in_at_most_25_mb() -> None:
    assert shipped_models() == ["small-en"]
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {"README.md", "config.json", "model.safetensors", "training.csv", "vocab.txt"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 25e6


def test_small_en_is_loaded_by_its_name_and_embeds() -> None:
    (layers, *_) = Embedder(BiLM.from_pretrained("small-en")).embed(TEXT)
    assert layers.shape == (3, 6, 256)
    assert np.isfinite(layers).all()


def test_its_log_probabilities_sum_to_its_perplexity_for_any_batch_size() -> None:
    model = BiLM.from_pretrained("small-en")
    scores = list(score(model, TEXT))
    forward = np.concatenate([one.forward for one in scores])
    found = [evaluate(model, TEXT, batch_size=size) for size in (1, 2, 256)]
    assert found[0].forward == pytest.approx(np.exp(-forward.mean()), rel=1e-6)
    for other in found[1:]:
        assert (other.forward, other.backward) == pytest.approx((found[0].forward, found[0].backward), rel=1e-5)


@pytest.mark.real_data
def test_its_perplexity_on_held_out_sentences_is_that_of_the_card(data_dir: Path) -> None:
    """The first 500 sentences of lm valid, as in the last rows but one of training.csv (float16 output layer aside)."""
    sentences = [words for words in read_sentences(data_dir / "lm" / "english-mixed.valid.txt.gz") if words][:500]
    rows = (FOLDER / "training.csv").read_text(encoding="utf-8").splitlines()
    validated = [line.split(",")[-2:] for line in rows[1:-1] if line.split(",")[-1]]
    forward, backward = map(float, validated[-1])
    found = evaluate(BiLM.from_pretrained("small-en"), sentences)
    assert found.forward == pytest.approx(forward, rel=0.01)
    assert found.backward == pytest.approx(backward, rel=0.01)
