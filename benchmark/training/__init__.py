"""Pretraining, fine-tuning and probes of one encoder."""
