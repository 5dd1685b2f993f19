"""Methods that known answers alone use; each is given to a run as a file."""
