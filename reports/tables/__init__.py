"""Tables as values, and as Markdown, LaTeX, CSV and terminal text."""
