"""The 71 SCP-ECG statements of PTB-XL 1.0.3, as its scp_statements.csv lists them."""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    """A row of scp_statements.csv."""

    code: str
    kinds: str
    """Of 'diagnostic', 'form' and 'rhythm' those that it is, separated by blanks."""
    superclass: str
    """Column diagnostic_class; '' for a statement that is not diagnostic."""
    subclass: str
    """Column diagnostic_subclass; '' for a statement that is not diagnostic."""
    description: str


SCP_STATEMENTS: tuple[Statement, ...] = (
    Statement("NDT", "diagnostic form", "STTC", "STTC", "non-diagnostic T abnormalities"),
    Statement("NST_", "diagnostic form", "STTC", "NST_", "non-specific ST changes"),
    Statement("DIG", "diagnostic form", "STTC", "STTC", "digitalis-effect"),
    Statement("LNGQT", "diagnostic form", "STTC", "STTC", "long QT-interval"),
    Statement("NORM", "diagnostic", "NORM", "NORM", "normal ECG"),
    Statement("IMI", "diagnostic", "MI", "IMI", "inferior myocardial infarction"),
    Statement("ASMI", "diagnostic", "MI", "AMI", "anteroseptal myocardial infarction"),
    Statement("LVH", "diagnostic", "HYP", "LVH", "left ventricular hypertrophy"),
    Statement("LAFB", "diagnostic", "CD", "LAFB/LPFB", "left anterior fascicular block"),
    Statement("ISC_", "diagnostic", "STTC", "ISC_", "non-specific ischemic"),
    Statement("IRBBB", "diagnostic", "CD", "IRBBB", "incomplete right bundle branch block"),
    Statement("1AVB", "diagnostic", "CD", "_AVB", "first degree AV block"),
    Statement("IVCD", "diagnostic", "CD", "IVCD", "non-specific intraventricular conduction disturbance (block)"),
    Statement("ISCAL", "diagnostic", "STTC", "ISCA", "ischemic in anterolateral leads"),
    Statement("CRBBB", "diagnostic", "CD", "CRBBB", "complete right bundle branch block"),
    Statement("CLBBB", "diagnostic", "CD", "CLBBB", "complete left bundle branch block"),
    Statement("ILMI", "diagnostic", "MI", "IMI", "inferolateral myocardial infarction"),
    Statement("LAO/LAE", "diagnostic", "HYP", "LAO/LAE", "left atrial overload/enlargement"),
    Statement("AMI", "diagnostic", "MI", "AMI", "anterior myocardial infarction"),
    Statement("ALMI", "diagnostic", "MI", "AMI", "anterolateral myocardial infarction"),
    Statement("ISCIN", "diagnostic", "STTC", "ISCI", "ischemic in inferior leads"),
    Statement("INJAS", "diagnostic", "MI", "AMI", "subendocardial injury in anteroseptal leads"),
    Statement("LMI", "diagnostic", "MI", "LMI", "lateral myocardial infarction"),
    Statement("ISCIL", "diagnostic", "STTC", "ISCI", "ischemic in inferolateral leads"),
    Statement("LPFB", "diagnostic", "CD", "LAFB/LPFB", "left posterior fascicular block"),
    Statement("ISCAS", "diagnostic", "STTC", "ISCA", "ischemic in anteroseptal leads"),
    Statement("INJAL", "diagnostic", "MI", "AMI", "subendocardial injury in anterolateral leads"),
    Statement("ISCLA", "diagnostic", "STTC", "ISCA", "ischemic in lateral leads"),
    Statement("RVH", "diagnostic", "HYP", "RVH", "right ventricular hypertrophy"),
    Statement("ANEUR", "diagnostic", "STTC", "STTC", "ST-T changes compatible with ventricular aneurysm"),
    Statement("RAO/RAE", "diagnostic", "HYP", "RAO/RAE", "right atrial overload/enlargement"),
    Statement("EL", "diagnostic", "STTC", "STTC", "electrolytic disturbance or drug (former EDIS)"),
    Statement("WPW", "diagnostic", "CD", "WPW", "Wolf-Parkinson-White syndrome"),
    Statement("ILBBB", "diagnostic", "CD", "ILBBB", "incomplete left bundle branch block"),
    Statement("IPLMI", "diagnostic", "MI", "IMI", "inferoposterolateral myocardial infarction"),
    Statement("ISCAN", "diagnostic", "STTC", "ISCA", "ischemic in anterior leads"),
    Statement("IPMI", "diagnostic", "MI", "IMI", "inferoposterior myocardial infarction"),
    Statement("SEHYP", "diagnostic", "HYP", "SEHYP", "septal hypertrophy"),
    Statement("INJIN", "diagnostic", "MI", "IMI", "subendocardial injury in inferior leads"),
    Statement("INJLA", "diagnostic", "MI", "AMI", "subendocardial injury in lateral leads"),
    Statement("PMI", "diagnostic", "MI", "PMI", "posterior myocardial infarction"),
    Statement("3AVB", "diagnostic", "CD", "_AVB", "third degree AV block"),
    Statement("INJIL", "diagnostic", "MI", "IMI", "subendocardial injury in inferolateral leads"),
    Statement("2AVB", "diagnostic", "CD", "_AVB", "second degree AV block"),
    Statement("ABQRS", "form", "", "", "abnormal QRS"),
    Statement("PVC", "form", "", "", "ventricular premature complex"),
    Statement("STD_", "form", "", "", "non-specific ST depression"),
    Statement("VCLVH", "form", "", "", "voltage criteria (QRS) for left ventricular hypertrophy"),
    Statement("QWAVE", "form", "", "", "Q waves present"),
    Statement("LOWT", "form", "", "", "low amplitude T-waves"),
    Statement("NT_", "form", "", "", "non-specific T-wave changes"),
    Statement("PAC", "form", "", "", "atrial premature complex"),
    Statement("LPR", "form", "", "", "prolonged PR interval"),
    Statement("INVT", "form", "", "", "inverted T-waves"),
    Statement("LVOLT", "form", "", "", "low QRS voltages in the frontal and horizontal leads"),
    Statement("HVOLT", "form", "", "", "high QRS voltage"),
    Statement("TAB_", "form", "", "", "T-wave abnormality"),
    Statement("STE_", "form", "", "", "non-specific ST elevation"),
    Statement("PRC(S)", "form", "", "", "premature complex(es)"),
    Statement("SR", "rhythm", "", "", "sinus rhythm"),
    Statement("AFIB", "rhythm", "", "", "atrial fibrillation"),
    Statement("STACH", "rhythm", "", "", "sinus tachycardia"),
    Statement("SARRH", "rhythm", "", "", "sinus arrhythmia"),
    Statement("SBRAD", "rhythm", "", "", "sinus bradycardia"),
    Statement("PACE", "rhythm", "", "", "normal functioning artificial pacemaker"),
    Statement("SVARR", "rhythm", "", "", "supraventricular arrhythmia"),
    Statement("BIGU", "rhythm", "", "", "bigeminal pattern (unknown origin, SV or Ventricular)"),
    Statement("AFLT", "rhythm", "", "", "atrial flutter"),
    Statement("SVTAC", "rhythm", "", "", "supraventricular tachycardia"),
    Statement("PSVT", "rhythm", "", "", "paroxysmal supraventricular tachycardia"),
    Statement("TRIGU", "rhythm", "", "", "trigeminal pattern (unknown origin, SV or Ventricular)"),
)
