"""How files are written whole, read within bounds, and sealed: bytes and JSON, nothing of what they say."""
