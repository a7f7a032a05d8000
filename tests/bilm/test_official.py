"""The released file format: every shape of network there and back to the last bit; wrong files named in one line."""

import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from bilm.checkpoint import load_native
from bilm.config import ARCHITECTURES, BiLMConfig
from bilm.errors import UserError
from bilm.model import BiLM
from bilm.official import load_official, save_official
from tests import reference
from tests.bilm.models import SENTENCE, bilm_of, run, strong_model

SHAPES: dict[str, dict[str, Any]] = {
    "as released": {},
    "dim equals projection_dim": {"dim": 6},
    "one layer": {"n_layers": 1},
    "three layers": {"n_layers": 3},
    "no highway": {"n_highway": 0},
    "filters equal projection_dim": {"filters": [(1, 2), (2, 4)]},
    "no skip connections": {"skip": False},
    "no clips": {"cell_clip": None, "proj_clip": None},
    "tanh": {"activation": "tanh"},
    "all at once": {
        "dim": 6,
        "n_layers": 1,
        "n_highway": 0,
        "filters": [(1, 2), (2, 4)],
        "skip": False,
        "cell_clip": None,
        "proj_clip": None,
    },
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return the options and the weights of a good official model."""
    options = reference.make_options()
    return reference.write_official(tmp_path / "good", options, reference.random_official_model(options, 1))


def message(options: Path, weights: Path) -> str:
    """Return what the user is told: one or two lines."""
    with pytest.raises(UserError) as caught:
        load_official(options, weights)
    text = str(caught.value)
    assert 1 <= len(text.splitlines()) <= 2
    return text


@pytest.mark.parametrize("name", SHAPES)
def test_official_to_bilm_to_official_keeps_every_number_L43(name: str, tmp_path: Path) -> None:
    options = reference.make_options(**SHAPES[name])
    weights = reference.random_official_model(options, seed=1)
    save_official(bilm_of(options, weights), tmp_path)
    found_options, found_weights = reference.read_official(tmp_path / "options.json", tmp_path / "weights.hdf5")
    assert found_weights.keys() == weights.keys()
    for dataset, array in weights.items():
        assert found_weights[dataset].dtype == np.float32
        np.testing.assert_array_equal(found_weights[dataset], array, err_msg=dataset)
    assert found_options["lstm"] == options["lstm"]
    assert found_options["char_cnn"] == options["char_cnn"]


@pytest.mark.parametrize("name", SHAPES)
def test_native_and_official_files_give_the_same_vectors_L43(name: str, tmp_path: Path) -> None:
    model = strong_model(seed=1, **SHAPES[name])
    model.save_pretrained(tmp_path / "native")
    native = load_native(tmp_path / "native")
    save_official(native, tmp_path / "official")
    official = BiLM.from_pretrained(tmp_path / "official")
    expected = run(model, [SENTENCE]).layers
    assert torch.equal(run(native, [SENTENCE]).layers, expected)
    assert torch.equal(run(official, [SENTENCE]).layers, expected)
    assert model.fingerprint() == native.fingerprint() == official.fingerprint()
    assert model.config == native.config == official.config


def test_a_network_with_random_weights_survives_the_official_format(tmp_path: Path) -> None:
    config = BiLMConfig.model_validate(reference.make_options())
    model = BiLM(config, seed=3)
    save_official(model, tmp_path)
    assert BiLM.from_pretrained(tmp_path).fingerprint() == model.fingerprint()


def test_the_written_shapes_of_the_released_size_are_those_of_the_released_files(tmp_path: Path) -> None:
    save_official(BiLM(ARCHITECTURES["elmo-small"]), tmp_path)
    _, weights = reference.read_official(tmp_path / "options.json", tmp_path / "weights.hdf5")
    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes["char_embed"] == (261, 16)
    assert shapes["CNN/W_cnn_6"] == (1, 7, 16, 1024)
    assert shapes["CNN/b_cnn_6"] == (1024,)
    assert shapes["CNN_high_0/W_carry"] == shapes["CNN_high_0/W_transform"] == (2048, 2048)
    assert shapes["CNN_proj/W_proj"] == (2048, 128)
    assert shapes["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"] == (2 * 128, 4 * 1024)
    assert shapes["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/B"] == (4 * 1024,)
    assert shapes["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"] == (1024, 128)
    assert len(weights) == 1 + 2 * 7 + 4 + 2 + 2 * 2 * 3


@pytest.mark.parametrize(("name", "millions"), [("elmo-small", 13.6), ("elmo-medium", 28.0), ("elmo-original", 93.6)])
def test_the_released_sizes_have_the_published_numbers_of_parameters(name: str, millions: float) -> None:
    model = BiLM(ARCHITECTURES[name], seed=None)
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert round(n_parameters / 1e6, 1) == millions


def test_options_for_training_load_too_and_are_the_same_network(files: tuple[Path, Path]) -> None:
    options_path, weights_path = files
    expected = load_official(options_path, weights_path).fingerprint()
    options = json.loads(options_path.read_text(encoding="utf-8"))
    options["char_cnn"]["n_characters"] = 261
    options |= {"n_epochs": 10, "n_train_tokens": 768648884, "bidirectional": True, "unroll_steps": 20, "dropout": 0.1}
    options_path.write_text(json.dumps(options), encoding="utf-8")
    assert load_official(options_path, weights_path).fingerprint() == expected


def test_a_model_is_named_by_its_folder_or_by_its_two_files_and_may_move_L47(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, weights = files
    fingerprint = load_official(options, weights).fingerprint()
    assert BiLM.from_pretrained(options.parent).fingerprint() == fingerprint
    assert BiLM.from_pretrained(str(options.parent)).fingerprint() == fingerprint
    assert BiLM.from_pretrained(f"{options},{weights}").fingerprint() == fingerprint
    moved = tmp_path / "elsewhere"
    shutil.move(options.parent, moved)
    (moved / "options.json").rename(moved / "elmo_small_options.json")
    (moved / "weights.hdf5").rename(moved / "elmo_small_weights.hdf5")
    assert BiLM.from_pretrained(moved).fingerprint() == fingerprint
    monkeypatch.chdir(moved)
    assert BiLM.from_pretrained("elmo_small_options.json,elmo_small_weights.hdf5").fingerprint() == fingerprint


def test_a_native_folder_may_move_and_names_no_place_L47(tmp_path: Path) -> None:
    model = strong_model(seed=1)
    model.save_pretrained(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    for file in (tmp_path / "there").iterdir():
        assert str(tmp_path).encode() not in file.read_bytes()
    assert BiLM.from_pretrained(tmp_path / "there").fingerprint() == model.fingerprint()


def test_saving_over_an_older_model_replaces_it(tmp_path: Path) -> None:
    old, new = strong_model(seed=1), strong_model(seed=2)
    for save in (
        lambda model: model.save_pretrained(tmp_path / "m"),
        lambda model: save_official(model, tmp_path / "m"),
    ):
        save(old)
        save(new)
        assert BiLM.from_pretrained(tmp_path / "m").fingerprint() == new.fingerprint()
        shutil.rmtree(tmp_path / "m")


def test_saving_into_a_folder_of_other_things_is_refused_and_loses_nothing(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not to be lost\n", encoding="utf-8")
    with pytest.raises(UserError, match=str(tmp_path)):
        strong_model(seed=1).save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_loaded_model_is_in_evaluation_mode_and_in_float32(files: tuple[Path, Path], tmp_path: Path) -> None:
    model = load_official(*files)
    model.save_pretrained(tmp_path / "native")
    for loaded in (model, load_native(tmp_path / "native")):
        assert not loaded.training
        assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}


# The fingerprint


def test_a_fingerprint_changes_with_any_weight_and_with_what_the_options_say() -> None:
    model = strong_model(seed=1)
    seen = {model.fingerprint()}
    for parameter in list(model.parameters()):
        with torch.no_grad():
            parameter.view(-1)[-1] += 1
        seen.add(model.fingerprint())
    n_parameters = len(list(model.parameters()))
    assert len(seen) == n_parameters + 1
    options = reference.make_options()
    weights = reference.random_official_model(options, 1)
    others: list[dict[str, Any]] = [{"cell_clip": 1.5}, {"proj_clip": None}, {"use_skip_connections": False}]
    seen |= {bilm_of(reference.changed(options, **other), weights).fingerprint() for other in others}
    assert len(seen) == n_parameters + 4


def test_a_fingerprint_does_not_depend_on_mode_or_on_having_been_run() -> None:
    model = strong_model(seed=1)
    before = model.fingerprint()
    run(model, [SENTENCE])
    assert model.train().fingerprint() == before
    assert strong_model(seed=1).fingerprint() == before


# Wrong files


def test_a_text_file_instead_of_weights_is_named_L45(files: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.hdf5"
    wrong.write_text("these are no weights\n", encoding="utf-8")
    text = message(files[0], wrong)
    assert str(wrong) in text and "HDF5" in text and "text" in text


def test_a_web_page_saved_as_weights_is_named_L45(files: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.hdf5"
    wrong.write_text("<!DOCTYPE html>\n<html><body>403 Forbidden</body></html>\n", encoding="utf-8")
    text = message(files[0], wrong)
    assert str(wrong) in text and "web page" in text


def test_embeddings_instead_of_weights_are_named_L45(files: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.hdf5"
    with h5py.File(wrong, "w") as file:
        file["0"] = np.zeros((3, 4, 12), dtype=np.float32)
        file["1"] = np.zeros((3, 2, 12), dtype=np.float32)
    text = message(files[0], wrong)
    assert str(wrong) in text and "char_embed" in text and "embeddings" in text


@pytest.mark.parametrize("content", [b"", b"\x00" * 600, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"])
def test_any_other_content_instead_of_weights_is_named_L45(
    files: tuple[Path, Path], tmp_path: Path, content: bytes
) -> None:
    wrong = tmp_path / "wrong.hdf5"
    wrong.write_bytes(content)
    assert str(wrong) in message(files[0], wrong)


def test_missing_files_and_folders_are_named_L45(files: tuple[Path, Path], tmp_path: Path) -> None:
    options, weights = files
    absent = tmp_path / "absent"
    assert str(absent) in message(options, absent)
    assert str(absent) in message(absent, weights)
    assert str(tmp_path) in message(options, tmp_path)
    assert str(tmp_path) in message(tmp_path, weights)


def test_the_two_files_in_the_wrong_order_are_named_L45(files: tuple[Path, Path]) -> None:
    assert str(files[1]) in message(files[1], files[0])


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_weights_that_were_cut_off_are_named_L45(files: tuple[Path, Path], tmp_path: Path, share: float) -> None:
    whole = files[1].read_bytes()
    cut = tmp_path / "cut.hdf5"
    cut.write_bytes(whole[: int(len(whole) * share)])
    assert str(cut) in message(files[0], cut)


def test_weights_with_damaged_bytes_load_or_are_named_L45(files: tuple[Path, Path], tmp_path: Path) -> None:
    whole = files[1].read_bytes()
    damaged = tmp_path / "damaged.hdf5"
    random = np.random.default_rng(0)
    n_refused = 0
    for _ in range(40):
        content = bytearray(whole)
        for position in random.integers(len(content) // 10, size=3):
            content[position] = int(random.integers(256))
        damaged.write_bytes(content)
        try:
            load_official(files[0], damaged)
        except UserError as error:
            n_refused += 1
            assert str(damaged) in str(error)
    assert n_refused > 0


@pytest.mark.parametrize(
    "dataset",
    [
        "char_embed",
        "CNN/b_cnn_2",
        "CNN_high_0/W_carry",
        "CNN_proj/W_proj",
        "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0",
    ],
)
def test_a_missing_dataset_is_named_L43(files: tuple[Path, Path], dataset: str) -> None:
    with h5py.File(files[1], "a") as file:
        del file[dataset]
    text = message(*files)
    assert str(files[1]) in text and dataset in text


@pytest.mark.parametrize("dataset", ["char_embed", "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"])
def test_a_dataset_of_another_shape_is_named_with_both_shapes_L43(files: tuple[Path, Path], dataset: str) -> None:
    with h5py.File(files[1], "a") as file:
        right = file[dataset].shape
        del file[dataset]
        file[dataset] = np.zeros((3, 5), dtype=np.float32)
    text = message(*files)
    assert str(files[1]) in text and dataset in text and "(3, 5)" in text and str(right) in text


def test_weights_that_are_not_finite_are_named_L45(files: tuple[Path, Path]) -> None:
    with h5py.File(files[1], "a") as file:
        file["char_embed"][5, 1] = np.nan
    text = message(*files)
    assert str(files[1]) in text and "char_embed" in text


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("{", "JSON"),
        ("[]", ""),
        ('{"lstm": {}}', "char_cnn"),
        ('{"char_cnn": {"embedding": {"dim": 4}, "filters": [[1, 4]]}, "lstm": {"dim": 8}}', "projection_dim"),
    ],
)
def test_options_that_are_none_name_the_file_and_the_field_L45(
    files: tuple[Path, Path], content: str, named: str
) -> None:
    files[0].write_text(content, encoding="utf-8")
    text = message(*files)
    assert str(files[0]) in text and named in text


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("lstm", "dim", "large"),
        ("lstm", "projection_dim", 11),  # wider than dim
        ("lstm", "n_layers", 0),
        ("lstm", "cell_clip", -3),
        ("char_cnn", "activation", "gelu"),
        ("char_cnn", "filters", []),
        ("char_cnn", "filters", [[13, 4]]),  # wider than a row
        ("char_cnn", "n_characters", 100),
    ],
)
def test_a_field_that_cannot_be_is_named(files: tuple[Path, Path], section: str, field: str, value: object) -> None:
    options = json.loads(files[0].read_text(encoding="utf-8"))
    options[section][field] = value
    files[0].write_text(json.dumps(options), encoding="utf-8")
    text = message(*files)
    assert str(files[0]) in text and section in text


def test_a_model_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    for name in (tmp_path / "none", tmp_path, "no-such-model", "a.json,b.hdf5", ""):
        with pytest.raises(UserError) as caught:
            BiLM.from_pretrained(name)
        assert len(str(caught.value).splitlines()) == 1


def test_a_folder_with_two_models_is_refused(files: tuple[Path, Path]) -> None:
    shutil.copy(files[1], files[1].with_name("other_weights.hdf5"))
    with pytest.raises(UserError, match=str(files[1].parent)):
        BiLM.from_pretrained(files[1].parent)
