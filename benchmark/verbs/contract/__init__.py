"""What methods and encoders promise, and whether one keeps it: `check-method`, `check-encoder`, the contract tests."""
