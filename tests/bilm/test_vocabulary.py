"""The output vocabulary and the output layer that goes with it."""

from pathlib import Path

import pytest
import torch

from bilm.checkpoint import load_native, save_native
from bilm.config import BiLMConfig
from bilm.model import BiLM
from bilm.official import ModelError
from bilm.vocabulary import Vocabulary, VocabularyError

WORDS = ["</S>", "<S>", "<UNK>", "the", "\u00a0", "a\u3000b", "Ā", "NA"]


def small_model() -> BiLM:
    config = {
        "char_cnn": {"embedding": {"dim": 2}, "filters": [[1, 4]], "max_characters_per_token": 8},
        "lstm": {"dim": 6, "projection_dim": 3, "n_layers": 1},
    }
    return BiLM(BiLMConfig.model_validate(config), vocabulary=Vocabulary(WORDS))


def test_words_of_spaces_survive_the_file_L25(tmp_path: Path) -> None:
    Vocabulary(WORDS).write(tmp_path / "vocab.txt")
    assert Vocabulary.read(tmp_path / "vocab.txt").words == tuple(WORDS)


def test_an_unknown_word_has_the_index_of_unk() -> None:
    vocabulary = Vocabulary(WORDS)
    assert vocabulary.index("the") == 3
    assert vocabulary.index("The") == vocabulary.index("<UNK>") == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<S>\n</S>\nthe\n", "lacks <UNK>"),
        (b"<S>\n</S>\n<UNK>\nthe\nthe\n", "'the' twice"),
        (b"<S>\n\n</S>\n<UNK>\n", "vocab.txt:2: a blank line"),
        (b"<S>\n</S>\n<UNK>\n\xff\n", "not UTF-8"),
    ],
)
def test_a_vocabulary_that_cannot_be_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.read(tmp_path / "vocab.txt")
    assert "vocab.txt" in str(caught.value)
    assert told in str(caught.value)


def test_a_native_folder_keeps_the_output_layer_and_its_words(tmp_path: Path) -> None:
    model = small_model()
    save_native(model, tmp_path / "model")
    loaded = load_native(tmp_path / "model")
    assert loaded.vocabulary is not None and loaded.output is not None and model.output is not None
    assert loaded.vocabulary.words == tuple(WORDS)
    hidden = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(loaded.output(hidden), model.output(hidden))
        torch.testing.assert_close(loaded.output(hidden).exp().sum(dim=1), torch.ones(5))


def test_a_vocabulary_of_another_size_fails_at_loading_L27(tmp_path: Path) -> None:
    save_native(small_model(), tmp_path / "model")
    Vocabulary([*WORDS, "more"]).write(tmp_path / "model" / "vocab.txt")
    with pytest.raises(ModelError, match=r"output\.(bias|weight): vocab\.txt asks for \(9"):
        load_native(tmp_path / "model")


def test_a_fingerprint_is_of_the_representation_and_not_of_the_output_layer() -> None:
    model = small_model()
    before = model.fingerprint()
    assert model.output is not None
    torch.nn.init.zeros_(model.output.weight)
    assert model.fingerprint() == before
