"""All that the terminal shows: notes, errors, progress, tables. The one owner of rich; imports no other room."""
