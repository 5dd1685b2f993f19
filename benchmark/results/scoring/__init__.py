"""How the lines of a class are counted for its scores: by rank, and in bins of probability. For benchmark.results."""
