"""The data of a run: found or simulated, audited, prepared."""
