"""Features, labels -> predictions. A new probe is one new file here and one line in `PROBES`."""

from probing.probes.base import Probe, ProbeConfig
from probing.probes.linear import LinearConfig, LinearProbe
from probing.probes.majority import MajorityConfig, MajorityProbe, TypeMajorityConfig, TypeMajorityProbe

PROBES: dict[str, type[ProbeConfig]] = {
    "majority": MajorityConfig,
    "type-majority": TypeMajorityConfig,
    "linear": LinearConfig,
}

__all__ = ["PROBES", "LinearProbe", "MajorityProbe", "Probe", "ProbeConfig", "TypeMajorityProbe"]
