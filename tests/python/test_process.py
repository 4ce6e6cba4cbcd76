# SPDX-License-Identifier: MIT OR Apache-2.0
"""The package inside of a process: threads, Ctrl-C, progress, memory."""

import gc
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import warpwatt as ww


def script(text, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=600, **options)


def test_threads_run_simulations_at_the_same_time():
    expected = {name: ww.run(f"{name}@tiny").cycles for name in ("sgemm", "bfs")}
    both, found = threading.Barrier(2), {}

    def work(name):
        both.wait()
        found[name] = [ww.run(f"{name}@tiny", threads=1).cycles for _ in range(3)]

    threads = [threading.Thread(target=work, args=(name,)) for name in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: [cycles] * 3 for name, cycles in expected.items()}


def test_the_lock_is_released_while_a_simulation_runs():
    steps, running = [0], threading.Event()

    def count():
        while not running.is_set():
            steps[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    ww.run("sgemm@tiny", threads=1)
    after = steps[0]
    running.set()
    thread.join()
    # A thread that had to wait for the end would get a turn or two.
    assert after - before > 1000


INTERRUPTED = """
    import os, signal, warpwatt as ww
    # Shells start what runs in the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def press(done, total, text):
        assert "blocks" in text, text
        os.kill(os.getpid(), signal.SIGINT)
    try:
        {call}
    except KeyboardInterrupt as end:
        assert isinstance(end, ww.Interrupted)
        print(end.record.status, end.record.warp_instructions > 0, end.record.diagnostics[0]["code"])
"""


def test_ctrl_c_ends_a_run_with_a_partial_record():
    done = script(INTERRUPTED.format(call="ww.run('sgemm@large', progress=press, threads=1)"))
    assert done.stdout == "partial True interrupted\n", done.stderr


def test_ctrl_c_ends_a_functional_run_too():
    # Blocks that take a while each, and more of them than anybody waits for.
    text = """
        .version 7.0\n.target sm_50\n.address_size 64\n.visible .entry spin() {
        .reg .b32 %r<2>; .reg .pred %p<2>; mov.u32 %r1, 0;
        again: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10000; @%p1 bra again; ret; }
    """
    done = script(INTERRUPTED.format(call=f"ww.kernel({text!r})[1000000, 256](functional=True, progress=press)"))
    assert done.stdout == "partial True interrupted\n", done.stderr


def test_ctrl_c_ends_a_sweep_that_goes_on_later(tmp_path):
    text = f"""
        import os, signal, warpwatt as ww
        sweep = ww.Sweep(workloads=["vecadd@tiny", "sgemm@large"])
        try:
            sweep.run({str(tmp_path / 'out')!r}, jobs=1, progress=lambda done, *rest: done and os.kill(os.getpid(), signal.SIGINT))
        except ww.Interrupted as end:
            print(end, end.help)
    """
    done = script(text)
    assert done.stdout == "interrupted: 1 of 2 points are done and kept the same call goes on from there\n", done.stderr
    assert len(list((tmp_path / "out/points").iterdir())) == 1


def test_python_goes_on_after_an_interrupt():
    done = script("""
        import os, signal, warpwatt as ww
        before = ww.run("vecadd@tiny").cycles
        for _ in range(2):
            try:
                ww.run("sgemm@large", progress=lambda *line: os.kill(os.getpid(), signal.SIGINT), threads=1)
            except KeyboardInterrupt:
                pass
        print(ww.run("vecadd@tiny").cycles == before)
    """)
    assert done.stdout == "True\n", done.stderr


def test_an_exception_of_a_progress_function_ends_the_run():
    class Enough(Exception):
        pass

    def stop(done, total, text):
        raise Enough

    with pytest.raises(Enough):
        ww.run("sgemm@large", progress=stop, threads=1)


def test_a_terminal_shows_a_line_that_is_gone_in_the_end():
    import pty

    leader, follower = pty.openpty()
    text = "import warpwatt as ww\nww.run('sgemm@large', timeout=1.5, threads=1)\n"
    child = subprocess.Popen([sys.executable, "-c", text], stderr=follower, env=dict(os.environ, COLUMNS="80"))
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert child.wait(timeout=600) == 0
    assert b"blocks" in shown and shown.endswith(b"\r"), shown[-200:]


def test_no_progress_is_shown_elsewhere():
    done = script("import warpwatt as ww\nww.run('sgemm@large', timeout=1, threads=1)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_time_limit_gives_a_partial_record():
    record = ww.run("sgemm@large", timeout=0.5, threads=1)
    assert record.status == "partial" and record.diagnostics[0]["message"] == "the time limit is reached"


def test_notes_are_logged(caplog):
    caplog.set_level(logging.INFO, logger="warpwatt")
    ww.run("vecadd@tiny", gpu="gtx580-e2mc", techniques="e2mc")
    assert any("collecting a profile" in record.message for record in caplog.records)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow(saxpy):
    """A thousand runs in the long tests, a sample of them here."""
    runs = 1000 if os.environ.get("WARPWATT_LONG") else 100
    kernel = ww.kernel(saxpy)
    x, y = np.zeros(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)

    def some(count):
        for number in range(count):
            record = kernel[4, 256](1000, 2.0, x, y, functional=number % 2 == 0, threads=1)
            record.json(), record.kernels.to_dict(), record.lines.__arrow_c_stream__()
            if number % 10 == 0:
                with pytest.raises(ww.Fault):
                    kernel[4, 256](100000, 2.0, x, y, functional=True)
        gc.collect()
        return resident()

    some(runs // 2)
    middle = some(runs // 10)
    end = some(runs)
    # A run keeps its memory for a while; a leak of 20 kB a run would show.
    assert end - middle < 20_000 * runs, f"{middle} bytes, and {end} after {runs} runs more"


def test_the_signal_handlers_of_python_stay():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    ww.run("vecadd@tiny")
    done = script("""
        import os, signal, warpwatt as ww
        ww.run("vecadd@tiny")
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            print("as before")
    """)
    assert done.stdout == "as before\n"
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
