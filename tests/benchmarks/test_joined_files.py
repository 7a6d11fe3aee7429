"""The section of `benchmarks.joined_files` works, on tiny files."""

import pytest

from benchmarks import joined_files
from benchmarks.command_line import Options

pytest.importorskip("pyarrow")


def test_both_orders_are_joined(monkeypatch):
    monkeypatch.setattr(joined_files, "BATCH", 100)
    monkeypatch.setattr(joined_files, "QUICK_SIZES", ((300, 3),))
    monkeypatch.setattr(joined_files, "measure_in_new_process", joined_files.measure)
    text = joined_files.report(Options(quick=True))
    assert text.startswith("### One file per view\n")
    assert "| 300 × 3 | 0.0072 | " in text


def test_each_join_has_a_process_of_its_own(tmp_path):
    joined_files.write_files(tmp_path, 300, 3)
    figures = joined_files.measure_in_new_process(str(tmp_path), joined_files.MIXED, 3)
    assert figures["rows"] == 300
    assert figures["seconds"] > 0


def test_joins_that_lose_rows_are_refused(monkeypatch):
    monkeypatch.setattr(joined_files, "measure_in_new_process", lambda *_: {"rows": 299})
    with pytest.raises(RuntimeError, match="300 rows"):
        joined_files.measure_size(300, 3)


def test_growth_is_told_by_sizes_of_as_many_columns():
    results = [{joined_files.SORTED: {"memory": memory}} for memory in (0, 1_000, 4_000)]
    [text] = joined_files.growth_part([(10, 5), (20, 3), (30, 3)], results)
    assert "From 20 to 30 rows" in text
    assert "300 bytes a row" in text
    assert joined_files.growth_part([(20, 5), (30, 3)], results[1:]) == []
