"""The public names of the suite: judge encoders, compare predictions, load results and encoders.

    import ecg_pretrain_bench as ecg

    results = ecg.evaluate({"mine": network}, ours, signals=reads)

What `__all__` lists is stable from version 0.1.0 on; anything else of the suite may change. A name is imported when it
is asked for: results and comparisons of predictions load no torch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.data.datasets.arrays import Arrays
    from benchmark.embedding import load_encoder
    from benchmark.evaluation import check, evaluate
    from methods.encoders.pretrained import SignalFormat
    from reports.answer import Results
    from reports.answer import load as load_results
    from reports.second_opinion import compare_predictions

__version__ = "0.1.0"
__all__ = [
    "Arrays", "Results", "SignalFormat", "__version__", "check", "compare_predictions", "evaluate", "load_encoder",
    "load_results",
]  # fmt: skip
MODULES = {
    "Arrays": "benchmark.data.datasets.arrays:Arrays",
    "Results": "reports.answer:Results",
    "SignalFormat": "methods.encoders.pretrained:SignalFormat",
    "check": "benchmark.evaluation:check",
    "compare_predictions": "reports.second_opinion:compare_predictions",
    "evaluate": "benchmark.evaluation:evaluate",
    "load_encoder": "benchmark.embedding:load_encoder",
    "load_results": "reports.answer:load",
}
"""Public name -> module and name in it."""


def __getattr__(name: str) -> Any:
    """Import a public name. Raises AttributeError for any other."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_shadows()
    module, _, inner = MODULES[name].partition(":")
    return getattr(import_module(module), inner)


def refuse_shadows() -> None:
    """Raise ImportError where a folder of the working directory is imported in place of a package of the suite."""
    root = Path(__file__).resolve().parents[1]
    for package in ("benchmark", "methods", "reports"):
        spec = find_spec(package)
        folders = [] if spec is None else [Path(folder).resolve() for folder in spec.submodule_search_locations or ()]
        if folders != [root / package]:
            shadow = ", ".join(map(str, folders)) or "nothing"
            raise ImportError(f"{package} is {shadow}, not {root / package}: rename that folder, or start elsewhere")


def __dir__() -> list[str]:
    return __all__
