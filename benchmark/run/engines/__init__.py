"""Where tasks run. An engine takes a function and its tasks and yields each task as it ends."""
