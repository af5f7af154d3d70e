"""Sweeps: one function measured for sizes and providers, as a table and a plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .tables import aligned, significant
from .timing import Timing


@dataclass(frozen=True)
class SweepTable:
    """What a sweep measured: for each value of `name` and each provider a number, or the median in ms."""

    title: str
    name: str
    unit: str
    providers: list[str]
    rows: list[tuple[Any, list[float]]]

    def __str__(self) -> str:
        cells = [[str(value), *(significant(f) for f in figures)] for value, figures in self.rows]
        return f"{self.title}, {self.unit}\n" + aligned([[self.name, *self.providers], *cells], texts=1)

    def csv(self) -> str:
        """Returns the table as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([self.name, *self.providers])
        writer.writerows([value, *(f"{f:.6g}" for f in figures)] for value, figures in self.rows)
        return out.getvalue()

    def plot(self, path: str, dark: bool = False) -> None:
        """Draws the table to a file, .svg or .png. Raises PlotError, without matplotlib for one."""
        from .plots import plot_lines

        lines = {p: [figures[i] for _, figures in self.rows] for i, p in enumerate(self.providers)}
        plot_lines(path, self.title, self.name, self.unit, [value for value, _ in self.rows], lines, dark)


class Sweep:
    """A function that measures one value and one provider; made by `kw.testing.sweep`."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        values: Sequence[Any],
        providers: Mapping[str, str],
        unit: str,
    ) -> None:
        self.function, self.name, self.values = function, name, values
        self.providers, self.unit = providers, unit

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)

    def run(self, plot: str = "", dark: bool = False, **more: Any) -> SweepTable:
        """Calls the function for every value and provider; `more` are further arguments of it. Draws the
        table to the file `plot`, if it is given.
        """
        rows = []
        for value in self.values:
            figures = []
            for provider in self.providers:
                found = self.function(**{self.name: value}, provider=provider, **more)
                figures.append(found.median * 1e3 if isinstance(found, Timing) else float(found))
            rows.append((value, figures))
        title = self.function.__name__
        table = SweepTable(title, self.name, self.unit, list(self.providers.values()), rows)
        if plot:
            table.plot(plot, dark)
        return table


def sweep(
    name: str, values: Iterable[Any], providers: Mapping[str, str] | Iterable[str], unit: str = "ms"
) -> Callable[[Callable[..., Any]], Sweep]:
    """Makes a sweep of a function of `name` and `provider`, which returns a number or a Timing.

    `providers` are the values of `provider`, with the names that table and plot show if it is a mapping.
        @kw.testing.sweep("n", [2**k for k in range(8, 20)], {"kw": "kernelwright", "np": "NumPy"}, "GB/s")
        def add(n, provider):
            x = np.ones(n, "f4")
            t = kw.testing.bench(lambda: mine(x, x) if provider == "kw" else x + x)
            return 3 * x.nbytes / t.median / 1e9
        print(add.run(plot="add.svg"))
    """
    chosen = dict(providers) if isinstance(providers, Mapping) else {p: p for p in providers}
    return lambda function: Sweep(function, name, list(values), chosen, unit)
