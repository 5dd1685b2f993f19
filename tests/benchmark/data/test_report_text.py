"""Report embeddings: near for like reports, the same every time, cached by content, and clear when they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from benchmark.data import report_text
from benchmark.data.report_text import WIDTH, embed_reports, embedder_identity, has_text, tfidf_vectors
from benchmark.results.names import TFIDF

CPU = torch.device("cpu")

REPORTS = [
    "Sinus rhythm. Normal ECG",
    "Atrial fibrillation. Abnormal ECG",
    "Sinus rhythm. Left bundle branch block",
    "Sinus rhythm. Normal ECG",
    "Atrial fibrillation with rapid ventricular response",
]


def embed(reports: list[str], cache: Path) -> NDArray[np.float32]:
    return embed_reports(reports, TFIDF, cache=cache, device=CPU)


def test_a_single_letter_is_text() -> None:
    assert [has_text(report) for report in ("", " . ", "r", "Sinus rhythm")] == [False, False, True, True]


def test_similar_reports_have_near_vectors() -> None:
    vectors = tfidf_vectors(REPORTS)
    assert vectors.shape == (5, WIDTH)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    likeness = vectors @ vectors.T
    assert likeness[0, 3] == pytest.approx(1)
    assert likeness[1, 4] > 0.2 > likeness[0, 1]
    assert likeness[0, 4] == pytest.approx(0, abs=1e-5)
    assert not vectors[:, len(REPORTS) :].any(), "columns beyond the rank"
    assert not np.allclose(*tfidf_vectors(["low r in V1", "low S in V1"]))


def test_the_vector_of_a_report_is_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flip: Callable[[Path, float], None]
) -> None:
    first = embed(REPORTS, tmp_path)
    np.testing.assert_array_equal(first[0], first[3])
    np.testing.assert_array_equal(first[[0, 1, 2, 4]], tfidf_vectors([REPORTS[i] for i in (0, 1, 2, 4)]))
    (file,) = tmp_path.iterdir()
    with monkeypatch.context() as patch:
        patch.delattr(report_text, "tfidf_vectors")
        np.testing.assert_array_equal(embed(REPORTS, tmp_path), first)
    embed([*REPORTS, "Pacemaker"], tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    flip(file, 0.5)
    np.testing.assert_array_equal(embed(REPORTS, tmp_path), first)
    file.unlink()
    np.testing.assert_array_equal(embed(REPORTS, tmp_path), first)


def test_a_language_model_in_a_folder_counts_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_text, "find_spec", lambda name: object())
    for folder, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text("{}")
        (tmp_path / folder / "model.safetensors").write_bytes(weights)
    identity = {name: embedder_identity(str(tmp_path / name))["embedder"] for name in "abc"}
    assert identity["a"] == identity["b"] != identity["c"]
    assert embedder_identity("emilyalsentzer/Bio_ClinicalBERT")["embedder"] == "emilyalsentzer/Bio_ClinicalBERT"
    assert embedder_identity(TFIDF)["embedder"] == TFIDF
    embedder_identity.cache_clear()
