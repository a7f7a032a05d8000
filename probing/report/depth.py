"""Where layers stand on a figure's horizontal axis: at their number, or at their relative depth where networks differ.

Layer 2 of a network with three layers is its top one, layer 2 of a network with thirteen is not: such layers never
share a place by their number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probing.report.series import Series
from probing.results import ordered_views


@dataclass(frozen=True, slots=True)
class LayerAxis:
    """Where each network's layers, and the views that join them, stand on the horizontal axis.

    Attributes
    ----------
    depths : mapping from encoder to int
        How many layers each network has of which a single layer is drawn.
    drawn : mapping from int to list of int
        The layers that are drawn of networks with so many, in order; fewer layers first.
    others : mapping from view to float
        The places of views without a layer number: after a gap.
    """

    depths: Mapping[str, int]
    drawn: Mapping[int, list[int]]
    others: Mapping[str, float]

    @property
    def relative(self) -> bool:
        """Whether networks differ in depth, so that the first layer stands at 0 and the top one at 1."""
        return len(self.drawn) > 1

    @property
    def unit(self) -> float:
        """The distance between neighbouring layers of the deepest network."""
        return 1 / max(1, max(self.drawn) - 1) if self.relative else 1.0

    @property
    def layers(self) -> list[float]:
        """The places of all layers that are drawn, in order."""
        return sorted({self._place(layer, depth) for depth, layers in self.drawn.items() for layer in layers})

    @property
    def views(self) -> int:
        """How many views the deepest network has, with those that join layers: the more, the wider a panel must be."""
        return max((len(layers) for layers in self.drawn.values()), default=0) + len(self.others)

    @property
    def note(self) -> str:
        """What a footnote says of the axis; "" where the layers' numbers say it."""
        if not self.relative:
            return ""
        *fewer, most = map(str, self.drawn)
        return (
            f"The networks have {', '.join(fewer)} and {most} layers: each layer stands at its relative depth, from "
            "the first (layer 0) to the top one. Below the axis are the layers' numbers, a row for each depth: the "
            "same number is not the same depth."
        )

    def at(self, encoder: str, view: str) -> float:
        """Return the place of one view of one network."""
        return self.others[view] if view in self.others else self._place(int(view), self.depths[encoder])

    def ticks(self, most: int) -> dict[float, str]:
        """Return the layers' numbers by place: a line of text for each depth, at most about `most` numbers a line."""
        if not self.relative:
            return {float(layer): str(layer) for layers in self.drawn.values() for layer in layers}
        lines: dict[float, list[str]] = {place: [""] * len(self.drawn) for place in self.layers}
        for line, (depth, layers) in enumerate(self.drawn.items()):
            for layer in _thinned(layers, most):
                lines[self._place(layer, depth)][line] = str(layer)
        return {place: "\n".join(texts) for place, texts in lines.items() if any(texts)}

    def named(self, encoder: str) -> str:
        """Return what a legend calls a network: with its number of layers where networks differ in it."""
        return f"{encoder}, {self.depths[encoder]} layers" if self.relative and encoder in self.depths else encoder

    def _place(self, layer: int, depth: int) -> float:
        return layer / max(1, depth - 1) if self.relative else float(layer)  # a single layer is the first one


def layer_axis(series: Sequence[Series], layer_names: Mapping[str, Sequence[str]] | None = None) -> LayerAxis:
    """Place the views of several series.

    Parameters
    ----------
    series : sequence of Series
        Of all panels that are to share an axis.
    layer_names : mapping from encoder to the names of its layers, optional
        Says how many layers a network has; one that is not there has as many as the highest that is drawn.
    """
    drawn_of: dict[str, set[int]] = {}
    for one in series:
        drawn_of.setdefault(one.encoder, set()).update(int(view) for view in one.cells if view.isdecimal())
    depths = {
        encoder: max(len((layer_names or {}).get(encoder, ())), max(layers) + 1)
        for encoder, layers in drawn_of.items()
        if layers
    }
    drawn: dict[int, set[int]] = {}
    for encoder, depth in sorted(depths.items(), key=lambda item: item[1]):
        drawn.setdefault(depth, set()).update(drawn_of[encoder])
    several = len(drawn) > 1
    top = max((max(layers) for layers in drawn.values()), default=0)
    if several:
        top = max(drawn) - 1
    # The names of the other views need more room than a layer's number.
    step, last = max(1.4, top / 6), float(top)
    if several:
        step, last = step / top, 1.0
    others = [view for view in ordered_views(view for one in series for view in one.cells) if not view.isdecimal()]
    return LayerAxis(
        depths,
        {depth: sorted(layers) for depth, layers in drawn.items()},
        {view: last + step * (index + 1) for index, view in enumerate(others)},
    )


def _thinned(layers: Sequence[int], most: int) -> list[int]:
    """Return every so many of the layers, the first and the last always among them."""
    stride = -(-(len(layers) - 1) // max(1, most - 1)) or 1
    return [layer for layer in layers[:-1:stride] if layers[-1] - layer >= stride] + [layers[-1]]
