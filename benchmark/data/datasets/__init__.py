"""One file a dataset, whole: reader, statements and tasks; cards of own data; the package ecgbench."""
