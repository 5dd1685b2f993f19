"""Files of hospital formats are read to the millivolts that were written; damage is refused with a reason.

An independent reading: EDF, SCP-ECG, ISHNE and the XML forms are written here from their specifications
(`written`), so the samples are known; DICOM is written and read again with pydicom's own `waveform_array`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets import card_formats
from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.card_sections import Signals
from tests.benchmark.data.datasets.cards import written

pytest.importorskip("ecgdatakit")
FS = 500
WRITERS: dict[str, tuple[Callable[..., None], float]] = {
    "r.edf": (written.edf, 2.5),
    "r.dcm": (written.dicom, 2.5),
    "r.scp": (written.scp, 2500),
    "aecg.xml": (written.aecg, 2.5),
    "muse.xml": (written.muse, 4.88),
    "philips.xml": (written.philips, 5.0),
    "r.ecg": (written.ishne, 2500),
    "r.mwf": (written.mfer, 2500),
}
"""File -> its writer, and the scale in microvolts (nanovolts for SCP-ECG, ISHNE and MFER)."""


@pytest.fixture(scope="module")
def counts() -> Any:
    """Ten seconds of twelve leads; III, aVR, aVL and aVF follow from I and II where these are even."""
    random = np.random.default_rng(3)
    samples = np.cumsum(random.integers(-8, 9, (10 * FS, 12)), axis=0).astype(np.int16) * 4
    one, two = samples[:, 0].astype(int), samples[:, 1].astype(int)
    samples[:, 2:6] = np.stack([two - one, -(one + two) // 2, one - two // 2, two - one // 2], axis=1)
    return samples


def card(file: str, **more: Any) -> Signals:
    return Signals.model_validate({"files": f"{{recording}}{Path(file).suffix}", **more})


def write(folder: Path, file: str, counts: Any) -> tuple[Path, float]:
    """The file, and its millivolts per count."""
    writer, scale = WRITERS[file]
    writer(folder / file, counts, FS, scale)
    return folder / file, scale / (1e6 if file.endswith((".scp", ".ecg", ".mwf")) else 1e3)


@pytest.mark.parametrize("file", WRITERS)
def test_what_was_written_is_read(tmp_path: Path, counts: Any, file: str) -> None:
    path, scale = write(tmp_path, file, counts)
    signals = card(file, derive=file == "muse.xml")
    recording = card_formats.read(path, None, signals)
    assert recording.fs == FS
    np.testing.assert_allclose(recording.signal, counts * scale, rtol=1e-4, atol=1e-4 * scale)
    np.testing.assert_allclose(recording.signal[:100, LEADS.index("V6")], counts[:100, 11] * scale, rtol=1e-5)


def test_a_dicom_file_is_read_as_pydicom_reads_it(tmp_path: Path, counts: Any) -> None:
    pydicom = pytest.importorskip("pydicom")
    path, _ = write(tmp_path, "r.dcm", counts)
    signals = card("r.dcm")
    expected = pydicom.dcmread(path).waveform_array(0) / 1000  # (n, 12) from microvolts
    np.testing.assert_allclose(card_formats.read(path, None, signals).signal, expected, rtol=1e-6)


@pytest.mark.parametrize("file", WRITERS)
def test_a_truncated_file_is_refused(tmp_path: Path, counts: Any, file: str) -> None:
    path, _ = write(tmp_path, file, counts)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 1])
    signals = card(file, derive=True)
    with pytest.raises(Unusable):
        card_formats.read(path, None, signals)


@pytest.mark.parametrize("file", ["r.scp", "muse.xml"])
def test_a_wrong_checksum_is_damage(tmp_path: Path, counts: Any, file: str) -> None:
    path, _ = write(tmp_path, file, counts)
    content = bytearray(path.read_bytes())
    place = content.index(b"<WaveFormData>") + 40 if file == "muse.xml" else len(content) - 40
    content[place] = ord("B") if content[place] != ord("B") else ord("C")
    path.write_bytes(bytes(content))
    with pytest.raises(Unusable, match="damaged file"):
        card_formats.read_content(path, None, card(file))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text("<html/>")
    with pytest.raises(Unusable, match="not of its format"):
        card_formats.read_content(path, None, card("r.xml"))


def test_the_card_may_not_contradict_what_a_file_states(tmp_path: Path, counts: Any) -> None:
    path, _ = write(tmp_path, "r.edf", counts)
    signals = card("r.edf", unit="uV")
    with pytest.raises(Unusable, match=r"unit contradicts the card; leave out signals\.unit"):
        card_formats.read(path, None, signals)
    signals = card("r.edf", rate=250)
    with pytest.raises(Unusable, match="sampling rate contradicts the card"):
        card_formats.read(path, None, signals)


def test_other_channels_of_a_file_do_not_count(tmp_path: Path, counts: Any) -> None:
    path, _ = write(tmp_path, "aecg.xml", counts)
    sequence = (
        '<component><sequence><code code="MDC_ECG_LEAD_RESP"/><value><scale value="1" unit="uV"/>'
        "<digits>1 2 3</digits></value></sequence></component></sequenceSet>"
    )
    path.write_text(path.read_text().replace("</sequenceSet>", sequence))
    assert card_formats.read_content(path, None, card("aecg.xml")).leads == list(LEADS)
    with pytest.raises(Unusable, match="leads of different lengths or rates"):
        card_formats.read_content(path, None, card("aecg.xml", leads=[*LEADS, "-"]))


def lead(label: str = "I", samples: int = 5000, rate: int = 500, **annotations: str) -> SimpleNamespace:
    return SimpleNamespace(
        label=label, samples=np.zeros(samples), sampling_rate=rate, units="mV", annotations=annotations
    )


def read_leads(monkeypatch: pytest.MonkeyPatch, *leads: SimpleNamespace, raw: dict[str, Any] | None = None) -> Any:
    record = SimpleNamespace(leads=leads, raw_metadata=raw or {})
    monkeypatch.setattr(card_formats, "parsed", lambda path: record)
    return card_formats.read_export(Path("r.edf"), card("r.edf"), None)


def test_leads_that_were_not_recorded_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    together = [lead("I", start_sample="1"), lead("II")]
    assert read_leads(monkeypatch, *together).leads == ["I", "II"]
    with pytest.raises(Unusable, match="not recorded together"):
        read_leads(monkeypatch, lead("I"), lead("II", start_sample="1251"))
    for other in (lead("II", samples=4999), lead("II", rate=250)):
        with pytest.raises(Unusable, match="different lengths or rates"):
            read_leads(monkeypatch, lead("I"), other)
    with pytest.raises(Unusable, match="no leads in the file"):
        read_leads(monkeypatch)


def test_channels_beside_the_leads_are_left_out_unless_a_list_names_all() -> None:
    leads = [lead("i"), lead("MDC_II"), lead("Resp", rate=25)]
    assert card_formats.ecg_leads(leads, card("r.edf")) == leads[:1]
    assert card_formats.ecg_leads(leads, card("r.edf", leads={"MDC_II": "II"})) == leads[:2]
    assert card_formats.ecg_leads(leads, card("r.edf", leads=["I", "II", "-"])) == leads
    assert card_formats.ecg_leads(leads[2:], card("r.edf")) == leads[2:], "said to be no leads by what reads them next"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, 500.0),
        ({"exact_sampling_rates": {"I": 499.5}}, 499.5),
        ({"exact_sampling_rates": {"II": 499.5}}, 500.0),
        ({"multiplex_groups": [{"sampling_frequency": 999.0}, {}, {"sampling_frequency": 500.4}]}, 500.4),
        ({"multiplex_groups": [{}]}, 500.0),
        ({"rhythm_time": {"sampling_rate_exact": 512.5}}, 512.5),
        ({"rhythm_time": {"sampling_rate_exact": 499.99999}}, 500.0),
        ({"rhythm_time": {"sampling_rate_exact": 499.9991}}, 500.0),
        ({"rhythm_time": {"sampling_rate_exact": 500.0015}}, 500.0015),
        ({"rhythm_time": {}}, 500.0),
        ({"rhythm_time": "2020"}, 500.0),
    ],
)
def test_a_rate_is_what_the_file_states_not_what_the_parser_rounds(raw: dict[str, Any], expected: float) -> None:
    assert card_formats.exact_rate(lead(), raw) == expected
