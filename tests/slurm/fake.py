#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A Slurm for tests: sbatch, squeue, scontrol, sacct and scancel over a folder, with tasks as processes of this machine and failures on demand.

`fake.py install BIN` writes the commands into a folder for PATH. FAKE_SLURM names the folder of the state; config.json in it may have

  slots         tasks that run at a time (2)
  max_submit    tasks that may wait or run; sbatch refuses more, as a QOS does
  max_array     MaxArraySize (1001)
  refuse        messages with which the first calls of sbatch are refused, one after the other
  lost_reply    numbers of calls of sbatch, from 0, that take the job and say that the socket timed out
  sacct         whether jobs are accounted for (false)
  forget        finished tasks are unknown at once
  faults        a list of failures: {"kind", "start" or "every", "after", "below_mb"}

A failure meets the task that is the Nth one to be started in all (`start`), or every one, once its start has ended `after` points and runs another, and only
if it was submitted with less than `below_mb`. Kinds: requeue (killed, and started anew), preempt (the same by SIGTERM), zombie (started anew while the old process goes on), lost
(NODE_FAIL for good), timeout, oom, killed (by signal 9, which Slurm calls FAILED), cancel, crash (exit code 1 before anything is run), and lag (results
and journal appear only `seconds` after the end).
"""
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.environ.get("FAKE_SLURM", "")
LIVE = ("PENDING", "RUNNING")


class State:
    """The state under a lock, written back when it is left."""

    def __enter__(self):
        self.lock = open(os.path.join(ROOT, "lock"), "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.path = os.path.join(ROOT, "state.json")
        self.data = {"jobs": {}, "started": 0, "calls": 0}
        if os.path.exists(self.path):
            self.data = json.load(open(self.path))
        return self.data

    def __exit__(self, *_):
        with open(self.path + ".new", "w") as file:
            json.dump(self.data, file)
        os.rename(self.path + ".new", self.path)
        self.lock.close()


def config():
    path = os.path.join(ROOT, "config.json")
    return json.load(open(path)) if os.path.exists(path) else {}


def tasks(state):
    for number, job in sorted(state["jobs"].items(), key=lambda pair: int(pair[0])):
        for index, task in sorted(job["tasks"].items(), key=lambda pair: int(pair[0])):
            yield number, job, index, task


def schedule(state):
    """Starts tasks while there is room."""
    running = sum(task["state"] == "RUNNING" for *_, task in tasks(state))
    for number, job, index, task in tasks(state):
        if task["state"] == "PENDING" and running < config().get("slots", 2):
            task.update(state="RUNNING", start=state["started"])
            state["started"] += 1
            running += 1
            subprocess.Popen([sys.executable, "-S", "-E", __file__, "run", number, index], start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fault(job, task):
    for one in config().get("faults", []):
        here = one.get("every") or one.get("start") == task["start"]
        if here and job["mem"] < one.get("below_mb", 1 << 40):
            return one
    return {}


def told(job, index, start, what):
    """Points that the Nth start of a task has begun, or ended."""
    path = os.path.join(os.path.dirname(job["output"]), f"task-{index}.{start}.journal")
    try:
        text = open(path).read()
    except OSError:
        return []
    return re.findall(rf'"(?:{what})":\{{"key":"(\w+)"', text)


def ended(job, index, start):
    return told(job, index, start, "done|failed")


def run(number, index):
    """One start of a task, from its beginning to its end."""
    with State() as state:
        job = state["jobs"][number]
        task = dict(job["tasks"][index])
    one = fault(job, task)
    kind = one.get("kind", "")
    env = dict(os.environ, SLURM_ARRAY_TASK_ID=index, SLURM_JOB_ID=f"{number}{index}", SLURM_RESTART_COUNT=str(task["restarts"]),
               SLURMD_NODENAME=f"n{task['start'] % 2 + 1}")
    before = len(glob.glob(os.path.join(os.path.dirname(job["output"]), f"task-{index}.*.journal")))
    output = open(job["output"].replace("%a", index), "a")
    command = ["sh", "-c", "echo it is broken; exit 1"] if kind == "crash" else ["sh", job["script"]]
    process = subprocess.Popen(command, cwd=job["chdir"], env=env, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    with State() as state:
        state["jobs"][number]["tasks"][index]["pid"] = process.pid
    hit = False
    while process.poll() is None:
        if kind not in ("", "lag", "crash"):
            done = len(ended(job, index, before))
            hit = done >= one.get("after", 0) and len(told(job, index, before, "begin")) > done
            if hit:
                break
        time.sleep(0.002)
    if kind in ("requeue", "lost", "oom", "killed") and hit:
        os.killpg(process.pid, signal.SIGKILL)
    if kind in ("preempt", "timeout", "cancel") and hit:
        os.killpg(process.pid, signal.SIGTERM)
    if kind == "zombie" and hit:
        code = 0
    else:
        code = process.wait()
    hidden = hide(job, index, before) if kind == "lag" else []
    with State() as state:
        task = state["jobs"][number]["tasks"][index]
        cancelled = task["state"] == "CANCELLED"
        exits = f"{max(code, 0)}:{max(-code, 0)}"
        if cancelled:
            pass
        elif hit and kind in ("requeue", "preempt", "zombie"):
            task.update(state="PENDING", restarts=task["restarts"] + 1, pid=0)
        elif hit:
            names = {"lost": "NODE_FAIL", "timeout": "TIMEOUT", "oom": "OUT_OF_MEMORY", "killed": "FAILED", "cancel": "CANCELLED"}
            task.update(state=names[kind], exit=exits, pid=0)
        else:
            task.update(state="FAILED" if code else "COMPLETED", exit=exits, pid=0)
        schedule(state)
    if hidden:
        time.sleep(one.get("seconds", 1))
        for away, path in hidden:
            os.rename(away, path)


def hide(job, index, start):
    """Takes what a start of a task wrote away, as a file system that lags does."""
    batch = os.path.dirname(job["output"])
    points = os.path.join(batch, "..", "..", "points")
    paths = [os.path.join(points, key + ".json") for key in ended(job, index, start)]
    paths.append(os.path.join(batch, f"task-{index}.{start}.journal"))
    away = []
    for path in filter(os.path.exists, paths):
        name = os.path.join(ROOT, f"hidden-{os.getpid()}-{len(away)}")
        shutil.move(path, name)
        away.append((name, path))
    return away


def sbatch(words):
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--") and "=" in word)
    if "--version" in words:
        return print("slurm 0.0-fake")
    with State() as state:
        call = state["calls"]
        state["calls"] += 1
        known = config()
        last = int(options["array"].split("-")[1])
        live = sum(task["state"] in LIVE for *_, task in tasks(state))
        if call < len(known.get("refuse", [])):
            sys.exit(f"sbatch: error: {known['refuse'][call]}")
        if last + 1 > known.get("max_array", 1001):
            sys.exit("sbatch: error: Batch job submission failed: Invalid job array specification")
        if live + last + 1 > known.get("max_submit", 1 << 30):
            sys.exit("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: "
                     "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")
        number = str(len(state["jobs"]) + 11)
        each = {"state": "PENDING", "pid": 0, "restarts": 0, "exit": "0:0", "start": -1}
        state["jobs"][number] = {
            "name": options["job-name"], "script": words[-1], "chdir": options["chdir"], "output": options["output"],
            "mem": int(options["mem"].rstrip("M")), "words": words, "tasks": {str(index): dict(each) for index in range(last + 1)}}
        schedule(state)
    if call in known.get("lost_reply", []):
        sys.exit("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")
    print(number)


def squeue(words):
    if "--version" in words:
        return print("slurm 0.0-fake")
    names = next((word[7:].split(",") for word in words if word.startswith("--name=")), [])
    with State() as state:
        schedule(state)
        for number, job, index, task in tasks(state):
            if job["name"] in names and (task["state"] in LIVE or not config().get("forget")):
                print(f"{job['name']}|{number}|{index}|{task['state']}|None")


def scontrol(words):
    if words[:2] == ["show", "config"]:
        return print(f"MaxArraySize            = {config().get('max_array', 1001)}")
    with State() as state:
        if config().get("forget") or words[-1] not in state["jobs"]:
            sys.exit("slurm_load_jobs error: Invalid job id specified")
        for index, task in state["jobs"][words[-1]]["tasks"].items():
            print(f"JobId=1{index} ArrayJobId={words[-1]} ArrayTaskId={index} JobState={task['state']} Reason=None ExitCode={task['exit']}")


def sacct(words):
    if not config().get("sacct"):
        sys.exit("Slurm accounting storage is disabled")
    with State() as state:
        for index, task in state["jobs"].get(words[-1], {"tasks": {}})["tasks"].items():
            print(f"{words[-1]}_{index}|{task['state']}|{task['exit']}")


def scancel(words):
    if "--version" in words:
        return print("slurm 0.0-fake")
    names = next((word[7:].split(",") for word in words if word.startswith("--name=")), [])
    with State() as state:
        for _, job, _, task in tasks(state):
            if job["name"] in names and task["state"] in LIVE:
                if task["pid"]:
                    try:
                        os.killpg(task["pid"], signal.SIGTERM)
                    except ProcessLookupError:
                        pass
                task.update(state="CANCELLED", exit="0:15")


def install(folder):
    os.makedirs(folder, exist_ok=True)
    for name in ("sbatch", "squeue", "scontrol", "sacct", "scancel"):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\nexec {sys.executable} -S -E '{os.path.abspath(__file__)}' {name} \"$@\"\n")
        os.chmod(path, 0o755)


if __name__ == "__main__":
    command, words = sys.argv[1], sys.argv[2:]
    {"install": lambda w: install(*w), "run": lambda w: run(*w), "sbatch": sbatch, "squeue": squeue, "scontrol": scontrol,
     "sacct": sacct, "scancel": scancel}[command](words)
