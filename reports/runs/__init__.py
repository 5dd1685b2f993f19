"""Results that were read: one run opened, runs that may be put together, capsules, the tables a plan calls for."""
