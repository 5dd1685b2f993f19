"""A folder in; the text of a first card out, with a question where the folder does not tell. Imported by verbs."""
