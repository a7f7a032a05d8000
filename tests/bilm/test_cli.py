"""The `bilm` command, as a user runs it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import CompletedProcess

import h5py
import numpy as np
import pytest

from bilm import BiLM, Embedder
from bilm.cli import app
from tests.command_line import run_apart, run_here
from tests.probing.toy import save_network

TEXT = "the goose sinks\n\na / b .\nNA # null\n"


def bilm(*arguments: object, **environment: str) -> CompletedProcess[str]:
    return run_here(app, *arguments, **environment)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return Path(save_network(tmp_path / "tiny"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_embed_writes_one_dataset_a_line_under_its_number_L10_L11_L13(
    network: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.hdf5"
    run = bilm("embed", network, text, "--out", out)
    assert run.returncode == 0, run.stderr
    expected = list(Embedder(BiLM.from_pretrained(network)).embed([line.split() for line in TEXT.splitlines()]))
    with h5py.File(out) as file:
        assert sorted(file, key=int) == ["0", "1", "2", "3"]
        assert file["1"].shape == (3, 0, 12), "a blank line is a sentence without tokens, not a shift"
        for index, layers in enumerate(expected):
            assert file[str(index)].dtype == np.float32
            np.testing.assert_allclose(file[str(index)][()], layers, atol=1e-6)


@pytest.mark.parametrize("layers", ["top", "average", "0", "2"])
def test_embed_of_one_layer_writes_tokens_by_dimensions(network: Path, text: Path, tmp_path: Path, layers: str) -> None:
    out = tmp_path / "vectors.hdf5"
    assert bilm("embed", network, text, "--out", out, "--layers", layers).returncode == 0
    whole = next(Embedder(BiLM.from_pretrained(network)).embed([TEXT.splitlines()[0].split()]))
    expected = {"top": whole[2], "average": whole.mean(axis=0), "0": whole[0], "2": whole[2]}[layers]
    with h5py.File(out) as file:
        np.testing.assert_allclose(file["0"][()], expected, atol=1e-6)


def test_embed_reads_and_writes_utf8_under_an_ascii_locale_L23(network: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "Ā.txt", tmp_path / "ē.hdf5"
    text.write_text("Ā\u00a0b c\u2028d\n", encoding="utf-8")
    ascii_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = run_apart("bilm", "embed", network, text, "--out", out, **ascii_locale)
    assert run.returncode == 0, run.stderr
    with h5py.File(out) as file:
        assert file["0"].shape[1] == 2, "no-break space and line separator are letters of a word"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"fine\nnot \xff fine\n", "text.txt:2: not UTF-8"),
        (b"fine\ntwo  spaces\n", "text.txt:2: two spaces in a row"),
    ],
)
def test_bad_text_is_one_line_with_file_and_line_and_leaves_the_old_output(
    network: Path, text: Path, tmp_path: Path, content: bytes, told: str
) -> None:
    out = tmp_path / "vectors.hdf5"
    out.write_text("old", encoding="utf-8")
    text.write_bytes(content)
    run = bilm("embed", network, text, "--out", out)
    assert run.returncode == 1
    assert told in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    assert out.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "tiny", "vectors.hdf5"]


def test_crlf_bom_and_a_missing_last_newline_change_nothing_P9(network: Path, tmp_path: Path) -> None:
    contents = []
    for name, raw in (
        ("lf", b"a b\nc\n"),
        ("crlf", b"a b\r\nc\r\n"),
        ("bom", b"\xef\xbb\xbfa b\nc\n"),
        ("cut", b"a b\nc"),
    ):
        path = tmp_path / f"{name}.txt"
        path.write_bytes(raw)
        assert bilm("embed", network, path, "--out", tmp_path / f"{name}.hdf5").returncode == 0
        with h5py.File(tmp_path / f"{name}.hdf5") as file:
            contents.append({key: file[key][()].tobytes() for key in file})
    assert contents[0].keys() == {"0", "1"}
    assert all(content == contents[0] for content in contents)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["embed", "nowhere", "text.txt", "--out", "x.hdf5"], 1, "no model 'nowhere'"),
        (["embed", "tiny", "nothing.txt", "--out", "x.hdf5"], 1, "nothing.txt: cannot be read"),
        (["embed", "tiny", "text.txt", "--out", "x.hdf5", "--layers", "3"], 2, "from 0 to 2"),
        (["embed", "tiny", "text.txt", "--out", "x.hdf5", "--state", "hot"], 2, "'reset', 'carry', 'warm'"),
        (["embed", "tiny", "text.txt"], 2, "--out"),
        (["convert", "tiny", "text.txt"], 1, "text.txt"),
        (["emded"], 2, "No such command"),
    ],
)
def test_a_mistake_gives_its_exit_code_and_no_traceback(
    network: Path,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = bilm(*arguments)
    assert run.returncode == code
    assert told in run.stderr
    assert "Traceback" not in run.stderr
    traced = bilm(*arguments, "--debug")
    assert ("Traceback" in traced.stderr) == (code == 1)


def test_convert_goes_there_and_back_and_needs_no_edit_of_n_characters(network: Path, tmp_path: Path) -> None:
    official, native = tmp_path / "official", tmp_path / "native"
    assert bilm("convert", network, official).returncode == 0
    options = json.loads((official / "options.json").read_text(encoding="utf-8"))
    assert options["char_cnn"]["n_characters"] == 262
    for n_characters in (261, 262):
        options["char_cnn"]["n_characters"] = n_characters
        (official / "options.json").write_text(json.dumps(options), encoding="utf-8")
        assert bilm("convert", official, native).returncode == 0
        assert BiLM.from_pretrained(native).fingerprint() == BiLM.from_pretrained(network).fingerprint()


def test_version_and_help_are_there() -> None:
    from bilm import __version__

    assert bilm("--version").stdout.strip() == __version__
    for command in ("embed", "convert"):
        assert "Example: bilm" in bilm(command, "--help").stdout


def test_embed_refuses_to_overwrite_what_it_reads(network: Path, text: Path) -> None:
    for target in (text, network / "model.safetensors"):
        before = target.read_bytes()
        run = bilm("embed", network, text, "--out", target)
        assert run.returncode == 1
        assert "is read as input" in run.stderr
        assert target.read_bytes() == before


def test_convert_refuses_to_overwrite_another_model(network: Path, tmp_path: Path) -> None:
    other = tmp_path / "bert"
    other.mkdir()
    for name in ("config.json", "model.safetensors", "vocab.txt", "options.json"):
        (other / name).write_text('{"architectures": ["BertModel"]}', encoding="utf-8")
    official = tmp_path / "official"
    assert bilm("convert", network, official).returncode == 0
    (official / "elmo_options.json").write_text("{}", encoding="utf-8")
    for source, target in ((official / "options.json", other), (network, other), (network, official)):
        name = f"{source},{official / 'weights.hdf5'}" if source.suffix else str(source)
        run = bilm("convert", name, target)
        assert run.returncode == 1
        assert "a new folder" in run.stderr
    assert len(list(other.iterdir())) == 4
    assert "BertModel" in (other / "config.json").read_text(encoding="utf-8")


def test_ctrl_c_says_that_nothing_is_left_and_leaves_nothing(network: Path, tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text("the goose sinks under the boat\n" * 200_000, encoding="utf-8")
    command = [sys.executable, "-m", "bilm", "embed", str(network), str(text), "--out", str(tmp_path / "out.hdf5")]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not list(tmp_path.glob(".out.*")):
                time.sleep(0.02)
            process.send_signal(number)
            _, stderr = process.communicate()
        assert process.returncode == code
        assert stderr.strip() == "stopped; nothing half-written is left"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["long.txt", "tiny"]
