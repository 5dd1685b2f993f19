"""Writes a stand-in for published weights in three forms: a checkpoint with its network, TorchScript, ONNX.

python docs/elsewhere/make.py theirs
"""

from __future__ import annotations

import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
from theirs import Network, Theirs  # noqa: E402

from benchmark.cli.export import quiet  # noqa: E402


def main(folder: Path) -> None:
    """Write the files and cards of docs/METHODS.md into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    network = Network().eval()
    torch.save(network.state_dict(), folder / "weights.pt")
    shutil.copy(HERE / "theirs.py", folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit, by torch itself
        torch.jit.script(network).save(str(folder / "scripted.pt"))  # type: ignore[no-untyped-call]
    card = (HERE / "card.yaml").read_text(encoding="utf-8")
    (folder / "scripted.yaml").write_text(card, encoding="utf-8")
    if find_spec("onnx") is None:
        print("onnx is not installed: graph.onnx is not written")
        return
    windows = torch.zeros(2, len(Theirs.signals.leads), Theirs.signals.samples)  # (B, L, S)
    with quiet():
        torch.onnx.export(
            network,
            (windows,),
            str(folder / "graph.onnx"),
            input_names=["windows"],
            output_names=["features"],
            dynamic_axes={"windows": {0: "n"}, "features": {0: "n"}},
            dynamo=False,  # quick for a network without control flow
        )
    card = card.replace("scripted.pt", "graph.onnx").replace("theirs-scripted", "theirs-onnx")
    (folder / "graph.yaml").write_text(card.replace("(TorchScript)", "(ONNX)"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
