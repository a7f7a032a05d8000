"""Tiny Transformers with tokenizers of their own, made here and saved as the transformers library saves them."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.probing.toy import TAGS

REASON = "needs the extra [transformers]"
LETTERS = "abcdefghijklmnopqrstuvwxyz.!"
WHOLE = sorted({word for words in TAGS.values() for word in words if len(word) > 1} - {"goose", "sinks"})
"""Words that are one sub-word each; others are several."""
KINDS = ("bert", "electra", "roberta", "gpt2", "openai-gpt", "unigram-bert")
LEFT_TO_RIGHT = ("gpt2", "openai-gpt")
WINDOW = 16
"""Sub-words at once, special tokens among them."""


def tokenizer_of(kind: str) -> Any:
    """Return a tokenizer as the library has it, whose vocabulary has most words of the toy treebank whole.

    WordPiece for bert and electra, byte-level BPE for gpt2 and roberta (neither sets a space before the first word),
    BPE of letters for openai-gpt, and for unigram-bert what SentencePiece makes: Unigram with "▁" for a space.
    """
    transformers = pytest.importorskip("transformers", reason=REASON)
    backend, names = {
        "bert": _word_piece,
        "electra": _word_piece,
        "roberta": _byte_level_roberta,
        "gpt2": _byte_level_gpt2,
        "openai-gpt": _letters,
        "unigram-bert": _unigram,
    }[kind]()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=10**30, **names)


def network_of(kind: str, vocabulary: int, seed: int = 0) -> Any:
    """Return a random network of two blocks, width 16, that reads WINDOW sub-words at once."""
    transformers = pytest.importorskip("transformers", reason=REASON)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    shape |= {"vocab_size": vocabulary, "max_position_embeddings": WINDOW}
    more: dict[str, Any] = {"initializer_range": 0.3, "pad_token_id": 0}
    config = {
        "bert": lambda: transformers.BertConfig(**shape, **more),
        "unigram-bert": lambda: transformers.BertConfig(**shape, **more),
        "electra": lambda: transformers.ElectraConfig(**shape, **more, embedding_size=8),
        "roberta": lambda: transformers.RobertaConfig(
            **shape | {"max_position_embeddings": WINDOW + 2}, **more | {"pad_token_id": 1}
        ),
        "gpt2": lambda: transformers.GPT2Config(
            vocab_size=vocabulary, n_positions=WINDOW, n_embd=16, n_layer=2, n_head=2, initializer_range=0.3
        ),
        "openai-gpt": lambda: transformers.OpenAIGPTConfig(
            vocab_size=vocabulary, n_positions=WINDOW, n_embd=16, n_layer=2, n_head=2, initializer_range=0.3
        ),
    }[kind]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.AutoModel.from_config(config).eval()


def save_transformer(kind: str, folder: Path, seed: int = 0) -> str:
    """Save a network with its tokenizer; return the folder, as a config's `huggingface`."""
    tokenizer = tokenizer_of(kind)
    network_of(kind, len(tokenizer), seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _word_piece() -> tuple[Any, dict[str, str]]:
    tokenizers = pytest.importorskip("tokenizers", reason=REASON)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WHOLE, "go", "##ose"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    backend.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    # As in all-MiniLM-L6-v2: a file can ask for cuts and filling that would cost words.
    backend.enable_truncation(8)
    backend.enable_padding(length=8)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return backend, names | {"mask_token": "[MASK]"}


def _byte_level_gpt2() -> tuple[Any, dict[str, str]]:
    backend = _byte_level(["<|endoftext|>"])
    return backend, {"unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}


def _byte_level_roberta() -> tuple[Any, dict[str, str]]:
    tokenizers = pytest.importorskip("tokenizers", reason=REASON)
    backend = _byte_level(["<s>", "<pad>", "</s>", "<unk>"])
    backend.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"}
    return backend, names | {"unk_token": "<unk>", "pad_token": "<pad>"}


def _byte_level(special: list[str]) -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason=REASON)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    merges = [merge for word in WHOLE for merge in _merges(["Ġ", *word])]
    vocabulary = [*special, *alphabet, *("".join(merge) for merge in merges)]
    numbered = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(numbered, merges))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return backend


def _letters() -> tuple[Any, dict[str, str]]:
    tokenizers = pytest.importorskip("tokenizers", reason=REASON)
    merges = [merge for word in WHOLE for merge in _merges([*word[:-1], f"{word[-1]}</w>"])]
    vocabulary = ["<unk>", *LETTERS, *(f"{letter}</w>" for letter in LETTERS), *("".join(merge) for merge in merges)]
    numbered = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary))}
    backend = tokenizers.Tokenizer(
        tokenizers.models.BPE(numbered, merges, unk_token="<unk>", end_of_word_suffix="</w>")
    )
    backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return backend, {"unk_token": "<unk>"}


def _merges(pieces: list[str]) -> list[tuple[str, str]]:
    """Return the merges that make one sub-word of a word, from the left."""
    return [("".join(pieces[:end]), pieces[end]) for end in range(1, len(pieces))]


def _unigram() -> tuple[Any, dict[str, str]]:
    tokenizers = pytest.importorskip("tokenizers", reason=REASON)
    scores = dict.fromkeys(("<pad>", "<s>", "</s>", "<unk>"), 0.0)
    scores |= dict.fromkeys(("▁", *LETTERS), -5.0) | {f"▁{word}": -2.0 for word in WHOLE}
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram(list(scores.items()), unk_id=3))
    invisible = tokenizers.Regex("[\u00ad\u200b\ufe0f]")
    backend.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Replace(invisible, "")]
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return backend, names
