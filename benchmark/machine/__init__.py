"""The machine of a run: device, memory and processes."""
