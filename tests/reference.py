"""The ELMo forward pass written a second time, to judge `bilm` by: NumPy in float64, a sentence at a time, plain loops.

It takes the weights as the official hdf5 file names them and the options as the official json file nests them, and
shares no line with the package. Nothing here is fast. `tests/bilm/test_golden.py` checks it against AllenNLP's own
figures.

References
----------
Peters et al. 2018, "Deep contextualized word representations"; the released code (allenai/bilm-tf).
"""

import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Weights: TypeAlias = Mapping[str, Array]
Options: TypeAlias = Mapping[str, Any]
LayerState: TypeAlias = tuple[Array, Array]
"""What one LSTM layer remembers: cell (dim,) and hidden output (projection_dim,)."""
State: TypeAlias = tuple[list[LayerState], list[LayerState]]
"""Forward layers and backward layers, from the lowest up."""

# Character ids as TensorFlow's checkpoint numbers them: bytes are 0..255. The +1 of the id rows in `bilm` is not here.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 256, 257, 258, 259, 260


def character_row(word: str, max_characters: int) -> list[int]:
    """Return the ids of `word`: begin, its UTF-8 bytes (as many as fit), end, then padding up to `max_characters`."""
    content = list(word.encode("utf-8", "ignore"))[: max_characters - 2]
    return padded_row(content, max_characters)


def padded_row(content: Sequence[int], max_characters: int) -> list[int]:
    """Return `content` between begin-word and end-word, padded on the right to `max_characters` ids."""
    row = [BEGIN_WORD, *content, END_WORD]
    return row + [PADDING] * (max_characters - len(row))


def sentence_rows(words: Sequence[str], max_characters: int) -> list[list[int]]:
    """Return the id rows that the language model reads for a sentence: its start symbol, its words, its end symbol."""
    return [
        padded_row([BEGIN_SENTENCE], max_characters),
        *[character_row(word, max_characters) for word in words],
        padded_row([END_SENTENCE], max_characters),
    ]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def token_vector(weights: Weights, options: Options, row: Sequence[int]) -> Array:
    """Return the context-free vector, shape (projection_dim,), of one row of character ids.

    Convolutions of every width, each maximised over *all* windows (those over padding too), then highways, then a
    linear projection where the number of filters is not already the wanted dimension.
    """
    cnn = options["char_cnn"]
    characters = np.stack([weights["char_embed"][i].astype(np.float64) for i in row])  # (max_characters, embedding_dim)
    features = []
    for number, (width, n_filters) in enumerate(cnn["filters"]):
        kernel = weights[f"CNN/W_cnn_{number}"][0].astype(np.float64)  # (width, embedding_dim, n_filters)
        windows = []
        for start in range(len(row) - width + 1):
            total = np.zeros(n_filters)
            for offset in range(width):
                total += characters[start + offset] @ kernel[offset]
            windows.append(total + weights[f"CNN/b_cnn_{number}"])
        strongest = np.max(windows, axis=0)
        features.append(np.maximum(strongest, 0) if cnn["activation"] == "relu" else np.tanh(strongest))
    x = np.concatenate(features)
    for number in range(cnn.get("n_highway", 0)):
        name = f"CNN_high_{number}"
        gate = sigmoid(x @ weights[f"{name}/W_carry"] + weights[f"{name}/b_carry"])
        transformed = np.maximum(x @ weights[f"{name}/W_transform"] + weights[f"{name}/b_transform"], 0)
        x = gate * transformed + (1 - gate) * x
    if len(x) != options["lstm"]["projection_dim"]:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def lstm_layer(
    weights: Weights, options: Options, name: str, inputs: Sequence[Array], state: LayerState
) -> tuple[list[Array], LayerState]:
    """Run one LSTM layer of one direction over `inputs`, in the order given.

    Parameters
    ----------
    name : where the layer's arrays are, such as "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell"
    inputs : vectors of shape (projection_dim,)
    state : the cell and the hidden output before the first input

    Returns
    -------
    hidden outputs, one an input, before any skip connection; the state after the last input
    """
    lstm = options["lstm"]
    projected = lstm["projection_dim"] < lstm["dim"]
    cell, hidden = state
    outputs = []
    for x in inputs:
        z = np.concatenate([x, hidden]) @ weights[f"{name}/W_0"] + weights[f"{name}/B"]
        i, j, f, o = np.split(z, 4)
        cell = sigmoid(f + 1) * cell + sigmoid(i) * np.tanh(j)
        if lstm.get("cell_clip") is not None:
            cell = np.clip(cell, -lstm["cell_clip"], lstm["cell_clip"])
        hidden = sigmoid(o) * np.tanh(cell)
        if projected:
            hidden = hidden @ weights[f"{name}/W_P_0"]
            if lstm.get("proj_clip") is not None:
                hidden = np.clip(hidden, -lstm["proj_clip"], lstm["proj_clip"])
        outputs.append(hidden)
    return outputs, (cell, hidden)


def lstm_stack(
    weights: Weights, options: Options, direction: int, inputs: Sequence[Array], state: list[LayerState]
) -> tuple[list[list[Array]], list[LayerState]]:
    """Run all LSTM layers of one direction (0 forward, 1 backward); return each layer's outputs and the new state."""
    layers = []
    new_state = []
    for number in range(options["lstm"]["n_layers"]):
        name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{number}/LSTMCell"
        outputs, layer_state = lstm_layer(weights, options, name, inputs, state[number])
        if number >= 1 and options["lstm"]["use_skip_connections"]:
            outputs = [output + x for output, x in zip(outputs, inputs, strict=True)]
        layers.append(outputs)
        new_state.append(layer_state)
        inputs = outputs
    return layers, new_state


def zero_state(options: Options) -> State:
    lstm = options["lstm"]

    def direction() -> list[LayerState]:
        return [(np.zeros(lstm["dim"]), np.zeros(lstm["projection_dim"])) for _ in range(lstm["n_layers"])]

    return direction(), direction()


def embed_sentence(
    weights: Weights, options: Options, words: Sequence[str], state: State | None = None
) -> tuple[Array, State]:
    """Return the layers of one sentence, and the state to begin the next one with.

    Parameters
    ----------
    weights : official hdf5 dataset name -> array
    options : the content of the official options.json
    words : the sentence, without start and end symbols
    state : what this row's sentence before left behind; None for zeros

    Returns
    -------
    layers, shape (n_layers + 1, n_tokens, 2 * projection_dim) : the token vectors twice, then [forward; backward]
    state : as it was if there is no word, since a row of nothing but padding is not run
    """
    state = zero_state(options) if state is None else state
    n_layers, dim = options["lstm"]["n_layers"], options["lstm"]["projection_dim"]
    if not words:
        return np.zeros((n_layers + 1, 0, 2 * dim)), state
    rows = sentence_rows(words, options["char_cnn"]["max_characters_per_token"])
    tokens = [token_vector(weights, options, row) for row in rows]
    forward, forward_state = lstm_stack(weights, options, 0, tokens, state[0])
    backward, backward_state = lstm_stack(weights, options, 1, tokens[::-1], state[1])
    layers = [[np.concatenate([token, token]) for token in tokens]]
    for ahead, behind in zip(forward, backward, strict=True):
        layers.append([np.concatenate(pair) for pair in zip(ahead, behind[::-1], strict=True)])
    return np.array(layers)[:, 1:-1], (forward_state, backward_state)


def embed_batches(
    weights: Weights, options: Options, batches: Sequence[Sequence[Sequence[str]]]
) -> tuple[list[list[Array]], list[State]]:
    """Embed batch after batch, row k of each going on from where the last row k stopped.

    Returns
    -------
    layers : for each batch, for each of its rows, as `embed_sentence` gives them
    states : of every row that any batch had, after the last batch; a row that a smaller batch lacks keeps its state
    """
    states: list[State] = []
    layers = []
    for batch in batches:
        states += [zero_state(options) for _ in range(len(batch) - len(states))]
        rows = []
        for k, words in enumerate(batch):
            row, states[k] = embed_sentence(weights, options, words, states[k])
            rows.append(row)
        layers.append(rows)
    return layers, states


def random_official_model(options: Options, seed: int) -> dict[str, Array]:
    """Return float32 arrays under the official names, of a scale at which every gate, branch and clip matters."""
    random = np.random.default_rng(seed)

    def normal(*shape: int, scale: float) -> Array:
        return random.normal(scale=scale, size=shape).astype(np.float32)

    cnn, lstm = options["char_cnn"], options["lstm"]
    embedding_dim, n_filters = cnn["embedding"]["dim"], sum(n for _, n in cnn["filters"])
    projection_dim, dim = lstm["projection_dim"], lstm["dim"]
    weights = {"char_embed": normal(261, embedding_dim, scale=1)}
    for number, (width, n) in enumerate(cnn["filters"]):
        weights[f"CNN/W_cnn_{number}"] = normal(1, width, embedding_dim, n, scale=0.7 / (width * embedding_dim) ** 0.5)
        # Below zero, so that some features do not pass the relu.
        weights[f"CNN/b_cnn_{number}"] = normal(n, scale=0.5) - np.float32(1)
    for number in range(cnn.get("n_highway", 0)):
        for kind in ("carry", "transform"):
            weights[f"CNN_high_{number}/W_{kind}"] = normal(n_filters, n_filters, scale=1.5 / n_filters**0.5)
            weights[f"CNN_high_{number}/b_{kind}"] = normal(n_filters, scale=0.5)
    if n_filters != projection_dim:
        weights["CNN_proj/W_proj"] = normal(n_filters, projection_dim, scale=1.5 / n_filters**0.5)
        weights["CNN_proj/b_proj"] = normal(projection_dim, scale=0.3)
    # Outputs are to reach their clip, if there is one, and then not to swamp the gates they come back to.
    proj_clip = lstm.get("proj_clip")
    output_scale = 1.5 if proj_clip is None else 3 * proj_clip / np.tanh(lstm.get("cell_clip") or 3)
    for direction in range(2):
        for number in range(lstm["n_layers"]):
            name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{number}/LSTMCell"
            weights[f"{name}/W_0"] = normal(2 * projection_dim, 4 * dim, scale=1 / projection_dim**0.5)
            weights[f"{name}/B"] = normal(4 * dim, scale=1)
            weights[f"{name}/B"][2 * dim : 3 * dim] += 1  # cells that remember are cells that reach their clip
            if projection_dim < dim:
                weights[f"{name}/W_0"][projection_dim if number == 0 else 0 :] /= max(1, proj_clip or 1)
                weights[f"{name}/W_P_0"] = normal(dim, projection_dim, scale=output_scale / dim**0.5)
    return weights


def make_options(
    *,
    filters: Sequence[tuple[int, int]] = ((1, 4), (2, 5), (3, 6)),
    activation: str = "relu",
    n_highway: int = 1,
    embedding_dim: int = 4,
    max_characters: int = 12,
    dim: int = 10,
    projection_dim: int = 6,
    n_layers: int = 2,
    cell_clip: float | None = 1.0,
    proj_clip: float | None = 0.7,
    skip: bool = True,
) -> dict[str, Any]:
    """Return the content of an official options.json of a small model; a clip of None is left out of it."""
    lstm = {"dim": dim, "projection_dim": projection_dim, "n_layers": n_layers, "use_skip_connections": skip}
    clips = {"cell_clip": cell_clip, "proj_clip": proj_clip}
    return {
        "lstm": lstm | {name: clip for name, clip in clips.items() if clip is not None},
        "char_cnn": {
            "activation": activation,
            "embedding": {"dim": embedding_dim},
            "filters": [list(f) for f in filters],
            "n_highway": n_highway,
            "n_characters": 262,
            "max_characters_per_token": max_characters,
        },
    }


def read_official(options_path: Path, weights_path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the options and the arrays of an official pair of files."""
    weights: dict[str, Array] = {}

    def collect(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            weights[name] = item[()]

    with h5py.File(weights_path) as file:
        file.visititems(collect)
    options: dict[str, Any] = json.loads(options_path.read_text(encoding="utf-8"))
    return options, weights


def write_official(folder: Path, options: Options, weights: Weights) -> tuple[Path, Path]:
    """Write options.json and weights.hdf5 into `folder`, as the released models lay them out; return the two paths."""
    folder.mkdir(parents=True, exist_ok=True)
    options_path, weights_path = folder / "options.json", folder / "weights.hdf5"
    options_path.write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(weights_path, "w") as file:
        for name, array in weights.items():
            file[name] = array
    return options_path, weights_path


def changed(options: Options, **lstm: Any) -> dict[str, Any]:
    """Return a copy of `options` with some of its lstm fields replaced."""
    new = copy.deepcopy(dict(options))
    new["lstm"].update(lstm)
    return new
