"""A run's settings: sections, command line, YAML, and what is refused."""
