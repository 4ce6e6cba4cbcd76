# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs of workloads and launch files: the record is that of the command, to the bit."""

import json

import pytest
import warpwatt as ww
from conftest import ROOT, without_host


def test_a_record_is_that_of_the_command(recorded):
    record = ww.run("sgemm", size="tiny", seed=2)
    assert without_host(json.loads(record.json())) == recorded("sgemm@tiny", "--seed", 2)
    assert (record.status, record.mode, record.workload, record.size, record.seed) == (
        "complete", "timed", "sgemm", "tiny", 2)


def test_gpu_techniques_technology_and_interval_are_those_of_the_command(recorded):
    gpu = ww.Gpu("gtx480-wc").set("l2.ways", 4)
    record = ww.run(
        "bfs@tiny", gpu=gpu, techniques=["warped-compression:compressors=4"], technology="wc45", interval=1000, threads=1)
    words = ["bfs@tiny", "--gpu", "gtx480-wc", "--set", "l2.ways=4", "--with", "warped-compression:compressors=4"]
    assert without_host(json.loads(record.json())) == recorded(*words, "--technology", "wc45", "--interval", 1000)
    assert record.series.num_rows > 0 and record.power.num_rows > 0
    assert "compressors=4" in record.techniques[0]


def test_techniques_are_the_same_as_texts_and_as_a_mapping():
    texts = ww.run("vecadd@tiny", gpu="gtx480-wc", techniques=["warped-compression:gating=off"])
    mapping = ww.run("vecadd@tiny", gpu="gtx480-wc", techniques={"warped-compression": {"gating": False}})
    assert without_host(texts.to_dict()) == without_host(mapping.to_dict())


def test_a_technique_that_needs_a_profile_gets_one(recorded):
    record = ww.run("vecadd@tiny", gpu="gtx580-e2mc", techniques="e2mc")
    assert without_host(json.loads(record.json())) == recorded("vecadd@tiny", "--gpu", "gtx580-e2mc", "--with", "e2mc")


def test_functional_runs_have_no_time(recorded):
    record = ww.run("scan", size="tiny", functional=True, check="races,uninit")
    assert without_host(json.loads(record.json())) == recorded("scan@tiny", "--functional", "--check", "races,uninit")
    assert (record.mode, record.cycles, record.energy_j, record.ipc) == ("functional", None, None, None)
    assert record.energy.num_rows == 0


def test_launch_files_are_run(recorded, monkeypatch):
    monkeypatch.chdir(ROOT)
    record = ww.run(launch="examples/saxpy/saxpy.toml")
    assert without_host(json.loads(record.json())) == recorded("--launch", "examples/saxpy/saxpy.toml")
    assert record.check["passed"] and record.check["compared"] == 1000
    assert ww.run("examples/saxpy/saxpy.ptx").cycles == record.cycles


def test_numbers_of_the_record_and_of_its_tables_agree():
    record = ww.run("hotspot@tiny")
    document = record.to_dict()
    assert record.cycles == document["totals"]["cycles"]
    assert sum(record.kernels["launches"]) == document["totals"]["launches"]
    assert record.seconds == pytest.approx(record.cycles / 700e6)
    assert sum(record.energy["total_j"]) == pytest.approx(record.energy_j, rel=1e-9)
    assert record["exec.barriers.count"] == document["totals"]["counters"]["exec.barriers.count"]
    counters = dict(zip(record.counters["counter"], record.counters["value"]))
    assert counters["l2.hit.ratio"] == document["totals"]["counters"]["l2.hit.ratio"]
    assert record.stalls == document["totals"]["stalls"]
    lines = record.lines.to_rows()
    assert sum(line["warp_instructions"] for line in lines) == record.warp_instructions
    assert any("hotspot.cu" in line["file"] and line["text"] for line in lines)


def test_a_limit_gives_a_partial_record():
    record = ww.run("sgemm@small", limit_cycles=2000, threads=1)
    assert record.status == "partial" and 0 < record.cycles < 20000
    assert record.diagnostics[0]["code"] == "limit"


@pytest.mark.parametrize(
    ("wrong", "message", "help"),
    [
        (lambda: ww.run("sgem"), "there is no workload `sgem`", "did you mean `sgemm`?"),
        (lambda: ww.run("sgemm@tiny", gpu="gtx48"), "there is no GPU `gtx48`", "did you mean `gtx480`?"),
        (lambda: ww.run("sgemm@tiny", techniques=["worped-compression"]), "worped-compression", "warped-compression"),
        (lambda: ww.run("sgemm@tiny", technology="wc54"), "there is no technology `wc54`", "wc45"),
        (lambda: ww.run("sgemm", size="huge"), "huge", None),
        (lambda: ww.run("sgemm@tiny", threads=0), "`threads` is 0", "1 to 256"),
        (lambda: ww.run("sgemm@tiny", check="rases"), "rases", None),
        (lambda: ww.run("sgemm@tiny", interval=0), "`interval` is 0", "above 0"),
        (lambda: ww.run("sgemm@tiny", kernels="("), "regular expression", None),
        (lambda: ww.run(), "name a workload", None),
    ],
)
def test_mistakes_are_told_with_what_was_meant(wrong, message, help):
    with pytest.raises(ww.UsageError) as raised:
        wrong()
    assert message in str(raised.value)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, ww.Error)
    if help:
        assert help in str(raised.value.help)
        assert help in str(raised.value)


def test_an_option_that_is_not_there_names_the_nearest():
    with pytest.raises(TypeError, match="did you mean `techniques`"):
        ww.run("sgemm@tiny", technique=["drowsy"])


def test_counters_and_columns_that_are_not_there_name_the_nearest():
    record = ww.run("vecadd@tiny")
    with pytest.raises(KeyError, match="did you mean `l1d.misses.count`"):
        record["l1d.mises.count"]
    with pytest.raises(KeyError, match="did you mean `cycles`"):
        record.kernels["cycle"]


def test_records_are_saved_and_loaded(tmp_path, command):
    record = ww.run("vecadd@tiny")
    record.save(tmp_path / "a.json")
    assert ww.load(tmp_path / "a.json").json() == record.json()
    assert "cycles" in command("compare", tmp_path / "a.json", tmp_path / "a.json")
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(ww.InputError, match="no run record"):
        ww.load(tmp_path / "b.json")
    with pytest.raises(ww.FileError) as raised:
        ww.load(tmp_path / "c.json")
    assert isinstance(raised.value, OSError)


def test_a_record_prints_what_the_command_prints(command):
    record = ww.run("hotspot@tiny")
    assert str(record) == command("run", "hotspot@tiny")
    assert repr(record) == f"<warpwatt.Record hotspot@tiny, seed 1: complete, {record.cycles} cycles>"


def test_a_record_is_a_page_in_a_notebook():
    record = ww.run("hotspot@tiny")
    page = record.html()
    assert page.startswith("<!") and "hotspot.cu" in page
    frame = record._repr_html_()
    assert frame.startswith("<iframe srcdoc=") and frame.count('"') == 6


def test_a_failed_check_has_the_record(tmp_path):
    text = (ROOT / "examples/saxpy/saxpy.toml").read_text()
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace("start = 1, step = 2", "start = 1, step = 3").replace('"saxpy.ptx"', f'"{ROOT}/examples/saxpy/saxpy.ptx"'))
    with pytest.raises(ww.CheckFailed, match="the check failed") as raised:
        ww.run(launch=wrong)
    assert raised.value.record.status == "failed" and not raised.value.record.check["passed"]


def test_what_is_built_in_is_listed(command):
    listed = {one["name"] for one in json.loads(command("list", "gpus", "--json", "-"))["gpus"]}
    assert set(ww.gpus()["name"]) == listed
    assert "sgemm" in ww.workloads()["name"] and "corf" in ww.techniques()["name"]
    assert "gtx480-40nm" in ww.technologies()["name"]
