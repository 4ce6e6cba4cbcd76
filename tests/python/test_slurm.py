# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps and papers on Slurm, against the Slurm of tests/slurm/fake.py, whose tasks are processes of this machine: results are those of a run here."""

import json
import os
import subprocess
import sys
import textwrap
import time

import pytest
import warpwatt as ww
from conftest import ROOT, without_host

SETTINGS = {"point_seconds": 0.06, "task_minutes": 0.002, "grace_seconds": 0.3, "poll_seconds": 0.1}
SWEEP = ww.Sweep(
    name="s", workloads="vecadd@tiny", techniques=[None, "drowsy"], parameters={"sm.ctas": [1, 2, 4]}, slurm=SETTINGS
)
POINTS = 6


class Cluster:
    """A cluster of its own, whose commands stand first in PATH."""

    def __init__(self, folder, **config):
        self.folder, self.state = folder, folder / "state"
        self.state.mkdir()
        self.config(**config)
        subprocess.run([sys.executable, ROOT / "tests/slurm/fake.py", "install", folder / "bin"], check=True)
        self.environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "FAKE_SLURM": str(self.state)}

    def config(self, **config):
        (self.state / "config.json").write_text(json.dumps(config))

    def jobs(self):
        path = self.state / "state.json"
        return list(json.loads(path.read_text())["jobs"].values()) if path.exists() else []

    def live(self):
        """Tasks that wait or run."""
        return sum(task["state"] in ("PENDING", "RUNNING") for job in self.jobs() for task in job["tasks"].values())

    def cancel(self):
        names = ",".join(job["name"] for job in self.jobs())
        subprocess.run([self.folder / "bin/scancel", f"--name={names}"], env=dict(os.environ, **self.environment), check=True)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    made = Cluster(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    made.cancel()


def files(folder):
    """All files of a folder by name, points without their host part, and without the log, the lock and what is about Slurm."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_dir() or name in ("log.txt", "lock") or name.startswith("slurm/"):
            continue
        found[name] = without_host(json.loads(path.read_text())) if name.startswith("points/") else path.read_bytes()
    return found


def test_a_sweep_on_slurm_leaves_what_a_local_one_does(tmp_path, cluster):
    seen = []
    results = SWEEP.slurm(tmp_path / "slurm", csv=True, progress=lambda *line: seen.append(line))
    SWEEP.run(tmp_path / "local", csv=True)
    there, local = files(tmp_path / "slurm"), files(tmp_path / "local")
    assert there.keys() == local.keys() and sum(name.startswith("points/") for name in local) == POINTS
    assert [name for name in local if there[name] != local[name]] == []
    assert results.points.num_rows == POINTS and "configuration" in str(results)
    assert all(total == POINTS and "tasks run" in text for _, total, text in seen), seen
    status = results.status()
    assert (status["done"], status["lost"], status["points"]) == (POINTS, 0, POINTS) and SWEEP.status(tmp_path / "slurm") == status
    # Tasks run this Python and this package, whatever the environment of a node is.
    script = next((tmp_path / "slurm/slurm").glob("batch-*/script.sh")).read_text()
    assert f"'{sys.executable}' '-I'" in script and cluster.live() == 0
    # What is there is not submitted again.
    submitted = len(cluster.jobs())
    SWEEP.slurm(tmp_path / "slurm")
    assert len(cluster.jobs()) == submitted


def test_tasks_that_are_preempted_or_lost_repeat_no_point(tmp_path, cluster):
    cluster.config(faults=[{"kind": "preempt", "start": 0, "after": 1}, {"kind": "lost", "start": 1, "after": 1}])
    SWEEP.slurm(tmp_path / "slurm")
    SWEEP.run(tmp_path / "local")
    assert files(tmp_path / "slurm") == files(tmp_path / "local")
    journals = "".join(path.read_text() for path in (tmp_path / "slurm/slurm").rglob("*.journal"))
    assert journals.count('"done"') == POINTS


def test_a_detached_sweep_is_collected_later(tmp_path, cluster):
    cluster.config(slots=0)
    results = SWEEP.slurm(tmp_path / "out", detach=True)
    assert "stay there" in str(results) and cluster.live() == 3
    status = results.status()
    assert (status["waiting"], status["tasks_waiting"], status["watched"]) == (POINTS, 3, False)
    assert status["command"] == "the same call of the Python package"
    with pytest.raises(ww.FileError, match="status"):
        results.points
    with pytest.raises(ww.UsageError, match="in the queue of Slurm"):
        SWEEP.run(tmp_path / "out")
    # Another process opens the folder, and its tasks can be taken back.
    ww.results(tmp_path / "out").cancel()
    assert cluster.live() == 0
    SWEEP.slurm(tmp_path / "out", detach=True)
    cluster.config(slots=2)
    assert SWEEP.slurm(tmp_path / "out").points.num_rows == POINTS
    assert len(cluster.jobs()) == 2, "the second call joined what was in the queue"


def test_settings_are_those_of_the_table(tmp_path, cluster):
    plain = ww.Sweep(workloads="vecadd@tiny", parameters={"sm.ctas": [1, 2]})
    plain.slurm(tmp_path / "mapping", settings=dict(SETTINGS, partition="short", memory="2G", sbatch=["--qos=low"]))
    (tmp_path / "cluster.toml").write_text('[slurm]\npartition = "long"\npoll_seconds = 0.1\n')
    plain.slurm(tmp_path / "file", settings=tmp_path / "cluster.toml")
    first, second = (" ".join(job["words"]) for job in cluster.jobs())
    assert all(word in first for word in ("--partition=short", "--mem=2048M", "--qos=low")) and "--partition=long" in second
    for settings, words in ({"partiton": "x"}, "did you mean `partition`"), ({"memory": "lots"}, "memory"):
        with pytest.raises(ww.UsageError, match=words):
            plain.slurm(tmp_path / "none", settings=settings)
        with pytest.raises(ww.UsageError, match=words):
            ww.paper("corf", size="tiny", out=tmp_path / "none", engine="slurm", slurm=settings)
    assert not (tmp_path / "none").exists()


def test_failures_are_exceptions(tmp_path, cluster, monkeypatch):
    cluster.config(faults=[{"kind": "crash", "every": True}])
    with pytest.raises(ww.CheckFailed, match="6 of 6 points failed") as raised:
        SWEEP.slurm(tmp_path / "crash")
    assert raised.value.results.status()["failed"] == POINTS
    cluster.config(refuse=["invalid partition specified: shrot"] * 10)
    with pytest.raises(ww.UsageError, match="Slurm rejected the job"):
        SWEEP.slurm(tmp_path / "refused")
    assert cluster.live() == 0
    with pytest.raises(ww.UsageError, match="not a result folder"):
        SWEEP.status(tmp_path / "nowhere")
    with pytest.raises(ww.UsageError, match="no engine `slrum`"):
        ww.paper("corf", size="tiny", out=tmp_path / "none", engine="slrum")
    with pytest.raises(ww.UsageError, match="engine"):
        ww.paper("corf", size="tiny", out=tmp_path / "none", detach=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ww.UsageError, match="`sbatch` was not found"):
        SWEEP.slurm(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_ctrl_c_takes_tasks_back(tmp_path, cluster):
    cluster.config(slots=1)
    text = f"""
        import os, signal, warpwatt as ww
        sweep = ww.Sweep(workloads="bfs@small", seeds=range(1, 41), slurm={dict(SETTINGS, task_minutes=0.01)!r})
        try:
            sweep.slurm({str(tmp_path / 'out')!r}, progress=lambda done, *rest: done and os.kill(os.getpid(), signal.SIGINT))
        except ww.Interrupted as end:
            print(end, "|", end.help, "|", end.results.status()["tasks_running"])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.startswith("interrupted: "), done.stderr
    assert done.stdout.endswith("| the same call goes on from there | 0\n"), done.stdout
    assert cluster.live() == 0 and 0 < len(list((tmp_path / "out/points").glob("*.json"))) < 40


def test_a_caller_that_is_killed_is_taken_over(tmp_path, cluster):
    text = f"import warpwatt as ww; ww.Sweep.from_toml({SWEEP.to_toml()!r}).slurm({str(tmp_path / 'out')!r})"
    child = subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not cluster.live() and time.monotonic() < end:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert ww.results(tmp_path / "out").status()["watched"] is False
    SWEEP.slurm(tmp_path / "out")
    SWEEP.run(tmp_path / "local")
    assert files(tmp_path / "out") == files(tmp_path / "local")
    assert len(cluster.jobs()) == 1


def test_a_paper_on_slurm_is_that_of_this_machine(tmp_path, cluster):
    few = {"size": "tiny", "seeds": [1], "workloads": ["vecadd"]}
    results = ww.paper("corf", out=tmp_path / "slurm", engine="slurm", slurm=SETTINGS, **few)
    local = ww.paper("corf", out=tmp_path / "local", **few)
    assert files(tmp_path / "slurm") == files(tmp_path / "local")
    assert results.document == local.document and results.claims.num_rows > 0 and cluster.jobs()


def test_the_command_runs_from_the_package(command):
    done = subprocess.run([sys.executable, "-m", "warpwatt", "list", "techniques"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, command("list", "techniques"))
    wrong = subprocess.run([sys.executable, "-m", "warpwatt", "run", "sgem"], capture_output=True, text=True, timeout=600)
    assert wrong.returncode == 2 and "did you mean `sgemm`" in wrong.stderr
