"""Features, labels -> predictions. A new probe is one new file here and one line in `PROBES`."""

from probing.probes.base import Answers, ProbeConfig
from probing.probes.first_sense import FirstSenseConfig, MostFrequentSenseConfig
from probing.probes.linear import LinearConfig, LinearProbe
from probing.probes.majority import MajorityConfig, MajorityProbe, TypeMajorityConfig, TypeMajorityProbe
from probing.probes.masked_linear import MaskedLinearProbe
from probing.probes.nearest import NearestConfig, NearestSenseProbe

PROBES: dict[str, type[ProbeConfig]] = {
    "majority": MajorityConfig,
    "type-majority": TypeMajorityConfig,
    "first-sense": FirstSenseConfig,
    "most-frequent-sense": MostFrequentSenseConfig,
    "nearest": NearestConfig,
    "linear": LinearConfig,
}

__all__ = [
    "PROBES",
    "Answers",
    "LinearProbe",
    "MajorityProbe",
    "MaskedLinearProbe",
    "NearestSenseProbe",
    "ProbeConfig",
    "TypeMajorityProbe",
]
