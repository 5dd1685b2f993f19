"""What another run would find: how many seeds or test patients it takes, and the chance that it finds the same."""
