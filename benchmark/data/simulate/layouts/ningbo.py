"""Ningbo in the PhysioNet form, as Chapman, with the numbers from JS10647 on.

Rhythms and conditions are as often as the Challenge 2021 counts them in Ningbo: more bradycardia and flutter than in
Chapman, and no fibrillation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmark.data.simulate.layouts import chapman
from benchmark.data.simulate.population import Population

FIRST, LAST = 10_647, 45_551

POPULATION = Population(
    conditions={
        "NORM": 0.57,
        "TWI": 0.22,
        "LVH": 0.018,
        "RBBB": 0.037,
        "LBBB": 0.007,
        "LAFB": 0.033,
        "STD": 0.036,
        "AVB1": 0.025,
        "AVB2": 0.001,
        "AVB3": 0.0002,
        "RVH": 0.001,
        "MI-ANT": 0.002,
        "MI-INF": 0.024,
        "STE-ANT": 0.011,
        "STE-INF": 0.011,
        "PAC": 0.030,
        "PVC": 0.031,
    },
    companion=0.15,
    rhythms={"SB": 0.363, "SR": 0.181, "AFL": 0.218, "ST": 0.163, "SA": 0.073, "SVT": 0.004},
)

LAYOUT = replace(
    chapman.LAYOUT,
    population=POPULATION,
    most_patients=LAST - FIRST + 1,
    write_recording=partial(chapman.write_recording, first=FIRST),
)
