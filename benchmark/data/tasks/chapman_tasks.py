"""The 38 rhythms and conditions of Chapman-Shaoxing and Ningbo that MERL (Liu et al., ICML 2024) classifies.

SNOMED codes of the releases' headers -> acronyms of ConditionNames_SNOMED-CT.csv; where that file gives several
acronyms to one code, the first. Bradycardia is not among them, so a recording with it alone is dropped.
"""

from __future__ import annotations

CONDITION_OF_CODE: dict[str, str] = {
    "164917005": "AQW",  # abnormal Q wave
    "164937009": "UW",  # U wave
    "426783006": "SR",  # sinus rhythm
    "74390002": "WPW",
    "195042002": "2AVB",
    "713422000": "AT",  # atrial tachycardia
    "11157007": "VB",  # ventricular bigeminy
    "47665007": "ARS",  # axis right shift
    "428750005": "STTC",  # ST-T change
    "427393009": "SA",  # sinus irregularity
    "164930006": "STE",  # ST elevation
    "164931005": "STTU",  # ST tilt up
    "17338001": "VPB",  # ventricular premature beat, PhysioNet's code
    "427172004": "VPB",  # the same, the Challenge's code
    "59931005": "TWO",  # T wave opposite
    "39732003": "ALS",  # axis left shift
    "284470004": "APB",  # atrial premature beat
    "54016002": "2AVB1",
    "164947007": "PRIE",  # prolonged PR interval
    "251199005": "CCR",  # counterclockwise rotation
    "251198002": "CR",  # clockwise rotation
    "164890007": "AF",  # atrial flutter
    "233917008": "AVB",
    "111975006": "QTIE",  # prolonged QT interval
    "164909002": "LBBB",
    "75532003": "VEB",  # ventricular escape beat
    "426761007": "SVT",
    "733534002": "LBBB",  # complete, the Challenge's code
    "59118001": "RBBB",
    "713427006": "RBBB",  # complete, the Challenge's code
    "270492004": "1AVB",
    "429622005": "STDD",  # ST depression
    "164865005": "MI",
    "164889003": "AFIB",  # atrial fibrillation
    "164934002": "TWC",  # T wave change
    "164912004": "PWC",  # P wave change
    "428417006": "ERV",  # early repolarisation
    "89792004": "RVH",
    "164873001": "LVH",
    "427084000": "ST",  # sinus tachycardia
    "426995002": "JEB",  # junctional escape beat
}
CLASSES: tuple[str, ...] = tuple(dict.fromkeys(CONDITION_OF_CODE.values()))
"""In the order of MERL's files."""
CONDITION_OF_STATEMENT: dict[str, str] = {
    **CONDITION_OF_CODE,
    **{name: name for name in CLASSES},
    **dict.fromkeys(("MIBW", "MIFW", "MILW", "MISW"), "MI"),  # acronyms of one code
    **dict.fromkeys(("LBBBB", "LFBBB"), "LBBB"),
}
"""Of the codes of headers and the acronyms of figshare's table."""
