#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps on a real Slurm: a controller and two nodes on this machine, from the packages of the distribution, with state of their own in a temporary folder.

Sweeps of the same forty points, each compared with a local run file by file (all but `host`):

  node       a node is lost in the middle: its daemon is killed with all that runs on it, and started again later
  daemon     only the daemon of a node is killed: its task goes on while Slurm starts it anew elsewhere
  trouble    a task is requeued, a task is killed by signal 9, the controller is killed and started again
  submitter  the process that submits is killed at random moments; `status` is asked, and the same command goes on
  ctrl-c     Ctrl-C leaves nothing in the queue; then the same command, detached, and once more to take the results
  limits     arrays of at most five tasks, at most three tasks in the queue
  preempt    a job of a partition with a higher priority takes both nodes; Slurm requeues the tasks that ran
  timeout    a task hangs until Slurm ends it at its time limit
  python     `Sweep.slurm` of the Python package, with a node lost

Needs root: to install the packages where they are missing, and because node daemons run as root.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = ["slurmctld", "slurmd", "slurm-client", "munge"]
POINTS = 40
SWEEP = """name = "forty"
workloads = ["bfs@small", "sgemm@small"]
techniques = ["none", "drowsy"]

[parameters]
sm.scheduler = ["gto", "lrr"]
sm.l1d.mshrs = [8, 16, 32, 48, 64]

[slurm]
partition = "all"
time = 10
memory = "500M"
point_seconds = 1
task_minutes = 0.05
grace_seconds = 5
poll_seconds = 1
"""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def until(what, holds, seconds=120):
    end = time.time() + seconds
    while time.time() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.2)
    raise SystemExit(f"it never came within {seconds} s: {what}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm:
    """A controller and two nodes."""

    def __init__(self, root):
        self.root = root
        self.host = socket.gethostname().split(".")[0]
        for name in ("state", "n1", "n2", "munge"):
            os.makedirs(f"{root}/{name}", mode=0o700)
        self.conf = f"{root}/slurm.conf"
        ports = {name: free_port() for name in ("ctl", "n1", "n2")}
        with open(self.conf, "w") as file:
            file.write(f"""ClusterName=test
SlurmctldHost={self.host}(127.0.0.1)
SlurmctldPort={ports['ctl']}
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdTimeout=10
SlurmctldTimeout=10
KillWait=5
MaxArraySize=100
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/%n/spool
SlurmctldPidFile={root}/ctl.pid
SlurmdPidFile={root}/%n.pid
SlurmctldLogFile={root}/ctl.log
SlurmdLogFile={root}/%n.log
NodeName=n1 NodeAddr=127.0.0.1 NodeHostname={self.host} Port={ports['n1']} CPUs=1 RealMemory=4000
NodeName=n2 NodeAddr=127.0.0.1 NodeHostname={self.host} Port={ports['n2']} CPUs=1 RealMemory=4000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=all Nodes=n1,n2 Default=YES State=UP PriorityTier=1
PartitionName=urgent Nodes=n1,n2 State=UP PriorityTier=10 PreemptMode=OFF
""")
        self.env = dict(os.environ, SLURM_CONF=self.conf)

    def start(self):
        self.munge()
        self.controller()
        self.node("n1")
        self.node("n2")
        until("two idle nodes", lambda: self.call("sinfo", "-h", "-N", "-p", "all", "-o", "%T").split() == ["idle", "idle"])

    def munge(self):
        """Credentials with a key and a socket of our own."""
        folder = f"{self.root}/munge"
        with open(f"{folder}/key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{folder}/key", 0o400)
        os.chmod(folder, 0o711)
        subprocess.run(["munged", "--force", f"--key-file={folder}/key", f"--socket={folder}/socket", f"--pid-file={self.root}/munge.pid",
                        f"--log-file={folder}/log", f"--seed-file={folder}/seed"], check=True)

    def controller(self):
        subprocess.run(["slurmctld"], env=self.env, check=True)

    def node(self, name):
        subprocess.run(["slurmd", "-N", name], env=self.env, check=True)

    def call(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True).stdout

    def pid(self, name):
        return int(open(f"{self.root}/{name}.pid").read())

    def kill(self, name):
        os.kill(self.pid(name), signal.SIGKILL)

    def processes(self, node):
        """Processes of tasks on a node, by what Slurm puts into their environment."""
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                env = open(path, "rb").read().split(b"\0")
            except OSError:
                continue
            if f"SLURMD_NODENAME={node}".encode() in env and f"SLURM_CONF={self.conf}".encode() in env:
                found.append(int(path.split("/")[2]))
        return found

    def kill_all(self, node):
        """Kills the tasks of a node together with the processes of Slurm that watch over them."""
        tasks = self.processes(node)
        parents = set()
        for pid in tasks:
            try:
                parents.add(int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1]))
            except OSError:
                pass
        for pid in [pid for pid in parents if pid > 1] + tasks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def queue(self):
        """States of all tasks that wait or run, with their nodes."""
        out = self.call("squeue", "-h", "-r", "-o", "%F_%K %T %N")
        return [line.split() for line in out.splitlines()]

    def end(self):
        for name in ("n1", "n2", "ctl", "munge"):
            try:
                os.kill(self.pid(name), signal.SIGTERM)
            except (OSError, ValueError):
                pass


def files(folder):
    """All files of a folder by name, with the host's part of points taken out, and without the log, the lock and what is about Slurm."""
    found = {}
    for path in glob.glob(f"{folder}/**", recursive=True):
        name = os.path.relpath(path, folder)
        if os.path.isdir(path) or name in ("log.txt", "lock") or name.startswith("slurm/"):
            continue
        data = open(path, "rb").read()
        if name.startswith("points/"):
            point = json.loads(data)
            del point["host"]
            data = json.dumps(point, sort_keys=True).encode()
        found[name] = data
    return found


def journals(out):
    """Points begun and points kept, as tasks tell."""
    begun, kept = [], []
    for path in glob.glob(f"{out}/slurm/batch-*/*.journal"):
        for line in open(path):
            entry = json.loads(line)
            begun += [entry["begin"]["key"]] if "begin" in entry else []
            kept += [entry["done"]["key"]] if "done" in entry else []
    return begun, kept


def under_way(out, node):
    """Whether the last line of a task's journal on this node begins a point."""
    for path in glob.glob(f"{out}/slurm/batch-*/*.journal"):
        lines = open(path).read().splitlines()
        if lines and f'"host":"{node}"' in lines[0] and '"begin"' in lines[-1]:
            return True
    return False


class Bench:
    def __init__(self, slurm, warpwatt, library, root):
        self.slurm, self.warpwatt, self.library, self.root = slurm, warpwatt, library, root
        self.file = f"{root}/forty.toml"
        with open(self.file, "w") as file:
            file.write(SWEEP)
        started = time.time()
        subprocess.run([warpwatt, "-q", "sweep", self.file, "--out", f"{root}/local"], check=True, stdout=subprocess.DEVNULL)
        self.local = files(f"{root}/local")
        assert sum(name.startswith("points/") for name in self.local) == POINTS
        say(f"local run: {POINTS} points, {len(self.local)} files, {time.time() - started:.0f} s")

    def words(self, out, *more, file=None):
        return [self.warpwatt, "sweep", file or self.file, "--out", out, "--engine", "slurm", *more]

    def start(self, out, *more, file=None):
        return subprocess.Popen(self.words(out, *more, file=file), env=self.slurm.env, stdout=subprocess.DEVNULL,
                                stderr=open(f"{out}.err", "a"))

    def status(self, out):
        ran = subprocess.run([self.warpwatt, "sweep", "status", out, "--json", "-"], env=self.slurm.env, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        found = json.loads(ran.stdout)
        kinds = ("done", "running", "waiting", "late", "failed", "lost", "unsubmitted")
        assert sum(found[kind] for kind in kinds) == POINTS, found
        return {kind: found[kind] for kind in kinds if found[kind]} | {"left": found["left_seconds"]}

    def done(self, out):
        return len(glob.glob(f"{out}/points/*.json"))

    def compare(self, name, out, twice=0, local=None):
        """The folder is that of the local run; at most so many points were kept by two tasks."""
        found, local = files(out), local or self.local
        assert found.keys() == local.keys(), found.keys() ^ local.keys()
        differ = [name for name in found if found[name] != local[name]]
        assert not differ, differ
        begun, kept = journals(out)
        again = len(kept) - len(set(kept))
        assert len(set(kept)) == POINTS and again <= twice, (len(kept), len(set(kept)))
        left = self.slurm.queue()
        assert not left, left
        say(f"{name}: {len(found)} files are those of the local run; {POINTS} points, {len(begun)} begun, {len(kept)} kept, "
            f"{again} of them by two tasks; the queue is empty")

    def said(self, out):
        return re.sub(r"^note: the report.*\n", "", open(f"{out}.err").read(), flags=re.M)


def lose(bench, out, with_tasks, run=None):
    """Loses node n2 when it runs a task and five points are done, and brings it back when Slurm has noticed."""
    run = run or bench.start(out)
    on_n2 = lambda: [task for task in bench.slurm.queue() if task[1:] == ["RUNNING", "n2"]]
    until("a task on n2, and points", lambda: bench.done(out) >= 5 and on_n2() and bench.slurm.processes("n2"))
    end = time.time() + 20
    while not under_way(out, "n2") and time.time() < end:
        time.sleep(0.01)
    lost = on_n2()
    if with_tasks:
        bench.slurm.kill_all("n2")
    bench.slurm.kill("n2")
    say(f"killed the daemon of n2 {'with' if with_tasks else 'without'} {lost}, {bench.done(out)} points were done; {bench.status(out)}")
    until("the node is taken for lost", lambda: "down" in bench.slurm.call("sinfo", "-h", "-N", "-n", "n2", "-o", "%T"))
    say(f"n2 is down; queue: {bench.slurm.queue()}; {bench.status(out)}")
    bench.slurm.node("n2")
    assert run.wait(600) == 0, bench.said(out)


def node(bench, out):
    lose(bench, out, True)
    bench.compare("node", out)
    print(bench.said(out))


def daemon(bench, out):
    lose(bench, out, False)
    # What the old process ran when it was replaced may be kept by it and by the new one.
    bench.compare("daemon", out, twice=1)


def workers(out):
    """Processes of tasks of a folder."""
    ran = subprocess.run(["pgrep", "-f", f"sweep work {out}/"], capture_output=True, text=True).stdout
    return [int(pid) for pid in ran.split()]


def trouble(bench, out):
    run = bench.start(out)
    first = until("a running task", lambda: bench.done(out) >= 3 and [task[0] for task in bench.slurm.queue() if task[1] == "RUNNING"])
    bench.slurm.call("scontrol", "requeue", first[0])
    say(f"requeued {first[0]}")

    until("further points", lambda: bench.done(out) >= 8 and workers(out))
    victim = workers(out)[0]
    os.kill(victim, signal.SIGKILL)
    say(f"killed the process {victim} of a task by signal 9, as the kernel does for memory")
    until("more points", lambda: bench.done(out) >= 14)
    bench.slurm.kill("ctl")
    say("killed the controller")
    time.sleep(4)
    bench.slurm.controller()
    assert run.wait(600) == 0, bench.said(out)
    bench.compare("trouble", out)
    said = bench.said(out)
    assert "exceeded its memory, and is submitted again with 1000 MB" in said, said
    print(said)


def submitter(bench, out):
    random.seed(7)
    kills = 0
    while True:
        run = bench.start(out)
        try:
            code = run.wait(random.uniform(0.1, 4))
            assert code == 0, bench.said(out)
            break
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            kills += 1
        if os.path.exists(f"{out}/slurm/points.txt"):
            say(f"killed the submitter ({kills}): {bench.status(out)}")
        if kills == 12:
            assert bench.start(out).wait(600) == 0, bench.said(out)
            break
    bench.compare(f"submitter, killed {kills} times", out)
    assert kills >= 5


def ctrl_c(bench, out):
    run = bench.start(out)
    until("points", lambda: bench.done(out) >= 5)
    run.send_signal(signal.SIGINT)
    assert run.wait(120) == 130, bench.said(out)
    assert not bench.slurm.queue(), bench.slurm.queue()
    say(f"Ctrl-C with {bench.done(out)} points done: the queue is empty; {bench.status(out)}")
    assert bench.start(out, "--detach").wait(60) == 0, bench.said(out)
    say(f"detached: {len(bench.slurm.queue())} tasks in the queue")
    until("all points without a submitter", lambda: bench.done(out) == POINTS, 600)
    assert bench.start(out).wait(120) == 0, bench.said(out)
    bench.compare("ctrl-c", out)


def limits(bench, out):
    file = f"{bench.root}/limits.toml"
    with open(file, "w") as text:
        text.write(SWEEP + "max_array = 5\nmax_queued = 3\n")
    run = bench.start(out, file=file)
    most = 0
    while run.poll() is None:
        most = max(most, len(bench.slurm.queue()))
        time.sleep(0.3)
    assert run.returncode == 0, bench.said(out)
    assert most <= 3, most
    # Results are the same under the name of the file's sweep.
    bench.compare(f"limits: at most {most} tasks in the queue, {len(glob.glob(out + '/slurm/batch-*'))} array jobs", out)


def preempt(bench, out):
    run = bench.start(out)
    running = lambda: [task for task in bench.slurm.queue() if task[1] == "RUNNING"]
    until("a task on each node", lambda: bench.done(out) >= 5 and len(running()) == 2 and under_way(out, "n1") and under_way(out, "n2"))
    before = running()
    bench.slurm.call("sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--time=5", "--job-name=urgent", "--output=/dev/null", "--wrap=sleep 3")
    urgent = lambda: "RUNNING" in bench.slurm.call("squeue", "-h", "--name=urgent", "-o", "%T")
    until("the urgent job runs", urgent)
    taken = {task[0] for task in before}
    assert not taken & {task[0] for task in running()}, bench.slurm.queue()
    say(f"preempted {sorted(taken)}, {bench.done(out)} points were done; {bench.status(out)}")
    assert run.wait(600) == 0, bench.said(out)
    again = [name for name in taken if glob.glob(f"{out}/slurm/batch-*/task-{name.split('_')[1]}.1.journal")]
    assert sorted(again) == sorted(taken), f"Slurm started {again} of {taken} again"
    bench.compare("preempt", out)


def timeout(bench, out):
    file = f"{bench.root}/timeout.toml"
    with open(file, "w") as text:
        text.write(SWEEP.replace("time = 10", "time = 1").replace("task_minutes = 0.05", "task_minutes = 0.2"))
    run = bench.start(out, file=file)
    until("a task with some points", lambda: bench.done(out) >= 5 and workers(out))
    hung = workers(out)[0]
    os.kill(hung, signal.SIGSTOP)
    say(f"stopped the process {hung} of a task, {bench.done(out)} points were done")
    assert run.wait(600) == 0, bench.said(out)
    said = bench.said(out)
    assert re.search(r"ended with TIMEOUT before \d+ of its \d+ points: \d+ submitted again", said), said
    bench.compare("timeout", out)
    print(said)


PYTHON = """import sys, warpwatt as ww
sweep, out = ww.Sweep(sys.argv[1]), sys.argv[3]
print({"local": sweep.run, "slurm": sweep.slurm}[sys.argv[2]](out).points.num_rows)
"""


def python(bench, out):
    """The same from Python: what tasks run is the package, and not the command."""
    package = f"{bench.root}/package/warpwatt"
    shutil.copytree(f"{ROOT}/crates/python/python/warpwatt", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(bench.library, f"{package}/_warpwatt.abi3.so")
    env = dict(bench.slurm.env, PYTHONPATH=os.path.dirname(package))
    words = lambda engine, out: [sys.executable, "-c", PYTHON, bench.file, engine, out]
    ran = subprocess.run(words("local", f"{bench.root}/local-python"), env=env, check=True, capture_output=True, text=True)
    assert ran.stdout == f"{POINTS}\n", ran.stdout
    run = subprocess.Popen(words("slurm", out), env=env, stdout=subprocess.DEVNULL, stderr=open(f"{out}.err", "a"))
    lose(bench, out, True, run)
    bench.compare("python", out, local=files(f"{bench.root}/local-python"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warpwatt", default="target/release/warpwatt")
    parser.add_argument("--library", default="target/release/libwarpwatt_python.so", help="the Python package's library")
    parser.add_argument("--only", help="run one part: node, daemon, trouble, submitter, ctrl-c, limits, preempt, timeout or python")
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("tests/slurm/run.py: node daemons need root; run it as root, or in a container")
    if any(shutil.which(program) is None for program in ("slurmctld", "slurmd", "sbatch", "munged")):
        say("installing " + " ".join(PACKAGES))
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES], env=env, check=True,
                       stdout=subprocess.DEVNULL)
    # A shell starts what it runs in the background with Ctrl-C ignored, and `warpwatt` would then ignore it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    root = tempfile.mkdtemp(prefix="warpwatt-slurm-")
    os.chmod(root, 0o755)
    slurm = Slurm(root)
    try:
        slurm.start()
        version = slurm.call("sbatch", "--version").strip()
        say(f"{version}: two nodes of one core are idle")
        bench = Bench(slurm, os.path.abspath(args.warpwatt), os.path.abspath(args.library), root)
        parts = {"node": node, "daemon": daemon, "trouble": trouble, "submitter": submitter, "ctrl-c": ctrl_c, "limits": limits,
                 "preempt": preempt, "timeout": timeout, "python": python}
        for name, part in parts.items():
            if args.only in (None, name):
                part(bench, f"{root}/{name}")
        say("all parts passed")
    finally:
        slurm.call("scancel", "--user=root")
        time.sleep(1)
        slurm.end()
        if args.keep:
            say(f"kept {root}")
        else:
            time.sleep(1)
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
