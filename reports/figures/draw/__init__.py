"""Figures: one file each, which only draws what it is given. The one place that knows matplotlib."""

from reports.figures.draw.budget import plot_budget as plot_budget
from reports.figures.draw.classes.scores import ClassMark as ClassMark
from reports.figures.draw.classes.scores import plot_class_scores as plot_class_scores
from reports.figures.draw.compute import plot_compute as plot_compute
from reports.figures.draw.confusion import plot_confusion as plot_confusion
from reports.figures.draw.differences import plot_differences as plot_differences
from reports.figures.draw.label_efficiency import plot_label_efficiency as plot_label_efficiency
from reports.figures.draw.masking import plot_masking as plot_masking
from reports.figures.draw.score_pairs import PairPanel as PairPanel
from reports.figures.draw.score_pairs import ScorePair as ScorePair
from reports.figures.draw.score_pairs import plot_score_pairs as plot_score_pairs
from reports.figures.draw.sensitivity import plot_sensitivity as plot_sensitivity
from reports.figures.draw.similarity import plot_similarity as plot_similarity
from reports.figures.draw.sweep import plot_sweep as plot_sweep
from reports.figures.draw.training import plot_training as plot_training
from reports.figures.draw.twelve_lead import twelve_lead_sheet as twelve_lead_sheet
