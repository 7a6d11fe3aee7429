"""Helpers of the benchmarks of a server and of first fits."""

import sys
from collections import Counter

import pytest

from benchmarks import cold_start, fitted_files, serving
from benchmarks.cold_start import Seconds, Starts


@pytest.mark.parametrize("n_columns", [8, 384])
def test_views_have_all_columns_between_them(n_columns):
    widths = fitted_files.view_widths(n_columns).values()
    assert sum(widths) == n_columns
    assert max(widths) - min(widths) <= 1


def test_first_lines_are_the_header_and_rows(tmp_path):
    path = tmp_path / "rows.csv"
    fitted_files.write_csv(path, ["a", "b"], [[1, 2], [3, 4], [5, 6]])
    assert fitted_files.first_lines(path, 2) == "a,b\n1,2\n3,4\n"


def test_records_are_as_json_has_them_and_enough_for_a_request(tmp_path):
    path = tmp_path / "rows.csv"
    fitted_files.write_csv(path, ["a", "b"], [[0.5, "north"], ["", "south"]])
    records = serving.read_records(path)
    assert len(records) == 100
    assert records[:3] == [{"a": 0.5, "b": "north"}, {"a": None, "b": "south"}, {"a": 0.5, "b": "north"}]


def test_malformed_requests_must_do_no_harm():
    counts = Counter({400: 1_200, 422: 300, 0: 5})
    text = serving.harm(counts, is_well=True, count=1_505)
    assert "1,200 times 400, 300 times 422, 5 times a closed connection" in text
    assert "target ≤ 0, measured 0: met" in text
    assert "measured 2: **missed**" in serving.harm(counts + Counter({500: 2}), is_well=True, count=1_507)
    assert "measured 1: **missed**" in serving.harm(Counter(), is_well=False, count=1_505)


def test_a_server_that_is_gone_is_not_well():
    with serving.socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert serving.malformed_answers(port, 3, ["a"]) == (Counter(), False)


def test_the_least_of_each_figure_counts():
    runs = [
        Starts(Seconds(5.0, 3.0), Seconds(2.0, 1.0)),
        Starts(Seconds(4.0, 3.5), Seconds(2.5, 0.5)),
    ]
    assert cold_start.least(runs) == Starts(Seconds(4.0, 3.0), Seconds(2.0, 0.5))


def test_a_process_is_timed_with_the_cache_of_its_own(tmp_path):
    pytest.importorskip("resource")  # not on Windows
    code = "import os; open(os.path.join(os.environ['NUMBA_CACHE_DIR'], 'seen'), 'w').close(); sum(range(10**6))"
    seconds = cold_start.run_timed(cold_start.python(code), tmp_path)
    assert (tmp_path / "seen").exists()
    assert seconds.wall > 0 < seconds.processor
    with pytest.raises(RuntimeError, match="no such file of rows"):
        cold_start.run_timed([sys.executable, "-c", "import sys; sys.exit('no such file of rows')"], tmp_path)


def test_a_late_first_prediction_misses_its_target():
    assert "2.5 s of the processor" in cold_start.predict_verdict(Seconds(2.9, 2.5))
    assert "measured 2.9: met" in cold_start.predict_verdict(Seconds(2.9, 2.5))
    assert "measured 3.1: **missed**" in cold_start.predict_verdict(Seconds(3.1, 2.5))
