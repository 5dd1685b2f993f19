"""Files of hospital formats are read to the millivolts that were written; damage is refused with a reason.

EDF and the XML forms are written here from their specifications (`written`), so the samples are known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets import card_formats
from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.card_sections import CardSignals
from tests.benchmark.data.datasets.cards import written

pytest.importorskip("ecgdatakit")
FS = 500
WRITERS: dict[str, tuple[Callable[..., None], float]] = {
    "r.edf": (written.edf, 2.5),
    "r.dcm": (written.dicom, 2.5),
    "aecg.xml": (written.aecg, 2.5),
    "muse.xml": (written.muse, 4.88),
}
"""File -> its writer, and the scale in microvolts."""


@pytest.fixture(scope="module")
def counts() -> Any:
    """Ten seconds of twelve leads; III, aVR, aVL and aVF follow from I and II where these are even."""
    random = np.random.default_rng(3)
    samples = np.cumsum(random.integers(-8, 9, (10 * FS, 12)), axis=0).astype(np.int16) * 4
    one, two = samples[:, 0].astype(int), samples[:, 1].astype(int)
    samples[:, 2:6] = np.stack([two - one, -(one + two) // 2, one - two // 2, two - one // 2], axis=1)
    return samples


def card(file: str, **more: Any) -> CardSignals:
    return CardSignals.model_validate({"files": f"{{recording}}{Path(file).suffix}", **more})


def write(folder: Path, file: str, counts: Any) -> tuple[Path, float]:
    """The file, and its millivolts per count."""
    writer, scale = WRITERS[file]
    writer(folder / file, counts, FS, scale)
    return folder / file, scale / 1e3


@pytest.mark.parametrize("file", WRITERS)
def test_what_was_written_is_read(tmp_path: Path, counts: Any, file: str) -> None:
    path, scale = write(tmp_path, file, counts)
    signals = card(file, derive=file == "muse.xml")
    recording = card_formats.read(path, None, signals)
    assert recording.fs == FS
    np.testing.assert_allclose(recording.signal, counts * scale, rtol=1e-4, atol=1e-4 * scale)
    np.testing.assert_allclose(recording.signal[:100, LEADS.index("V6")], counts[:100, 11] * scale, rtol=1e-5)


@pytest.mark.parametrize("file", WRITERS)
def test_a_truncated_file_is_refused(tmp_path: Path, counts: Any, file: str) -> None:
    path, _ = write(tmp_path, file, counts)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 1])
    signals = card(file, derive=True)
    with pytest.raises(Unusable):
        card_formats.read(path, None, signals)


def test_a_wrong_checksum_is_damage(tmp_path: Path, counts: Any) -> None:
    path, _ = write(tmp_path, "muse.xml", counts)
    content = bytearray(path.read_bytes())
    position = content.index(b"<WaveFormData>") + 40
    content[position] = ord("B") if content[position] != ord("B") else ord("C")
    path.write_bytes(bytes(content))
    with pytest.raises(Unusable, match="damaged file"):
        card_formats.read_content(path, None, card("muse.xml"))


def test_other_channels_of_a_file_do_not_count(tmp_path: Path, counts: Any) -> None:
    path, _ = write(tmp_path, "aecg.xml", counts)
    sequence = (
        '<component><sequence><code code="MDC_ECG_LEAD_RESP"/><value><scale value="1" unit="uV"/>'
        "<digits>1 2 3</digits></value></sequence></component></sequenceSet>"
    )
    path.write_text(path.read_text().replace("</sequenceSet>", sequence))
    assert card_formats.read_content(path, None, card("aecg.xml")).leads == list(LEADS)
    with pytest.raises(Unusable, match="of different lengths or rates"):
        card_formats.read_content(path, None, card("aecg.xml", leads=[*LEADS, "-"]))
