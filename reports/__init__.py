"""Stored results -> statistics, tables, figures, one HTML page. Imported by the command lines; never imports torch."""
