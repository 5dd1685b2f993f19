"""The on-disk forms of the cohorts: records, tables, headers and shares of labels, against real ones where at hand."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import wfdb
from scipy.io import loadmat

from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.ptb_xl import SCP_STATEMENTS
from benchmark.data.datasets.registry import SIMULATED_NOTE
from benchmark.data.simulate import COHORTS, CohortSettings, simulate, write_cohort
from benchmark.data.simulate.layouts import CODES, FURTHER, INSTEAD, scp_codes, superclasses, write_record

SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS}
PATIENTS = {"mimic-iv-ecg": 40, "ptb-xl": 250, "chapman": 150, "cpsc2018": 220, "ningbo": 10}


def test_every_statement_can_be_drawn_and_finer_ones_are_of_the_same_superclass() -> None:
    own = {name: codes.split() for name, (codes, _) in CODES.items()}
    drawn = {code for table in (own, INSTEAD, FURTHER) for codes in table.values() for code in codes}
    assert drawn == set(SUPERCLASS)
    for name, (first, *_) in own.items():
        assert {SUPERCLASS[code] for code in INSTEAD.get(name, ())} <= {SUPERCLASS[first]}
        assert {SUPERCLASS[code] for code in FURTHER.get(name, ())} <= {SUPERCLASS[first], ""}
        assert sum(INSTEAD.get(name, {}).values()) < 1


def test_superclasses_keep_their_order_and_the_recording_s_stream_its_place() -> None:
    diagnoses = ("TWI", "LVH", "RBBB", "SR")
    for seed in range(50):
        rng, plain = np.random.default_rng(seed), np.random.default_rng(seed)
        codes = scp_codes(diagnoses, rng)
        plain.choice([100.0, 80.0, 50.0, 35.0], size=4, p=(0.70, 0.15, 0.11, 0.04))
        assert superclasses(codes) == ("STTC", "HYP", "CD")
        assert rng.integers(1 << 40) == plain.integers(1 << 40)
        assert codes == scp_codes(diagnoses, np.random.default_rng(seed))


@pytest.mark.parametrize("matlab", [False, True])
@pytest.mark.parametrize("per_mv", [200, 1000])
def test_wfdb_reads_the_signal_back(tmp_path: Path, per_mv: int, matlab: bool) -> None:
    signal = simulate("STE-ANT", seed=4, seconds=3.0)
    signal[7, :2] = 5000.0, -5000.0  # mV, beyond 16 bits
    notes = ("Age: 50", "Dx: 1,2")
    write_record(
        tmp_path / "x1", signal, LEADS, 500, per_mv=per_mv, matlab=matlab, start="08:44:00 23/07/2180", notes=notes
    )
    physical = wfdb.rdrecord(str(tmp_path / "x1"))
    most = 32767 / per_mv
    assert tuple(physical.sig_name) == LEADS
    assert np.abs(physical.p_signal - signal.clip(-most, most)).max() <= 0.5 / per_mv + 1e-6
    digital = wfdb.rdrecord(str(tmp_path / "x1"), physical=False)
    assert not ((digital.d_signal.astype(np.int64).sum(axis=0) - digital.checksum) % 65536).any()
    np.testing.assert_array_equal(digital.d_signal[0], digital.init_value)
    assert digital.comments == [*notes, SIMULATED_NOTE]
    if matlab:
        np.testing.assert_array_equal(loadmat(tmp_path / "x1.mat")["val"], digital.d_signal.T)


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohorts")
    for name in COHORTS:
        write_cohort(name, folder / name, CohortSettings(PATIENTS[name], records100=name == "ptb-xl"), seed=11)
    return folder


def _headers(folder: Path) -> dict[str, list[str]]:
    return {path.stem: path.read_text().splitlines() for path in sorted(folder.rglob("*.hea"))}


def test_mimic_tables_and_paths(cohorts: Path) -> None:
    folder = cohorts / "mimic-iv-ecg"
    records = pd.read_csv(folder / "record_list.csv")
    reports = pd.read_csv(folder / "machine_measurements.csv", low_memory=False)
    assert records.subject_id.nunique() == PATIENTS["mimic-iv-ecg"]
    assert records.study_id.is_unique
    assert records.path.str.match(r"files/p10\d\d/p10\d{6}/s4\d{7}/4\d{7}$").all()
    assert all((folder / f"{path}.dat").is_file() for path in records.path)
    assert (records.groupby("subject_id").ecg_time.apply(lambda times: times.is_monotonic_increasing)).all()
    assert reports.study_id.tolist() == records.study_id.tolist()
    assert reports.report_0.notna().all()
    assert reports.report_0.str.contains("(?i)sinus|atrial|supraventricular|junctional|undetermined").all()
    counts = records.subject_id.value_counts()
    assert (counts == 1).any()
    assert counts.mean() == pytest.approx(3.0, abs=1.0)
    header = (folder / f"{records.path[0]}.hea").read_text()
    assert [line.split()[-1] for line in header.splitlines()[4:7]] == ["aVR", "aVF", "aVL"]
    assert f"# <subject_id>: {records.subject_id[0]}" in header


def test_mimic_measurements_agree_with_the_report(cohorts: Path) -> None:
    reports = pd.read_csv(cohorts / "mimic-iv-ecg" / "machine_measurements.csv", low_memory=False)
    rate = 60_000 / reports.rr_interval
    assert (rate[reports.report_0 == "Sinus bradycardia"] < 61).all()
    assert (rate[reports.report_0 == "Sinus tachycardia"] > 98).all()
    fibrillating = reports.report_0.str.startswith("Atrial fibrillation")
    assert (reports.p_onset[fibrillating] == 29999).all()
    assert (reports.qrs_end > reports.qrs_onset).all()
    assert (reports.t_end > reports.qrs_end).all()


def test_mimic_columns_are_the_real_ones(cohorts: Path, shared_ecgs: Path) -> None:
    real = shared_ecgs / "mimic-iv-ecg" / "one_row_excerpt"
    for table in ("record_list.csv", "machine_measurements.csv"):
        written = (cohorts / "mimic-iv-ecg" / table).read_text().splitlines()[0]
        assert written == (real / table).read_text().splitlines()[0]


def _superclasses(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(folder / "ptbxl_database.csv")
    statements = pd.read_csv(folder / "scp_statements.csv", index_col=0)
    of = statements[statements.diagnostic == 1].diagnostic_class.to_dict()
    codes = table.scp_codes.map(ast.literal_eval)
    assert codes.map(lambda c: set(c) <= set(statements.index)).all()
    return table, codes.map(lambda c: {of[code] for code in c if code in of})


def test_ptb_xl_folds_are_patient_disjoint_and_even(cohorts: Path) -> None:
    table, classes = _superclasses(cohorts / "ptb-xl")
    assert (table.groupby("patient_id").strat_fold.nunique() == 1).all()
    assert set(table.strat_fold) == set(range(1, 11))
    share = table.strat_fold.value_counts(normalize=True)
    assert share.min() > 0.07
    assert share.max() < 0.13
    normal = table.strat_fold[classes.map(lambda c: "NORM" in c)].value_counts()
    assert normal.max() <= 1.8 * normal.min()


def test_ptb_xl_superclasses_are_as_frequent_as_in_life(cohorts: Path) -> None:
    table, classes = _superclasses(cohorts / "ptb-xl")
    share = {name: classes.map(lambda c, n=name: n in c).mean() for name in ("NORM", "MI", "STTC", "CD", "HYP")}
    real = {"NORM": 0.436, "MI": 0.251, "STTC": 0.240, "CD": 0.224, "HYP": 0.121}
    assert share == pytest.approx(real, abs=0.09)
    assert 0.1 < classes.map(lambda c: len(c) > 1).mean() < 0.4
    repeated = (table.patient_id.value_counts() > 1).mean()
    assert 0.06 < repeated < 0.19


def test_ptb_xl_files_and_columns(cohorts: Path, shared_ecgs: Path) -> None:
    folder = cohorts / "ptb-xl"
    table, _ = _superclasses(folder)
    assert table.ecg_id.is_unique
    assert all((folder / f"{name}.dat").is_file() for name in (*table.filename_hr, *table.filename_lr))
    for name in ("ptbxl_database.csv", "scp_statements.csv"):
        real = pd.read_csv(shared_ecgs / "ptb-xl" / name, nrows=1).columns
        assert set(pd.read_csv(folder / name, nrows=1).columns) == set(real) - {"label_source", "signal_source"}


def test_ptb_xl_records100_are_records500_without_aliases(cohorts: Path) -> None:
    table, _ = _superclasses(cohorts / "ptb-xl")
    high = wfdb.rdrecord(str(cohorts / "ptb-xl" / table.filename_hr[0]))
    low = wfdb.rdrecord(str(cohorts / "ptb-xl" / table.filename_lr[0]))
    assert (high.fs, low.fs, low.sig_len) == (500, 100, 1000)
    spectrum = np.fft.rfft(high.p_signal, axis=0)
    spectrum[400:] = 0  # 40 Hz and above
    smooth = np.fft.irfft(spectrum, 5000, axis=0)[::5]
    slow = np.fft.rfft(low.p_signal, axis=0)
    slow[400:] = 0
    np.testing.assert_allclose(np.fft.irfft(slow, 1000, axis=0)[20:-20], smooth[20:-20], atol=0.02)


def test_chapman_headers_and_rhythm_groups(cohorts: Path) -> None:
    folder = cohorts / "chapman"
    headers = _headers(folder)
    assert list(headers)[:2] == ["JS00001", "JS00002"]
    names = pd.read_csv(folder / "ConditionNames_SNOMED-CT.csv")
    assert names.columns.tolist() == ["AcronymName", "FullName", "Snomed_CT"]
    acronym = {str(code): name for code, name in zip(names.Snomed_CT, names.AcronymName, strict=True)}
    group = {"SB": "SB", "AFIB": "AFIB", "AF": "AFIB", "ST": "GSVT", "SVT": "GSVT", "SR": "SR", "SA": "SR"}
    found: Counter[str] = Counter()
    for lines in headers.values():
        assert [line.split(":")[0] for line in lines[13:]] == ["#Age", "#Sex", "#Dx", "#Rx", "#Hx", "#Sx", "#Simulated"]
        codes = lines[15].removeprefix("#Dx: ").split(",")
        rhythms = [group[acronym[code]] for code in codes if acronym[code] in group]
        assert len(rhythms) == 1
        found.update(rhythms)
    share = {name: count / len(headers) for name, count in found.items()}
    assert share == pytest.approx({"SB": 0.365, "AFIB": 0.21, "GSVT": 0.217, "SR": 0.209}, abs=0.1)
    listed = [
        name
        for inside in (folder / "RECORDS").read_text().split()
        for name in (folder / inside / "RECORDS").read_text().split()
    ]
    assert sorted(listed) == list(headers)


def test_chapman_codes_are_the_real_ones(cohorts: Path, shared_ecgs: Path) -> None:
    name = "ConditionNames_SNOMED-CT.csv"

    def rows(folder: Path) -> set[tuple[str, str, int]]:
        table = pd.read_csv(folder / name)  # some of the real names have no-break spaces
        return {(row.AcronymName, " ".join(row.FullName.split()), int(row.Snomed_CT)) for row in table.itertuples()}

    assert rows(cohorts / "chapman") <= rows(shared_ecgs / "chapman" / "ecg-arrhythmia-1.0.0")


def test_cpsc_labels_and_lengths(cohorts: Path) -> None:
    folder = cohorts / "cpsc2018"
    reference = pd.read_csv(folder / "REFERENCE.csv")
    headers = _headers(folder)
    assert reference.Recording.tolist() == list(headers)
    assert set(reference.First_label) == set(range(1, 10))
    text = dict(enumerate(("Normal", "AF", "I-AVB", "LBBB", "RBBB", "PAC", "PVC", "STD", "STE"), start=1))
    for row in reference.itertuples():
        labels = [text[int(code)] for code in (row.First_label, row.Second_label, row.Third_label) if code == code]
        assert f"#Dx: {','.join(labels)}" in headers[row.Recording]
    seconds = np.array([int(lines[0].split()[3]) / 500 for lines in headers.values()])
    assert seconds.min() >= 6
    assert seconds.max() <= 60
    assert 0.6 < ((seconds >= 9.5) & (seconds <= 15)).mean() < 0.9
    assert 0.01 < reference.Second_label.notna().mean() < 0.2


def test_headers_have_the_form_of_real_ones(cohorts: Path, shared_ecgs: Path) -> None:
    pairs = {
        "ptb-xl/records500/00000/00001_hr.hea": "ptb-xl/records500/00000/00001_hr.hea",
        "chapman/WFDBRecords/01/010/JS00001.hea": "chapman/ecg-arrhythmia-1.0.0/WFDBRecords/01/010/JS00001.hea",
        "cpsc2018/Training_WFDB/A0001.hea": "cpsc2018/Training_WFDB/A0001.hea",
    }
    for written, real in pairs.items():
        ours = (cohorts / written).read_text().splitlines()
        theirs = (shared_ecgs / real).read_text().splitlines()
        assert len(ours) == len(theirs) + 1  # the note that it is simulated
        for one, other in zip(ours[1:13], theirs[1:13], strict=True):
            fixed = [0, 1, 2, 3, 4, 7, 8]  # all but the first value and the checksum
            assert [one.split()[i] for i in fixed] == [other.split()[i] for i in fixed]
