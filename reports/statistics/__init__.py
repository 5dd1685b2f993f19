"""What the numbers can show: the bootstrap over test patients, intervals, paired tests, components of variance."""
