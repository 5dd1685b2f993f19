"""Plain implementations of the methods and the preparation, the baseline of `speed`, which alone imports them."""
