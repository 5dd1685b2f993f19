"""An exported encoder as a scikit-learn transformer: recordings in, embeddings out.

    make_pipeline(EcgEmbedder("pmq", rate=500, leads=[...]), StandardScaler(), LogisticRegression())

X is (n, samples, leads) or a list of arrays (samples, leads). Nothing is learned from X: `fit` loads the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from benchmark.config.errors import ConfigError
from benchmark.embedding.cut import Signals, check_signals, columns_of
from benchmark.embedding.encode import Unusables, load_encoder


class EcgEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recordings -> embeddings (n, K), as `SavedEncoder.encode`.

    A fitted one holds the encoder's weights: a pickle of it needs the suite and not the folder.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        rate: float | None = None,
        leads: Sequence[str] | None = None,
        *,
        unusable: Unusables = "raise",
        device: str = "cpu",
        precision: str | None = None,
        code: str | Path | None = None,
    ) -> None:
        """Parameters as of `load_encoder` and `encode`; folder, rate (Hz) and leads have to be given before `fit`.

        unusable: 'raise', or 'nan' for rows of NaN, which most classifiers refuse.
        """
        self.folder = folder
        self.rate = rate
        self.leads = leads
        self.unusable = unusable
        self.device = device
        self.precision = precision
        self.code = code

    def fit(self, X: Signals, y: Any = None) -> Self:
        """Load the encoder; X is checked and y not looked at. Raises ConfigError (a ValueError) in one line."""
        for name in ("folder", "rate", "leads"):
            if getattr(self, name) is None:
                raise ConfigError(f"EcgEmbedder: give {name}=, e.g. EcgEmbedder('pmq', rate=500, leads=['I', ...])")
        encoder = load_encoder(self.folder or "", device=self.device, precision=self.precision, code=self.code)
        columns_of(self.leads or (), encoder.description.taken.leads)
        check_signals(X, self.rate or 0.0, self.leads or ())
        self.encoder_ = encoder
        return self

    def transform(self, X: Signals) -> NDArray[np.float32]:
        """Embeddings (n, K). Raises NotFittedError before `fit`, ConfigError (a ValueError) like `encode`."""
        check_is_fitted(self)
        return self.encoder_.encode(X, self.rate or 0.0, self.leads or (), unusable=self.unusable)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names (K,) of the columns, 'e0', 'e1', ...; those of X, if given, are not looked at."""
        check_is_fitted(self)
        return np.array(self.encoder_.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
