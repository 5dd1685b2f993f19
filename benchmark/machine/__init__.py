"""The machine of a run: device, memory, energy, processes and ranks."""
