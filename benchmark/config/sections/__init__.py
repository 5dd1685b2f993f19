"""The sections of a config: keys, types, bounds and meanings; `benchmark.config.config` joins them."""
