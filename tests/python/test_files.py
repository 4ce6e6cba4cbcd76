# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gpu, Technology and Sweep: what a file can say, Python can, and each writes the other."""

import json

import pytest
import warpwatt as ww
from conftest import ROOT


def test_a_gpu_and_its_file_are_the_same(tmp_path, command):
    gpu = ww.Gpu("gtx480").set("l2.sets", 128).set({"sm.scheduler": "lrr", "sm.l1d.enabled": False} if "sm.l1d.enabled" in ww.Gpu().parameters else {"sm.scheduler": "lrr"})
    assert gpu["l2.sets"] == 128 and gpu["sm.scheduler"] == "lrr" and ww.Gpu("gtx480")["l2.sets"] == 64
    again = ww.Gpu.from_toml(gpu.to_toml())
    assert again == gpu and hash(again) == hash(gpu) and again.sha256 == gpu.sha256
    gpu.save(tmp_path / "my.toml")
    assert ww.Gpu(tmp_path / "my.toml") == gpu
    shown = json.loads(command("gpu", "show", tmp_path / "my.toml", "--json", "-"))
    assert shown["parameters"] == gpu.parameters and shown["sha256"] == gpu.sha256
    assert "# " in gpu.to_toml(annotated=True) and "# " not in gpu.to_toml()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("l2.stes", 128, ["there is no parameter `l2.stes`", "did you mean `l2.sets`?"]),
        ("l2.sets", "many", ["many"]),
        ("dram.banks", 12, ["`dram.banks` is 12"]),
        ("technique.drowsy.region", 1, ["is about a technique", "techniques="]),
    ],
)
def test_parameters_that_cannot_be_set(key, value, words):
    with pytest.raises(ww.UsageError) as raised:
        ww.Gpu("gtx480").set(key, value)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_mistakes_in_a_gpu_file_have_their_line():
    with pytest.raises(ww.UsageError, match="my.toml:3"):
        ww.Gpu.from_toml('inherits = "gtx480"\n[sm]\nwraps = 3\n', name="my.toml")
    with pytest.raises(KeyError, match="did you mean `sm.warps`"):
        ww.Gpu()["sm.wraps"]


def test_a_technology_is_changed_by_figure(tmp_path):
    usual = ww.Technology()
    hot = usual.set("silicon/kelvin", 380)
    costly = usual.set("decoder/icache.instructions.count/pj", 36.1)
    assert usual.name == "gtx480-40nm" and hot.name == "gtx480-40nm-changed"
    assert "decoder" in usual.structures and hot.structures == usual.structures == costly.structures

    def energy(technology, structure):
        record = ww.run("vecadd@tiny", technology=technology)
        return {row["structure"]: row for row in record.energy.to_rows()}[structure], record

    before, base = energy(usual, "decoder")
    after, record = energy(costly, "decoder")
    assert after["dynamic_j"] == pytest.approx(10 * before["dynamic_j"], rel=1e-9)
    assert record.technology == "gtx480-40nm-changed" and record.cycles == base.cycles
    warm, _ = energy(hot, "pipeline")
    cold, _ = energy(usual, "pipeline")
    assert warm["static_j"] >= cold["static_j"]
    costly.save(tmp_path / "costly.toml")
    assert ww.Technology(tmp_path / "costly.toml") == costly == ww.Technology.from_toml(costly.to_toml())
    assert energy(str(tmp_path / "costly.toml"), "decoder")[0] == after
    # Changes add up, and names may be changed as well.
    both = costly.set("silicon/kelvin", 380).set("name", "both")
    assert both.name == "both" and both.to_dict()["structure"][0]["name"] == "decoder"
    by_number = usual.set("instruction cache/static/0/mw", 62.2)
    assert by_number.to_dict()["structure"][0]["static"][0]["mw"] == 62.2


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("decodr/icache.instructions.count/pj", 1, ["no structure `decodr`", "did you mean `decoder`?"]),
        ("decoder/icache.instruction.count/pj", 1, ["did you mean `icache.instructions.count`?"]),
        ("decoder/icache.instructions.count/jp", 1, ["did you mean `pj`?"]),
        ("silicon/kelvn", 1, ["did you mean `kelvin`?"]),
        ("discription", "x", ["no key `discription`", "did you mean `description`?"]),
    ],
)
def test_figures_that_cannot_be_set(key, value, words):
    with pytest.raises(ww.UsageError) as raised:
        ww.Technology().set(key, value)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_sweep_and_its_file_are_the_same(tmp_path):
    file = ww.Sweep(ROOT / "examples/sweep/l1.toml")
    keys = ww.Sweep(
        name="l1",
        gpu="gtx480",
        workloads=["bfs", "hotspot"],
        size="tiny",
        techniques=[None, "drowsy"],
        parameters={"sm.scheduler": ["gto", "lrr"], "sm.l1d.mshrs": range(8, 9)},
    ).set("sm.l1d.mshrs", [8, 32, 64])
    assert file.name == keys.name == "l1"
    keys.save(tmp_path / "l1.toml")
    assert ww.Sweep(tmp_path / "l1.toml") == keys == ww.Sweep.from_toml(keys.to_toml())
    assert ww.Sweep.from_toml(file.to_toml()) == file
    assert keys.to_dict()["techniques"] == file.to_dict()["techniques"] == ["none", "drowsy"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"workload": ["bfs"]}, ["no key `workload`", "did you mean `workloads`?"]),
        ({"workloads": ["bsf"]}, ["there is no workload `bsf`", "did you mean `bfs`?"]),
        ({"workloads": ["bfs"], "parameters": {"sm.wraps": [1]}}, ["sm.wraps", "sm.warps"]),
        ({"workloads": ["bfs"], "techniques": ["drowzy"]}, ["drowzy", "drowsy"]),
        ({"workloads": ["bfs"], "technology": ww.Technology().set("silicon/kelvin", 360)}, ["is not built in", "save"]),
    ],
)
def test_sweeps_that_cannot_be_run(keys, words):
    with pytest.raises(ww.UsageError) as raised:
        ww.Sweep(**keys)
    assert all(word in str(raised.value) for word in words), str(raised.value)


def test_a_changed_gpu_becomes_parameters_of_a_sweep():
    sweep = ww.Sweep(workloads="vecadd@tiny", gpu=ww.Gpu("gtx480").set("l2.ways", 4))
    assert sweep.to_dict()["gpu"] == "gtx480" and sweep.to_dict()["parameters"] == {"l2.ways": 4}
    with pytest.raises(ww.UsageError, match="neither built in nor a file"):
        ww.Sweep(workloads="vecadd@tiny", gpu=ww.Gpu.from_toml('inherits = "gtx480"', name="mine"))
