"""Weights of official modules under our names: a file for each whose names are not nearly ours."""
