"""The results store and its metrics, without torch: the only room that `reports` imports."""
