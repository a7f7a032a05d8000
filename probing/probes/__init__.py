"""Features, labels -> predictions. A new probe is one new file here and one line in `PROBES`."""

from probing.probes.base import Answers, ProbeConfig, Problem
from probing.probes.bilstm import BilstmConfig
from probing.probes.conditional import ConditionalConfig
from probing.probes.control import ControlConfig
from probing.probes.first_sense import FirstSenseConfig, MostFrequentSenseConfig
from probing.probes.linear import LinearConfig, LinearProbe
from probing.probes.majority import MajorityConfig, MajorityProbe, TypeMajorityConfig, TypeMajorityProbe
from probing.probes.masked_linear import MaskedLinearProbe
from probing.probes.mdl import MDLConfig
from probing.probes.mix import MixConfig, MixProbe
from probing.probes.mlp import MLPConfig, MLPProbe
from probing.probes.nearest import NearestConfig, NearestSenseProbe

PROBES: dict[str, type[ProbeConfig]] = {
    "majority": MajorityConfig,
    "type-majority": TypeMajorityConfig,
    "first-sense": FirstSenseConfig,
    "most-frequent-sense": MostFrequentSenseConfig,
    "nearest": NearestConfig,
    "linear": LinearConfig,
    "control": ControlConfig,
    "mdl": MDLConfig,
    "conditional": ConditionalConfig,
    "mix": MixConfig,
    "mlp": MLPConfig,
    "bilstm": BilstmConfig,
}

__all__ = [
    "PROBES",
    "Answers",
    "LinearProbe",
    "MLPProbe",
    "MajorityProbe",
    "MaskedLinearProbe",
    "MixProbe",
    "NearestSenseProbe",
    "ProbeConfig",
    "Problem",
    "TypeMajorityProbe",
]
