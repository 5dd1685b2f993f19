"""Pages of the site that are written from the code: a hook of mkdocs (`make docs`).

The README and the pages beside it, the notebooks, every config key and hyperparameter with its docstring, every flag,
and the interface that a method, an encoder or a dataset implements. Nothing
is imported for the keys: griffe reads the sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from benchmark.cli.commands import COMMANDS
from benchmark.cli.main import parser_of

ROOT = Path(__file__).resolve().parents[2]
BESIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "DEVIATIONS.md": "deviations.md"}
BESIDE |= {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
"""File of the repository's root -> its page."""
SECTIONS = {
    "": "schema.Settings",
    "data": "schema.Data",
    "data.segmentation": "schema.Heartbeats",
    "data.segmentation (of recordings)": "schema.Recordings",
    "data.simulation": "schema.Simulation",
    "pretrain": "schema.Pretrain",
    "finetune": "schema.Finetune",
    "linear": "schema.Linear",
    "attention": "schema.Attention",
    "boosting": "schema.Boosting",
    "minirocket": "schema.MiniRocket",
    "knn": "schema.Knn",
    "supervised": "schema.Supervised",
}
"""Dotted prefix -> module and class in benchmark.config."""
OF_SEVERAL = {
    "SiameseConfig": "`simclr`, `vicreg`, `barlow` and `simsiam`",
    "QueueConfig": "`moco` and `pmq`",
}
"""Config of several methods -> its heading."""
BASES = ("MethodConfig", *OF_SEVERAL)
"""Configs that others extend."""
INTERFACES = {
    "Method": ["methods.base", "methods.parts.losses", "methods.momentum"],
    "Encoder": ["methods.encoders.base", "methods.encoders"],
    "Use": [
        "benchmark.evaluation",
        "reports.answer",
        "reports.second_opinion",
        "benchmark.embedding",
        "methods.encoders.pretrained",
    ],
    "Dataset": ["benchmark.data.datasets.base"],
    "Statistics": ["reports.load", "reports.results", "reports.jackknife", "reports.inference"],
    "Results": ["benchmark.results.store", "benchmark.results.metrics"],
}
"""Page of the interface -> its modules."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the written pages."""
    for source, page in BESIDE.items():
        files.append(File.generated(config, page, content=rebased((ROOT / source).read_text(encoding="utf-8"))))
    written = {"reference/config.md": config_page(), "reference/commands.md": commands_page()}
    for title, modules in INTERFACES.items():
        written[f"reference/{title.lower()}.md"] = interface_page(title, modules)
    for notebook in (ROOT / "docs").glob("*.ipynb"):
        written[f"{notebook.stem}.md"] = notebook_page(notebook)
    for page, content in written.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links of a page in docs/ to files of the root, as links to their pages."""
    for source, page in BESIDE.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}")
    return markdown


def rebased(text: str) -> str:
    """A page of the repository's root with its links as seen from `docs/`."""
    for source, page in BESIDE.items():
        text = text.replace(f"]({source}", f"]({page}")
    return re.sub(r"\]\(docs/", "](", text)


@lru_cache
def source_of(module: str) -> griffe.Module:
    """A module as griffe reads it, with its submodules."""
    source = griffe.load(module, search_paths=[ROOT])
    assert isinstance(source, griffe.Module)
    return source


def notebook_page(path: Path) -> str:
    """The cells of a notebook as a page, after its title a link to the file."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, _, rest = parts[0].partition("\n")
    return "\n\n".join([title, f"To run it: the notebook [{path.name}]({path.name}).", rest.strip(), *parts[1:]]) + "\n"


def config_page() -> str:
    """Every key of a config, then the hyperparameters of every method and encoder."""
    config, methods = source_of("benchmark.config"), source_of("methods")
    lines = [
        "# Every config key",
        "",
        "Written from the code. A key is set in a YAML file or with `--set key=value`.",
        "",
    ]
    for prefix, name in SECTIONS.items():
        lines += section(config[name], prefix)
    lines += [
        "## Methods",
        "",
        "`methods.NAME.FIELD`, with the recipe's fields as `methods.NAME.recipe.FIELD`.",
        "",
    ]
    lines += section(methods["base.MethodConfig"], "methods.NAME", heading="Every method")
    lines += section(methods["base.Recipe"], "pretrain.recipe", heading="Recipe")
    for kind in (one for base in BASES for one in subclasses(methods, base)):
        name = "NAME" if kind.name in OF_SEVERAL else kind.module.name.replace("_", "-")
        lines += section(kind, f"methods.{name}", heading=OF_SEVERAL.get(kind.name, ""), own_only=True)
    lines += ["## Encoders", ""]
    lines += section(methods["encoders.base.EncoderConfig"], "encoder", heading="Every encoder")
    for kind in subclasses(methods, "EncoderConfig"):
        lines += section(kind, "encoder", heading=kind.module.name, own_only=True)
    return "\n".join(lines)


def subclasses(package: griffe.Module, base: str) -> Iterator[griffe.Class]:
    """Classes of a package, in all its modules, that extend a config of this name."""
    for module in package.modules.values():
        if module.is_alias:
            continue
        yield from (kind for kind in module.classes.values() if not kind.is_alias and base in map(str, kind.bases))
        yield from subclasses(module, base)


def section(kind: griffe.Class, prefix: str, heading: str = "", *, own_only: bool = False) -> list[str]:
    """A heading and a table of the fields of a config's class."""
    fields = kind.attributes if own_only else {n: a for n, a in kind.all_members.items() if a.is_attribute}
    rows = [row(prefix, field) for name, field in fields.items() if field.annotation is not None and name[0] != "_"]
    about = kind.docstring.value if kind.docstring else ""
    head = ["| key | default | meaning |", "| --- | --- | --- |"]
    return [f"### {heading or f'`{prefix}`' if prefix else 'Top level'}", "", about, "", *head, *rows, ""]


def row(prefix: str, field: griffe.Attribute) -> str:
    """A field's line: dotted key, default, meaning."""
    key = f"{prefix}.{field.name}".lstrip(".")
    default = "" if field.value is None else f"`{' '.join(str(field.value).split())}`".replace("|", "\\|")
    return f"| `{key}` | {default} | {meaning(field)} |"


def meaning(field: griffe.Attribute) -> str:
    """A field's docstring, else that of the class it overrides, else that of its type's name, else its choices."""
    methods = source_of("methods")
    bases = (methods["base.MethodConfig"], methods["encoders.base.EncoderConfig"])
    same = [field, *(base.members[field.name] for base in bases if field.name in base.members)]
    texts = [member.docstring.value for member in same if member.docstring][:1]
    for name in (
        () if texts else {part.canonical_path for part in field.annotation if isinstance(part, griffe.ExprName)}
    ):
        module, _, alias = name.rpartition(".")
        if module.split(".")[0] in ("benchmark", "methods"):
            member = source_of(module).members.get(alias)
            texts += [member.docstring.value] if member is not None and member.docstring else []
    if not texts and str(field.annotation).startswith("Literal"):
        texts = [str(field.annotation).removeprefix("Literal[").removesuffix("]").replace("'", "")]
    return " ".join(" ".join(texts).split()).replace("|", "\\|")


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Every command", "", "What `--help` prints. `run` is the command where none is given.", ""]
    for name in COMMANDS:
        lines += [f"## {name}", "", "```text", parser_of(name).format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def interface_page(title: str, modules: list[str]) -> str:
    """A page that mkdocstrings fills from the docstrings of some modules."""
    return "\n".join([f"# {title}", "", *(f"::: {module}\n" for module in modules)])
