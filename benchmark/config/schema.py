"""Every key of a config: type, bounds, default and meaning. The docstring of a field is its line in `--help`.

`benchmark.config.config` makes a config of the values; nothing here loads torch, so that `--help` is quick.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import LEADS, DatasetKind
from benchmark.data.datasets.card import Card
from benchmark.data.heartbeats import FS, WINDOW, Beats
from benchmark.data.joined import JOIN
from benchmark.data.segments import TYPICAL_SECONDS, Rate, Segmentation, leads_named
from benchmark.data.splits import Labels, Protocol, Standardise, ValidationLabels
from benchmark.data.tasks import DatasetTask, columns_of
from benchmark.results.names import AT, DEFAULT_TASK, FINETUNE, Baseline, Pool, Preset
from methods.parts.hyperparameters import Count, Recipe, Share

T = TypeVar("T")
Listed: TypeAlias = Annotated[list[T], Field(min_length=1)]
"""A list of one value or more."""
Ratio = Annotated[float, Field(gt=0, le=1)]
Epochs = Annotated[float, Field(gt=0, le=1e6), AfterValidator(lambda n: int(n) if n == int(n) else n)]
"""A whole number is an int, so that 3 and 3.0 give the same key."""
Corpus = Annotated[str, BeforeValidator(lambda names: JOIN.join(map(str, names)) if isinstance(names, list) else names)]
"""Several datasets, in a list, are one name: 'ptb-xl+chapman'."""
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Patients = Annotated[int, Field(ge=1, le=49_500)]  # a simulated dataset names up to 99,000 apart
Positive = Annotated[float, Field(gt=0)]
Rates = Annotated[
    Listed[Positive],
    BeforeValidator(lambda lr: lr if isinstance(lr, list) else [lr]),
    AfterValidator(sorted),
]
NotNegative = Annotated[float, Field(ge=0)]
BatchSize = Annotated[int, Field(ge=2)]
Masks = Share
"""Strength of the masks on the embedded input in training; 1: those of PMQ's views, half of the time steps and a tenth
of the spectrum; 0: none."""
Dropout = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    """A frozen, strictly typed part of a config that refuses unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Simulation(Section):
    """Simulated cohorts in place of the real datasets (page 'Datasets and simulator')."""

    seed: Seed = 1
    """Seed of the simulator; cohorts of another seed share no patient."""
    patients: dict[str, Patients]
    """Patients per cohort, by dataset name."""
    test_patients: dict[str, Patients] = {}
    """Further patients per cohort, by dataset name, who are only tested; the other parts stay as `patients` makes
    them."""
    recordings_per_patient: Annotated[float, Field(ge=1)] = 3.0
    """Mean number of ECGs per patient of the pretraining cohort."""
    noise: NotNegative = 1.0
    """Scale of all noise: 0 none, 1 a routine hospital recording."""
    anatomy: NotNegative = 1.0
    """Scale of the differences between patients."""
    severity: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Scale of disease changes relative to anatomy."""
    persistence: Share = 1.0
    """Share of a patient's later recordings that show the patient's own conditions; the others show new ones."""
    report_errors: NotNegative = 1.0
    """Scale of the error and hedging rates in the pretraining cohort's machine reports."""


class Heartbeats(Section):
    """Windows that are centred on an R peak and padded, as in the paper."""

    kind: Literal["heartbeats"] = "heartbeats"
    """heartbeats: the paper's; recordings: kept whole, which keeps the rhythm."""
    beats: Beats = "authors"
    """authors: R peaks lead by lead, and no heart slower than 50/min, as PMQ's and COMET's code does; fused: R peaks of
    all leads together, any heart (page 'Real recordings from seven sources'). By default fused under `protocol:
    strict`."""


class Recordings(Section):
    """Recordings that are kept whole: judged by crops at a stride, trained on by crops that begin anywhere."""

    kind: Literal["recordings"]
    seconds: Annotated[float, Field(ge=0.25, le=10)] = float(TYPICAL_SECONDS)
    """Length of a crop; by default a whole recording."""
    stride: Annotated[float, Field(gt=0, le=10)] | None = None
    """Seconds from the beginning of a crop to that of the next; None: half a crop."""
    short: Literal["skip", "pad"] = "skip"
    """Recordings shorter than a crop are skipped, or padded with zeros."""

    def crops_of_typical(self) -> int:
        """Count the crops that follow each other in a recording of 10 s: the pseudo-trial that is pretrained on."""
        return max(1, int(TYPICAL_SECONDS / self.seconds))


Windows = Annotated[
    Heartbeats | Recordings,
    Discriminator("kind"),
    BeforeValidator(lambda keys: {"kind": "heartbeats"} | keys if isinstance(keys, dict) else keys),
]


class Data(Section):
    """Datasets, labels and windows."""

    pretrain: Corpus = "mimic-iv-ecg"
    """Pretraining corpus: a dataset without labels is used whole, a labelled one by its training part; of several
    ('A+B') all recordings are used on which no column is tested."""
    pretrain_prefix: str = ""
    """Path prefix of the pretraining recordings, e.g. 'files/p10', the paper's tenth of MIMIC-IV-ECG."""
    datasets: Listed[str] = ["ptb-xl", "chapman", "cpsc2018"]
    """Columns of the table; A@B is learned on A and tested on B; FILE.yaml is the card of your own data."""
    task: Listed[str] = [DEFAULT_TASK]
    """Tasks; a column is a dataset under one that it has (page 'Protocols and statistics'). default: the dataset's own
    classes."""
    labels: Labels = "single"
    """Labels of the task `default`. single: one class a recording, softmax; multi: all its labels, sigmoid."""
    segmentation: Windows = Heartbeats()
    """Windows of a recording: `kind: heartbeats` or `kind: recordings`, with the keys of that kind."""
    rate: Rate = 250
    """Hz that recordings are resampled to: 100, 250 (the paper's) or 500. Heartbeats have 1.2 s at any."""
    standardise: Standardise = "recording"
    """recording: z-score per recording and lead (heartbeats: per pseudo-trial too, as in the paper); dataset: one mean
    and deviation over the training part, for pretraining over the corpus; none: signals stay in mV."""
    pool: Pool = "mean"
    """A recording's probabilities: the mean of those of its windows, or each class's maximum."""
    folds: Annotated[int, Field(ge=2, le=20)] | None = None
    """Parts of a cross-validation of the datasets without folds, under `protocol: strict`: every patient is tested
    once, by a model that was trained without this patient. Parts are drawn anew for each seed and labelled subset;
    where the dataset is pretrained on as well, for each seed, with one encoder per part. None: one split."""
    leads: Annotated[list[str], BeforeValidator(leads_named)] = list(LEADS)
    """Leads of the downstream tasks, by name or by number (12, 8, 6, 3, 2, 1); others are zero. Pretraining uses 12."""
    simulation: Simulation | None = None
    """None: real data under --data-root or --data."""
    cards: dict[str, Card] = {}
    """Name -> card of a dataset that is not built in (page 'Your own ECGs'); `--datasets FILE.yaml` fills it in."""

    @property
    def corpora(self) -> list[str]:
        """List the names of the datasets that are pretrained on."""
        return self.pretrain.split(JOIN)

    def known(self) -> list[str]:
        """List the names of the datasets that there are: the built-in ones and those of the cards."""
        return [*DATASETS, *self.cards]

    def source(self, name: str) -> DatasetKind:
        """Return the dataset of a name in `known`."""
        return self.cards[name] if name in self.cards else DATASETS[name]

    def columns(self) -> tuple[DatasetTask, ...]:
        """Return the columns of the table. Raises ValueError where a dataset or a task makes none."""
        return columns_of((*self.datasets,), (*self.task,))

    def column(self, name: str) -> DatasetTask:
        """Return the column of a name: 'ptb-xl.rhythm', 'ptb-xl' of its default task, or a transport."""
        return DatasetTask(name) if AT in name else DatasetTask(*name.split("."))

    def cut(self) -> Segmentation:
        """Return the segmentation of recordings."""
        windows = self.segmentation
        raw = self.standardise != "recording"
        if isinstance(windows, Heartbeats):
            return Segmentation(samples=WINDOW * self.rate // FS, rate=self.rate, raw=raw, beats=windows.beats)
        samples = round(windows.seconds * self.rate)
        stride = round(windows.stride * self.rate) if windows.stride else samples // 2
        return Segmentation("recordings", samples, self.rate, stride, raw, windows.short == "pad")

    def prefix_of(self, name: str) -> str:
        """Return the path prefix of the recordings to read; '' (all) for a dataset that is a column of the table."""
        return self.pretrain_prefix if name in self.corpora and name not in self.datasets else ""


class Finetune(Section):
    """Encoder and head trained together on the labelled subset; best epoch on validation, by the protocol's criterion.

    The criterion is macro-F1 under `protocol: paper`, the loss under `strict` (page 'Protocols and statistics').
    """

    epochs: Count = 50
    """Passes over the labelled subset."""
    lr: Rates = [1e-4]
    """Constant learning rate of AdamW: one, or several, of which the best on validation is used. By default
    1e-4 as in the paper, and four rates under `protocol: strict` (page 'Protocols and statistics')."""
    weight_decay: NotNegative = 1e-2
    """Weight decay of AdamW."""
    batch_size: BatchSize = 256
    """Windows."""
    least_updates: Count = 1
    """Minimum updates per epoch; a smaller subset is passed over repeatedly."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Dropout = 0.1
    """Dropout on the logits (PMQ, Implementation Details)."""
    masks: Masks = 0.0
    encoder_dropout: Dropout | None = None
    """Dropout on the encoder's output. None: none, or under `pretrain.preset: paper` that of the method's authors."""
    beats_per_trial: Count = 6
    """Heartbeats of a pseudo-trial, the unit of `protocol: paper`'s labelled subset."""


class Linear(Section):
    """Logistic regression on frozen features."""

    strengths: Listed[Positive] = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
    """Candidate inverse regularisation strengths C; the best on validation is used, by the protocol's criterion."""


class Attention(Section):
    """An attention head on the steps of a frozen encoder; best epoch on validation, by the protocol's criterion."""

    epochs: Count = 20
    """Passes over the labelled subset."""
    lr: Rates = [1e-3]
    """Constant learning rate of AdamW: one, or several as in `finetune.lr`; four by default under `strict`."""
    weight_decay: NotNegative = 1e-2
    """Weight decay of AdamW."""
    batch_size: BatchSize = 128
    """Windows."""
    least_updates: Count = 20
    """Minimum updates per epoch; a smaller subset is passed over repeatedly."""


class Boosting(Section):
    """Gradient-boosted trees on hand-crafted features."""

    iterations: Count = 150
    """Maximum; the number used is chosen with `leaf_windows` on validation, by the protocol's criterion."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Shrinkage of each tree."""
    leaves: Annotated[int, Field(ge=2)] = 15
    """Maximum leaves of a tree."""
    leaf_windows: Listed[Count] = [5, 20]
    """Candidate minimum windows per leaf."""
    l2: NotNegative = 10.0
    """L2 regularisation of the leaves' values."""
    feature_share: Ratio = 0.1
    """Share of the features available to a split, drawn anew for each."""


class MiniRocket(Section):
    """MiniRocket's convolutions of windows and a ridge regression on them."""

    features: Annotated[int, Field(ge=84)] = 9996
    """Rounded down to a multiple of 84, the number of kernels."""
    dilations: Count = 32
    """Maximum dilations per kernel."""
    penalties: Listed[Positive] = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001]
    """Candidate L2 penalties per labelled window; the first of the best on validation, by the protocol's criterion."""


class Knn(Section):
    """Nearest neighbours of frozen features; a neighbour's vote is exp(cosine / temperature)."""

    neighbours: Listed[Count] = [1, 5, 20, 100]
    """Candidate numbers k of neighbours; the first of the best on validation, by macro-F1, and by macro AUROC under
    `protocol: strict`, whose loss needs probabilities and not votes."""
    temperature: Positive = 0.07
    """Temperature of the votes: the lower, the more the nearest count (0.07 in Wu et al. 2018)."""


class Supervised(Section):
    """Training from scratch on all labels, as the PTB-XL benchmark does (Strodthoff et al. 2020); last epoch."""

    epochs: Count = 50
    """Passes over the labelled windows."""
    lr: Rates = [1e-2]
    """Highest learning rate of the one-cycle schedule (AdamW): one, or several as in `finetune.lr`; four by default
    under `protocol: strict`."""
    weight_decay: NotNegative = 1e-2
    """Weight decay of AdamW, on all parameters."""
    batch_size: BatchSize = 128
    """Windows."""
    head_hidden: Count = 128
    """Width of the head's hidden layer."""
    dropout: Dropout = 0.5
    """Dropout before the head's last layer; half of it before its first."""
    masks: Masks = 0.0


Budget = Literal["epochs", "windows", "passes"]
PASSES_OF_PMQ = 4.0
"""Encoder passes of a pair of windows."""


class Pretrain(Section):
    """Pretraining, the same for all methods except their recipes.

    Precedence of recipe fields: `methods.NAME.recipe`, the preset's recipe, the defaults.
    """

    epochs: Epochs = 100
    """Epochs of pretraining; the number need not be whole."""
    budget: Budget = "epochs"
    """Quantity that is equal for all methods. epochs: epochs of their own batches; windows: windows that are read, as
    many as in these epochs of the whole corpus; passes: encoder passes, as many as PMQ needs for these windows (page
    'Protocols and statistics')."""
    seed: Seed = 42
    """Seed of the single pretraining of `protocol: paper`; `strict` pretrains once per fine-tuning seed."""
    preset: Preset = "unified"
    """unified: `pretrain.recipe` for all; paper: that of each method's own paper. methods.NAME.recipe comes first."""
    recipe: Recipe | None = None
    """Recipe of `preset: unified`, by default `Recipe()`; None under `paper`."""
    beats_per_trial: Annotated[int, Field(ge=2)] = 10
    """Heartbeats of a pseudo-trial; `pairing: neighbor` takes two in succession of them."""
    text_embedder: str = "tfidf"
    """Report embedding for methods that need text: tfidf, or a language model's folder or hub name."""

    def pair_costs(self, method: Any) -> tuple[float, float]:
        """Return the encoder passes of a pair of windows for PMQ and for a method; both 1 unless the budget is
        `passes`."""
        return (PASSES_OF_PMQ, method.encoder_passes) if self.budget == "passes" else (1.0, 1.0)


PAPER_ABLATIONS: dict[str, dict[str, dict[str, Any]]] = {
    "pmq": {
        "w/o mask_t": {"time_mask": 0.0},
        "w/o mask_f": {"frequency_mask": 0.0},
        "w/o neighbor": {"pairing": "same"},
        "w/o queue": {"queue_size": 0},
    }
}
"""Table 2 of the PMQ paper. "w/o neighbor" shows one heartbeat in both views, as many pairs per epoch."""


class Settings(Section):
    """Every setting that affects results; folders and process counts are not part of it."""

    name: str
    """Shown in plans and lists."""
    caption: str = ""
    """Purpose of the config, in one sentence; `list` prints it."""
    methods: Listed[str]
    """Compared methods, in row order: names of `list`, or .py files."""
    hyperparameters: dict[str, dict[str, Any]] = {}
    """Method name (or path of its file) -> overrides of its hyperparameters, one by `methods.NAME.FIELD`."""
    ablations: dict[str, dict[str, dict[str, Any]]] = PAPER_ABLATIONS
    """Defined ablations: method -> name -> overrides of its hyperparameters."""
    ablate: list[str] = []
    """Ablations to run: 'w/o queue' (of every compared method that has it), 'pmq:w/o queue', or 'all'."""
    sweeps: dict[str, dict[str, Listed[Any]]] = {}
    """Method -> hyperparameter (e.g. queue_size, recipe.lr) or config key (e.g. pretrain.epochs, encoder.hidden,
    finetune.lr) -> values, each run at the smallest label ratio."""
    baselines: list[Baseline] = ["random", "frozen", "features", "full-labels", "twin"]
    """Baselines: untrained encoder, fine-tuned and frozen; boosted hand-crafted features; these with all labels; on
    demand `supervised`, trained from scratch on all labels, and others (`list`)."""
    data: Data = Data()
    encoder: dict[str, Any] = {}
    """`name` (or file) of the shared encoder, the default one if absent, and all its hyperparameters."""
    encoders: list[dict[str, Any]] = []
    """Further encoders, each a section like `encoder`: all rows are made with each of them too."""
    pretrain: Pretrain = Pretrain()
    finetune: Finetune = Finetune()
    linear: Linear = Linear()
    attention: Attention = Attention()
    boosting: Boosting = Boosting()
    minirocket: MiniRocket = MiniRocket()
    knn: Knn = Knn()
    supervised: Supervised = Supervised()
    evaluate: Listed[str] = [FINETUNE]
    """Evaluations; each has a table. finetune trains encoder and head; linear, knn, attention, combined, erased and
    erased-random probe the frozen encoder; retrieval, beside another evaluation, looks for the patient of a recording
    (page 'Protocols and statistics')."""
    ratios: Listed[Ratio] = [0.3, 0.1, 0.01]
    """Shares of the training labels, in (0, 1]."""
    seeds: Listed[Seed] = [41, 42, 43, 44, 45]
    """Seeds; the protocol decides what a seed varies."""
    subsets: Count | None = None
    """Labelled subsets on which a frozen encoder is judged: by default 5 per seed under `strict`, and 1 under `paper`,
    where all seeds share them."""
    finetuned_subsets: Count = 1
    """Labelled subsets per seed on which an encoder is fine-tuned."""
    validation_labels: ValidationLabels | None = None
    """Validation patients whose labels choose epochs and strengths. share: the share that is labelled for training, at
    least one per class; whole: all. By default share under `strict`, and whole under `paper` as in the papers' code."""
    protocol: Protocol = "paper"
    """Rules of the comparison: how labelled subsets are drawn, what a seed varies, what is scored (page
    'Protocols and statistics'). By default strict for data of a card that states patients (page 'Your own ECGs'), else
    paper."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto: bf16 where the device multiplies it natively, else float32."""
    printed: list[str] = []
    """Sources of printed numbers that are rows in italics (benchmark/results/printed/sources.csv)."""
