"""One paper: its printed numbers and claims, what can be checked of them, and a results store beside them."""
