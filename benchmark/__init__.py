"""How the methods are compared: data, pretraining, fine-tuning, the grid and its store."""
