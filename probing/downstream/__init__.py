"""Small models of a task's own that read a biLM's layers beside the words: what ELMo was made for."""

from probing.downstream.classifier import BiLSTMClassifier
from probing.downstream.placement import Placement, parse_placement
from probing.downstream.sequences import Sequences

__all__ = ["BiLSTMClassifier", "Placement", "Sequences", "parse_placement"]
