"""The grid of a comparison and the runner that works it off."""
