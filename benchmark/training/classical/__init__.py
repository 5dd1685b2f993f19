"""The classical baseline, the `features` row: hand-crafted measures of a beat, and boosted trees on them."""
