"""Tests of the contracts of methods and encoders, for `check-method`, `check-encoder` and the contract tests."""
