"""What is said of the results: stored rows -> tidy frame -> tables -> Markdown, LaTeX and CSV. Never imports torch."""
