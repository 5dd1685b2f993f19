"""Fills a template of reports/html/templates: one HTML file that needs no network.

Text from a store is untrusted: templates escape it, and the Content Security Policy allows the page's own script and
style only.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmark.results.plain_text import harmless

TEMPLATES = Path(__file__).resolve().parent / "templates"


def rendered(name: str, content: Mapping[str, Any], *, scripts: Sequence[str]) -> str:
    """The page of a template, with the style of all pages and the files `scripts` as one script."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    script = "\n".join((TEMPLATES / file).read_text(encoding="utf-8") for file in scripts)
    own = {"style": style, "script": script, "policy": _policy(style, script)}
    return harmless(_environment().get_template(name).render(content, **own))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "allow_nan": False,
        "ensure_ascii": False,
    }
    return environment


def _policy(style: str, script: str) -> str:
    """Content Security Policy: nothing is loaded, and nothing runs but the page's own script."""
    own_style, own_script = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{own_style}'; script-src 'sha256-{own_script}'; "
        "base-uri 'none'; form-action 'none'"
    )
