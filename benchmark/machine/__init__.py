"""The machine of a run: device, memory, energy and processes."""
