"""Files of each hospital format with the same made-up samples, written from the formats' specifications.

EDF, SCP-ECG and ISHNE byte by byte, HL7 aECG, GE MUSE and Philips as XML text, DICOM with pydicom. None is written by
the package that reads them in the suite, so that reading is checked against what was written.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int16]
LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
EIGHT = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")


def edf(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """EDF (Kemp 1992): a record a second, physical range by the scale."""
    n, leads = counts.shape
    low, high = -32768, 32767

    def each(values: list[object], width: int) -> bytes:
        return b"".join(str(value).ljust(width).encode() for value in values)

    def same(value: object, width: int) -> bytes:
        return each([value] * leads, width)

    header = b"0       " + b"X X X X".ljust(80) + b"Startdate X X X X".ljust(80) + b"01.01.2001.00.00"
    header = header[: 8 + 80 + 80] + b"01.01.01" + b"00.00.00"
    header += str(256 * (leads + 1)).ljust(8).encode() + b"".ljust(44) + str(n // fs).ljust(8).encode()
    header += b"1".ljust(8) + str(leads).ljust(4).encode()
    header += each([f"ECG {lead}" for lead in LEADS], 16) + same("", 80) + same("uV", 8)
    header += same(f"{low * microvolts:.8g}"[:8], 8) + same(f"{high * microvolts:.8g}"[:8], 8)
    header += same(low, 8) + same(high, 8) + same("", 80) + same(fs, 8) + same("", 32)
    records = [counts[start : start + fs].T.astype("<i2").tobytes() for start in range(0, n, fs)]
    path.write_bytes(header + b"".join(records))


def ishne(path: Path, counts: Counts, fs: int, nanovolts: int) -> None:
    """ISHNE 1.0 (Badilini 1998): a header of 512 bytes after magic and checksum, samples multiplexed."""
    n, leads = counts.shape
    codes = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    block = struct.pack("<iiiih", 0, n, 522, 522, 1)
    block += b"".ljust(40, b"\0") + b"".ljust(40, b"\0") + b"id".ljust(20, b"\0")
    block += struct.pack("<hh", 1, 0) + struct.pack("<hhh", 1, 1, 1960) + struct.pack("<hhh", 1, 1, 2001)
    block += struct.pack("<hhh", 1, 1, 2001) + struct.pack("<hhh", 0, 0, 0)
    block += struct.pack("<h", leads) + struct.pack("<12h", *codes) + struct.pack("<12h", *[1] * 12)
    block += struct.pack("<12h", *[nanovolts] * 12) + struct.pack("<h", 0) + b"digital".ljust(40, b"\0")
    block += struct.pack("<h", fs)
    block = block.ljust(512, b"\0")
    checksum = struct.pack("<H", binascii.crc_hqx(block, 0xFFFF))
    path.write_bytes(b"ISHNE1.0" + checksum + block + counts.astype("<i2").tobytes())


def scp(path: Path, counts: Counts, fs: int, nanovolts: int) -> None:
    """SCP-ECG (EN 1064) without compression: sections 0 (pointers), 1, 3 (leads) and 6 (rhythm)."""
    content = [np.ascontiguousarray(counts[:, lead]).astype("<i2").tobytes() for lead in range(len(LEADS))]
    _scp(path, len(counts), fs, nanovolts, content, differences=0)


def mfer(path: Path, counts: Counts, fs: int, nanovolts: int) -> None:
    """MFER (ISO 22077-1): definitions of tag, length and value, big-endian; a block of each lead after another."""
    codes = (1, 2, 61, 62, 63, 64, 3, 4, 5, 6, 7, 8)
    n, leads = counts.shape

    def definition(tag: int, value: bytes) -> bytes:
        size = len(value)
        return bytes([tag]) + (bytes([size]) if size < 128 else b"\x84" + size.to_bytes(4, "big")) + value

    content = [
        definition(0x40, b"MFR ".ljust(32)),
        definition(0x01, b"\0"),  # big-endian
        definition(0x08, (1).to_bytes(2, "big")),  # standard 12-lead ECG
        definition(0x0B, struct.pack(">BbH", 0, 0, fs)),  # Hz times a power of ten
        definition(0x0C, struct.pack(">BbH", 0, -9, nanovolts)),  # volts times a power of ten
        definition(0x0A, b"\0"),  # int16
        definition(0x04, n.to_bytes(4, "big")),
        definition(0x05, leads.to_bytes(2, "big")),
        definition(0x06, (1).to_bytes(2, "big")),
        *(b"\x3f" + bytes([lead, 4, 0x09, 2]) + codes[lead].to_bytes(2, "big") for lead in range(leads)),
        definition(0x1E, np.ascontiguousarray(counts.T).astype(">i2").tobytes()),
        b"\x80",
    ]
    path.write_bytes(b"".join(content))


def _scp(path: Path, n: int, fs: int, nanovolts: int, content: list[bytes], differences: int) -> None:
    leads = len(content)
    codes = {"I": 1, "II": 2, "V1": 3, "V2": 4, "V3": 5, "V4": 6, "V5": 7, "V6": 8}
    codes |= {"III": 61, "aVR": 62, "aVL": 63, "aVF": 64}

    def section(number: int, body: bytes) -> bytes:
        body += b"\0" * (len(body) % 2)
        rest = struct.pack("<HI", number, 16 + len(body)) + bytes([20, 20]) + b"\0" * 6 + body
        return struct.pack("<H", binascii.crc_hqx(rest, 0xFFFF)) + rest

    patient = b"\x02" + struct.pack("<H", 3) + b"p1\0" + b"\xff" + struct.pack("<H", 0)
    order = b"".join(struct.pack("<IIB", 1, n, codes[lead]) for lead in LEADS)
    rhythm = struct.pack("<HHBB", nanovolts, 1_000_000 // fs, differences, 0)
    rhythm += struct.pack(f"<{leads}H", *map(len, content)) + b"".join(content)
    huffman = {2: section(2, struct.pack("<H", 19999))} if differences else {}
    bodies = huffman | {
        1: section(1, patient),
        3: section(3, bytes([leads, 0x04 | leads << 3]) + order),
        6: section(6, rhythm),
    }
    pointers, position = b"", 6 + 16 + 10 * 12
    for number in range(12):
        own = bodies.get(number, b"")
        length = 16 + 10 * 12 if number == 0 else len(own)
        index = 7 if number == 0 else position + 1 if own else 0
        pointers += struct.pack("<HII", number, length, index)
        position += len(own)
    rest = struct.pack("<HI", 0, 16 + len(pointers)) + bytes([20, 20]) + b"SCPECG" + pointers
    whole = (
        struct.pack("<H", binascii.crc_hqx(rest, 0xFFFF)) + rest + b"".join(bodies[number] for number in sorted(bodies))
    )
    sized = struct.pack("<I", 6 + len(whole)) + whole
    path.write_bytes(struct.pack("<H", binascii.crc_hqx(sized, 0xFFFF)) + sized)


def aecg(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """HL7 aECG: lead codes of ISO 11073, an increment in seconds, digits in the unit of their scale."""
    sequences = "".join(
        f'<component><sequence><code code="MDC_ECG_LEAD_{lead.upper()}" codeSystem="2.16.840.1.113883.6.24"/>'
        f'<value xsi:type="SLIST_PQ"><origin value="0" unit="uV"/><scale value="{microvolts}" unit="uV"/>'
        f"<digits>{' '.join(map(str, counts[:, place]))}</digits></value></sequence></component>"
        for place, lead in enumerate(LEADS)
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


def philips(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """Philips Sierra XML 1.04, base64 without compression, lead after lead."""
    content, how = np.ascontiguousarray(counts.T).astype("<i2").tobytes(), 'compressflag="False"'
    n, leads = counts.shape
    payload = base64.b64encode(content).decode()
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><restingecgdata><documentinfo><documenttype>SierraECG</documenttype>'
        "<documentversion>1.04</documentversion></documentinfo><dataacquisition><signalcharacteristics>"
        f"<samplingrate>{fs}</samplingrate><resolution>{microvolts}</resolution>"
        f"<numberchannelsallocated>{leads}</numberchannelsallocated></signalcharacteristics></dataacquisition>"
        f'<waveforms><parsedwaveforms dataencoding="Base64" {how} durationperchannel="{1000 * n // fs}" '
        f'samplespersecond="{fs}" resolution="{microvolts}" numberofleads="{leads}" '
        f'leadlabels="{" ".join(LEADS)}">{payload}</parsedwaveforms></waveforms></restingecgdata>'
    )


def dicom(path: Path, counts: Counts, fs: int, microvolts: float) -> None:
    """DICOM 12-lead ECG waveform, channel sources by SCP-ECG codes of ISO 11073."""
    from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    kind = "1.2.840.10008.5.1.4.1.1.9.1.1"
    codes = dict(zip(LEADS, (1, 2, 61, 62, 63, 64, 3, 4, 5, 6, 7, 8), strict=True))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = kind, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    file.SOPClassUID, file.SOPInstanceUID, file.Modality = kind, meta.MediaStorageSOPInstanceUID, "ECG"
    file.PatientID, file.PatientName = "p1", "X"
    group = Dataset()
    group.WaveformOriginality = "ORIGINAL"
    group.NumberOfWaveformChannels, group.NumberOfWaveformSamples = counts.shape[1], counts.shape[0]
    group.SamplingFrequency, group.MultiplexGroupLabel = fs, "RHYTHM"
    group.WaveformBitsAllocated, group.WaveformSampleInterpretation = 16, "SS"
    channels = []
    for lead in LEADS:
        channel, source, unit = Dataset(), Dataset(), Dataset()
        source.CodeValue, source.CodingSchemeDesignator = f"5.6.3-9-{codes[lead]}", "SCPECG"
        source.CodeMeaning = f"Lead {lead}"
        unit.CodeValue, unit.CodingSchemeDesignator, unit.CodeMeaning = "uV", "UCUM", "microvolt"
        channel.ChannelSourceSequence, channel.ChannelSensitivityUnitsSequence = [source], [unit]
        channel.ChannelSensitivity, channel.ChannelSensitivityCorrectionFactor = microvolts, 1
        channel.ChannelBaseline, channel.WaveformBitsStored = 0, 16
        channels.append(channel)
    group.ChannelDefinitionSequence = channels
    group.WaveformData = counts.astype("<i2").tobytes()
    file.WaveformSequence = [group]
    file.save_as(path, enforce_file_format=True)
