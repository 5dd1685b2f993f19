"""What is wrong with datasets, alone and together, and what they hold."""
