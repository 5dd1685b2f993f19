"""What is said of stored results: tables, figures, pages. Never imports torch, methods or the runner."""
