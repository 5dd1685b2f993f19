"""Files of each hospital format with the same made-up samples, written from the formats' specifications.

HL7 aECG and GE MUSE as XML text, neither by the package that reads them in the suite.
"""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int16]
LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
EIGHT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")


def aecg(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """HL7 aECG: lead codes of ISO 11073, an increment in seconds, digits in the unit of their scale."""
    sequences = "".join(
        f'<component><sequence><code code="MDC_ECG_LEAD_{lead.upper()}" codeSystem="2.16.840.1.113883.6.24"/>'
        f'<value xsi:type="SLIST_PQ"><origin value="0" unit="uV"/><scale value="{microvolts}" unit="uV"/>'
        f"<digits>{' '.join(map(str, counts[:, position]))}</digits></value></sequence></component>"
        for position, lead in enumerate(LEADS)
    )
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><AnnotatedECG xmlns="urn:hl7-org:v3" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id root="1"/><component><series>'
        '<code code="RHYTHM" codeSystem="2.16.840.1.113883.5.4"/><component><sequenceSet><component><sequence>'
        '<code code="TIME_ABSOLUTE" codeSystem="2.16.840.1.113883.5.4"/><value xsi:type="GLIST_TS">'
        f'<head value="20010101000000.000"/><increment value="{1 / fs}" unit="s"/></value></sequence></component>'
        f"{sequences}</sequenceSet></component></series></component></AnnotatedECG>"
    )


def muse(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """GE MUSE: eight leads in base64, as MUSE stores them."""
    leads = ""
    for lead in EIGHT:
        payload = np.ascontiguousarray(counts[:, LEADS.index(lead)]).astype("<i2").tobytes()
        leads += (
            f"<LeadData><LeadByteCountTotal>{len(payload)}</LeadByteCountTotal><LeadTimeOffset>0</LeadTimeOffset>"
            f"<LeadSampleCountTotal>{len(payload) // 2}</LeadSampleCountTotal>"
            f"<LeadAmplitudeUnitsPerBit>{microvolts}</LeadAmplitudeUnitsPerBit>"
            f"<LeadAmplitudeUnits>MICROVOLTS</LeadAmplitudeUnits><LeadID>{lead}</LeadID>"
            f"<WaveFormData>{base64.b64encode(payload).decode()}</WaveFormData>"
            f"<LeadSampleSize>2</LeadSampleSize><LeadDataCRC32>{zlib.crc32(payload)}</LeadDataCRC32></LeadData>"
        )
    path.write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE RestingECG SYSTEM "restecg.dtd"><RestingECG>'
        "<MuseInfo><MuseVersion>7.1.1</MuseVersion></MuseInfo><PatientDemographics><PatientID>p1</PatientID>"
        "</PatientDemographics><Waveform><WaveformType>Rhythm</WaveformType><NumberofLeads>8</NumberofLeads>"
        f"<SampleBase>{fs}</SampleBase><SampleExponent>0</SampleExponent>{leads}</Waveform></RestingECG>"
    )
