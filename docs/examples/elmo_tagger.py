"""ELMo in a model of one's own: a BiLSTM tagger that reads ELMo's vectors, trained on a handful of sentences."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bilm import BiLM, Elmo, ScalarMix, batch_to_ids
from probing.corpora import Sentence, load_split


class Tagger(nn.Module):
    """ELMo, a BiLSTM over its vectors, and a score for each tag."""

    def __init__(self, bilm: BiLM, n_tags: int, width: int = 32, *, freeze: bool = True) -> None:
        super().__init__()
        self.elmo = Elmo(bilm, n_mixes=1, dropout=0.5, freeze=freeze)
        self.lstm = nn.LSTM(bilm.dim, width, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(2 * width, n_tags)

    @property
    def mix(self) -> ScalarMix:
        """The weights of ELMo's layers."""
        (mix,) = self.elmo.mixes
        assert isinstance(mix, ScalarMix)
        return mix

    def forward(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Return the tags' scores, shape (batch, time, n_tags), and where there is a word, shape (batch, time)."""
        vectors, mask, _ = self.elmo(batch_to_ids(sentences, self.elmo.bilm.max_characters))
        lengths = mask.sum(dim=1)
        packed = nn.utils.rnn.pack_padded_sequence(vectors[0], lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.scores(hidden), mask


def loss_of(tagger: Tagger, batch: Sequence[Sentence], tags: Sequence[str]) -> Tensor:
    """Return the mean cross-entropy of the words, and what holds the mix near the plain average."""
    scores, mask = tagger([sentence.tokens for sentence in batch])
    gold = torch.tensor([tags.index(tag) for sentence in batch for tag in sentence.columns["upos"]])
    return nn.functional.cross_entropy(scores[mask], gold) + tagger.mix.penalty(0.001)


def train(tagger: Tagger, sentences: Sequence[Sentence], tags: Sequence[str], steps: int = 40) -> None:
    """Take some steps, each on the next 16 sentences."""
    optimizer = torch.optim.Adam((one for one in tagger.parameters() if one.requires_grad), lr=0.01)
    tagger.train()
    for step in range(steps):
        start = 16 * step % len(sentences)
        optimizer.zero_grad()
        loss_of(tagger, sentences[start : start + 16], tags).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


@torch.no_grad()
def accuracy(tagger: Tagger, sentences: Sequence[Sentence], tags: Sequence[str]) -> float:
    """Return the share of words that get their tag."""
    scores, mask = tagger.eval()([sentence.tokens for sentence in sentences])
    gold = torch.tensor([tags.index(tag) for sentence in sentences for tag in sentence.columns["upos"]])
    return float((scores[mask].argmax(dim=1) == gold).float().mean())


if __name__ == "__main__":
    torch.manual_seed(0)
    some, others = load_split("homographs", "train")[::8], load_split("homographs", "dev")
    tags = sorted({tag for sentence in some for tag in sentence.columns["upos"]})
    tagger = Tagger(BiLM.from_pretrained("small-en"), len(tags))
    train(tagger, some, tags)
    weights = ", ".join(f"{weight:.2f}" for weight in tagger.mix.weights())
    learned = f"{100 * accuracy(tagger, others, tags):.1f} % of the words; the layers weigh {weights}"
    print(learned)  # noqa: T201
