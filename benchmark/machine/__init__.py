"""What a run computes with: device, precision, threads, memory, energy, seeds, versions. Imports no other room."""
