"""Figures: one file each, which only draws what it is given. The one place that knows matplotlib."""

from reports.plots.compute import plot_compute as plot_compute
from reports.plots.confusion import plot_confusion as plot_confusion
from reports.plots.label_efficiency import plot_label_efficiency as plot_label_efficiency
from reports.plots.masking import plot_masking as plot_masking
from reports.plots.paper_and_store import paper_and_store as paper_and_store
from reports.plots.queue_size import plot_sweep as plot_sweep
from reports.plots.similarity import plot_similarity as plot_similarity
from reports.plots.training import plot_training as plot_training
from reports.plots.twelve_lead import twelve_lead_sheet as twelve_lead_sheet
