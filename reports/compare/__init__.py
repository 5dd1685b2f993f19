"""Two runs side by side: where they differ, and whether by more than chance."""
