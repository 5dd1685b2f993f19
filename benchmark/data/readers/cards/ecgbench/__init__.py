"""Public datasets that the package ecgbench describes: configs, labels, folds; their signals are read here."""
