"""Every method and the preparation in plain form, as commonly written: what `speed` measures the suite against."""
