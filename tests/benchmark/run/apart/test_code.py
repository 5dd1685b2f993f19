"""A job runs with the code that it was submitted with, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.run.apart.code import digests_of_code, read_digests, refuse_other_code


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("benchmark/run/cell.py", "benchmark/verbs/list.py", "methods/pmq.py", "tests/test.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def test_an_edited_a_new_and_a_removed_file_are_refused_by_name(checkout: Path) -> None:
    before = read_digests(checkout)
    refuse_other_code(before, checkout)
    (checkout / "methods/pmq.py").write_text("x = 2\n")
    again = "has been edited since this job was submitted; the same command submits it as it is now"
    with pytest.raises(ValueError, match=rf"^methods/pmq\.py {again}$"):
        refuse_other_code(before, checkout)
    (checkout / "benchmark/run/new.py").touch()
    (checkout / "benchmark/run/cell.py").unlink()
    with pytest.raises(ValueError, match=rf"^benchmark/run/cell\.py and 2 more {again}$"):
        refuse_other_code(before, checkout)


def test_what_no_result_rests_on_may_be_edited(checkout: Path) -> None:
    before = read_digests(checkout)
    (checkout / "benchmark/verbs/list.py").write_text("x = 2\n")
    (checkout / "tests/test.py").write_text("x = 2\n")
    refuse_other_code(before, checkout)


def test_the_digests_are_of_the_code_that_runs() -> None:
    assert {"methods/pmq.py", "benchmark/training/pretrain.py", "benchmark/run/cell.py"} <= digests_of_code().keys()
    refuse_other_code(digests_of_code())
