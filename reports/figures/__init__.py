"""Figures: what they show, how they are drawn, which a run has."""
