"""How fast this machine does the work, against plain forms of the same: the verb `speed`."""
