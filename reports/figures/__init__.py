"""Values -> pictures: what is drawn, its caption, and draw/, the one place that knows matplotlib."""
