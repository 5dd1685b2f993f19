"""The classical baseline, the `features` row: boosted trees on hand-crafted beat features."""
