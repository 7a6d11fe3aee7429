"""Marks of the charts of a report."""

from fuselearn.reporting import charts


def test_charts():
    assert charts.ticks(0.83, 0.97) == [0.85, 0.875, 0.9, 0.925, 0.95]
    assert charts.ticks(1, 1) == [1.0]
    assert charts.ticks(1, 3, whole=True) == [1.0, 2.0, 3.0]
    drawn = charts.histogram([0, 4, 2], [-1.0, -0.5, 0.0, 1.0], cut=0.0)
    assert drawn["below"].count("M") == 1
    assert drawn["above"].startswith("M502 1000V500H998")
    assert charts.strip([1.0, 0.0, 0.3, 0.0])[3] == "M0 0H250V1000H0Z"
    assert charts.strip([1.0, 0.0, 0.3, 0.0])[1] == "M500 0H750V1000H500Z"
    assert charts.line_chart([1], [0.5])["dots"] == [[500, 500]]
    assert charts.line_chart([1, 2], [0.0, 1.0])["line"] == "M0 931 1000 69"
    assert charts.heat_map([[1.0, 0.0], [0.01, None]])["paths"][0] == "M0 1h1v1h-1z"
