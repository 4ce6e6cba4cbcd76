# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps, papers, comparisons and reports: results are those of the commands."""

import json

import pytest
import warpwatt as ww
from conftest import without_host

FILE = """name = "small"
workloads = ["vecadd@tiny"]
techniques = ["none", "drowsy"]
[parameters]
sm.scheduler = ["gto", "lrr"]
"""


def records(folder):
    """Points by what they were run with; keys have the build in them."""
    found = {}
    for path in (folder / "points").glob("*.json"):
        document = without_host(json.loads(path.read_text()))
        del document["key"]
        found[json.dumps(document["inputs"], sort_keys=True)] = document
    return found


def test_a_sweep_is_that_of_the_command(tmp_path, command):
    (tmp_path / "small.toml").write_text(FILE)
    command("sweep", tmp_path / "small.toml", "--out", tmp_path / "command")
    seen = []
    results = ww.Sweep.from_toml(FILE).run(tmp_path / "python", jobs=1, progress=lambda *line: seen.append(line))
    assert records(tmp_path / "python") == records(tmp_path / "command") and len(records(tmp_path / "python")) == 4
    of_command = ww.results(tmp_path / "command")
    assert without_host(results.document) == without_host(of_command.document)
    names = [name for name in results.points.column_names if name != "key"]
    assert {name: results.points[name] for name in names} == {name: of_command.points[name] for name in names}
    assert results.energy.num_rows > 0 and results.series.num_rows > 0 and results.kernels.num_rows == 4
    assert "configuration" in str(results) and results.folder == tmp_path / "python"
    assert results._repr_html_().startswith("<iframe")
    # What is there is not run again.
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "python/points").iterdir())
    ww.Sweep.from_toml(FILE).run(tmp_path / "python")
    assert before == sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "python/points").iterdir())


def test_folders_of_others_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ww.UsageError, match="was not created by warpwatt"):
        ww.Sweep.from_toml(FILE).run(tmp_path)
    with pytest.raises(ww.InputError, match="no results"):
        ww.results(tmp_path)


def test_a_paper_is_that_of_the_command(tmp_path, command):
    command("paper", "corf", "--size", "tiny", "--seeds", "1", "--workloads", "vecadd", "--out", tmp_path / "command", "-q")
    results = ww.paper("corf", size="tiny", seeds=[1], workloads=["vecadd"], out=tmp_path / "python")
    ledger = json.loads((tmp_path / "command/ledger.json").read_text())
    assert without_host(results.document) == without_host(ledger)
    claims = results.claims
    assert claims.num_rows == len(ledger["rows"]) and set(claims["paper"]) == {"corf"}
    assert claims["verdict"] == [row["verdict"] for row in ledger["rows"]]
    with pytest.raises(ww.UsageError, match="did you mean `corf`"):
        ww.paper("corv", size="tiny", out=tmp_path / "none")
    with pytest.raises(ww.UsageError, match="size"):
        ww.paper("corf", size="huge", out=tmp_path / "none")


def test_a_comparison_is_that_of_the_command(tmp_path, command):
    a = ww.run("vecadd@tiny", gpu="gtx480-wc")
    b = ww.run("vecadd@tiny", gpu="gtx480-wc", techniques=["warped-compression"])
    for name, record in (("a", a), ("b", b)):
        record.save(tmp_path / f"{name}.json")
    shown = json.loads(command("compare", tmp_path / "a.json", tmp_path / "b.json", "--json", "-"))
    comparison = ww.compare(a, tmp_path / "b.json")
    assert without_host(comparison.to_dict()) == without_host(shown) == without_host(json.loads(comparison.json()))
    assert comparison.cycles_ratio == b.cycles / a.cycles
    assert comparison.energy_ratio == pytest.approx(b.energy_j / a.energy_j)
    assert comparison.counters["counter"] == [counter["name"] for counter in shown["counters"]]
    assert "cycles" in str(comparison) and comparison._repr_html_().startswith("<iframe")
    with pytest.raises(ww.InputError, match="functional run"):
        ww.compare(a, ww.run("vecadd@tiny", functional=True))


def test_a_report_has_runs_and_folders(tmp_path):
    record = ww.run("vecadd@tiny")
    results = ww.Sweep.from_toml(FILE).run(tmp_path / "sweep")
    page = ww.report(record, results, out=tmp_path / "page.html")
    text = page.read_text()
    assert page == tmp_path / "page.html" and "vecadd" in text and "drowsy" in text
    with pytest.raises(ww.FileError):
        ww.report(tmp_path / "nowhere.json", out=tmp_path / "page.html")
    with pytest.raises(ww.UsageError, match="something to report on"):
        ww.report()
