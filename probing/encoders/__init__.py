"""Sentences -> layers. A new kind of encoder is one new file here and one line in `ENCODERS`."""

from probing.encoders.base import Encoder, EncoderConfig
from probing.encoders.bilm import BilmEncoderConfig
from probing.encoders.hdf5 import Hdf5EncoderConfig
from probing.encoders.huggingface import HuggingfaceEncoderConfig

ENCODERS: dict[str, type[EncoderConfig]] = {
    "bilm": BilmEncoderConfig,
    "huggingface": HuggingfaceEncoderConfig,
    "hdf5": Hdf5EncoderConfig,
}
"""By the key that tells the kind of an encoder in a config: `{bilm: MODEL}`."""

__all__ = ["ENCODERS", "BilmEncoderConfig", "Encoder", "EncoderConfig", "Hdf5EncoderConfig", "HuggingfaceEncoderConfig"]
