"""The version of the distribution, in the one place from which everything else reads it."""

__version__ = "0.1.0"
