# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decodes a trace by Perfetto's published schema and checks it: packets in the order of time, slices nested on every track, and the same kernels,
blocks and copies as the run record of the same run has."""

import json
import sys


def check(trace_path, record_path):
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    trace = schema.Trace()
    with open(trace_path, "rb") as file:
        trace.ParseFromString(file.read())
    with open(record_path, encoding="utf-8") as file:
        record = json.load(file)
    tracks, parents, counters = {}, {}, set()
    stacks, slices, values = {}, [], {}
    last = 0
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        for message in (packet, packet.track_descriptor, packet.track_event, *packet.track_event.debug_annotations):
            assert len(UnknownFieldSet(message)) == 0, f"the schema knows all fields of {message}"
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.uuid not in tracks, "a track is described once"
            tracks[descriptor.uuid] = descriptor.name
            parents[descriptor.uuid] = descriptor.parent_uuid
            if descriptor.HasField("counter"):
                assert descriptor.counter.unit_name == "W"
                counters.add(descriptor.uuid)
            if descriptor.HasField("process"):
                assert descriptor.process.pid > 0 and descriptor.process.process_name
            continue
        assert packet.HasField("track_event")
        event = packet.track_event
        assert packet.timestamp >= last, "packets are in the order of time"
        last = packet.timestamp
        assert event.track_uuid in tracks, "a track is described before it is used"
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            notes = {note.name: note.uint_value if note.HasField("uint_value") else note.string_value for note in event.debug_annotations}
            stacks.setdefault(event.track_uuid, []).append((event.categories[0], event.name, packet.timestamp, notes))
            assert len(stacks[event.track_uuid]) == 1, f"slices overlap on {tracks[event.track_uuid]}"
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            category, name, start, notes = stacks[event.track_uuid].pop()
            slices.append((category, name, start, packet.timestamp, tracks[event.track_uuid], notes))
        else:
            assert event.type == schema.TrackEvent.TYPE_COUNTER and event.track_uuid in counters
            values.setdefault(tracks[event.track_uuid], []).append(event.double_counter_value)
    assert not any(stacks.values()), "every slice ends"
    for uuid, parent in parents.items():
        assert parent == 0 or parent in tracks, f"the parent of {tracks[uuid]} is there"

    mhz = float(record["inputs"]["gpu"]["parameters"]["clock.core_mhz"])
    ns = lambda cycle: int(cycle * 1e3 / mhz)
    kernels = [one for one in slices if one[0] == "kernel"]
    expected = [(kernel["demangled"], ns(kernel["start_cycle"]), ns(kernel["start_cycle"] + kernel["cycles"])) for kernel in record["kernels"] if "cycles" in kernel]
    assert sorted((name, start, end) for _, name, start, end, _, _ in kernels) == sorted(expected), "the kernels are those of the record"
    blocks = [one for one in slices if one[0] == "block"]
    number = sum(len(kernel["blocks"]["sm"]) for kernel in record["kernels"] if "blocks" in kernel)
    grids = sum(kernel["grid"][0] * kernel["grid"][1] * kernel["grid"][2] for kernel in record["kernels"] if "cycles" in kernel)
    assert len(blocks) == number == grids, (len(blocks), number, grids)
    spans = {one[5]["launch"]: one for one in kernels}
    for _, _, start, end, track, notes in blocks:
        _, _, first, last, _, _ = spans[notes["launch"]]
        assert first <= start <= end <= last, "a block runs while its kernel does"
        assert track.startswith("SM ")
    copies = [one for one in slices if one[0] == "copy"]
    assert len(copies) == len(record["copies"]) > 0
    if any("series" in kernel for kernel in record["kernels"]):
        assert values, "power is there"
        assert all(value >= 0 for column in values.values() for value in column)
    return {"tracks": len(tracks), "kernels": len(kernels), "blocks": len(blocks), "copies": len(copies), "power": sum(map(len, values.values()))}


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1], sys.argv[2])))
