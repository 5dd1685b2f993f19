"""What a pretraining method promises, and whether one keeps it: the verb `check-method` and the contract tests."""
