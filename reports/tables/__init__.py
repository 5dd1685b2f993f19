"""Values -> text: the table as a value, and its forms as Markdown, LaTeX, CSV and lines of a terminal."""
