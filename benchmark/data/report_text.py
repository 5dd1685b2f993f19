"""Report text -> frozen embeddings, one per distinct report, kept beside the prepared recordings.

`tfidf` needs no download: TF-IDF of the words, then a truncated singular value decomposition (latent semantic
analysis), fitted on the pretraining reports alone. Any other name is a folder or a hub name of a language model for
transformers, e.g. emilyalsentzer/Bio_ClinicalBERT, of which the pooled output of the first token is taken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from benchmark.data.datasets.base import DatasetError
from benchmark.results.arrays import Floats
from benchmark.results.files import digest, seal, unseal, write_atomic
from benchmark.results.names import TFIDF, install

TEXT_VERSION = 1
"""Raised with any change that can move an embedding."""
WIDTH = 768
"""Columns of a TF-IDF embedding, as many as of a BERT model; those beyond the rank of the reports are zero."""
MAX_TOKENS = 128
TEXTS_AT_A_TIME = 64


def has_text(report: str) -> bool:
    """Tell whether a report has a letter or digit."""
    return any(character.isalnum() for character in report)


def embed_reports(reports: Sequence[str], embedder: str, *, cache: Path, device: torch.device) -> Floats:
    """Embed reports, (R, E), cached in the folder `cache` in a file that carries its digest.

    A language model runs on `device`. Raises DatasetError if the embedder is not available.
    """
    distinct = list(dict.fromkeys(reports))
    path = cache / f"text-{digest([embedder_identity(embedder), distinct])}.f32"
    try:
        body = unseal(path.name, path.read_bytes())
    except (FileNotFoundError, ValueError):
        vectors = tfidf_vectors(distinct) if embedder == TFIDF else model_vectors(distinct, embedder, device)  # (D, E)
        body = vectors.tobytes()
        write_atomic(path, seal(path.name, body))
    stored = np.frombuffer(body, np.float32).reshape(len(distinct), -1)  # (D, E)
    number = {report: index for index, report in enumerate(distinct)}
    return stored[[number[report] for report in reports]]


@lru_cache(maxsize=8)
def embedder_identity(embedder: str) -> dict[str, str | int]:
    """Return what determines the embeddings besides the text, for content keys; a folder is hashed by its files' bytes.

    Raises DatasetError for a language model if transformers is not installed.
    """
    if embedder != TFIDF and find_spec("transformers") is None:
        raise DatasetError(
            f"pretrain.text_embedder={embedder} needs a package: {install('transformers')}, or use {TFIDF}"
        )
    if embedder != TFIDF and Path(embedder).is_dir():
        content = hashlib.sha256()
        for path in sorted(path for path in Path(embedder).iterdir() if path.is_file()):
            content.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        embedder = content.hexdigest()
    return {"embedder": embedder, "version": TEXT_VERSION}


def tfidf_vectors(texts: Sequence[str]) -> Floats:
    """Embed texts by TF-IDF and truncated SVD, fitted on themselves: (D, WIDTH) with rows of unit length."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    # Single letters are kept: 'r' and 'S' are waves.
    weights = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts)  # (D, words)
    components = min(WIDTH, *weights.shape)
    reduced = normalize(TruncatedSVD(components, random_state=0).fit_transform(weights))  # (D, components)
    return np.pad(reduced, ((0, 0), (0, WIDTH - components))).astype(np.float32)


def model_vectors(texts: Sequence[str], name: str, device: torch.device) -> Floats:
    """Embed texts by the pooled outputs of a frozen BERT model, of at most 128 tokens each: (D, E).

    Raises DatasetError where the model cannot be loaded.
    """
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModel.from_pretrained(name).to(device).eval()
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DatasetError(f"pretrain.text_embedder = {name!r}: {reason}; give a folder or a hub name") from error
    vectors = []
    for start in range(0, len(texts), TEXTS_AT_A_TIME):
        chunk = list(texts[start : start + TEXTS_AT_A_TIME])
        tokens = tokenizer(chunk, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            vectors.append(model(**tokens.to(device)).pooler_output.float().cpu().numpy())  # (d, E)
    return np.concatenate(vectors)
