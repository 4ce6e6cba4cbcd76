#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the ledgers of full runs in docs/ledgers, and shows which reasons have to be looked at.

    tools/ledgers.py keep OUT               the pages of `warpwatt paper all --out OUT` into docs/ledgers/SIZE, and the table of all kept runs
    tools/ledgers.py reasons OUT            reasons that are stale there: written for another value, or not for this size
    tools/ledgers.py reasons OUT ID...      notes in crates/papers/data that the reasons of these claims were read and hold for the measured value

A run of each size is kept, so that a run at medium does not replace the one at small. `keep` refuses a run with failed points, of selected workloads or
of a quick run."""

import glob
import json
import os
import re
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KEPT = os.path.join(ROOT, "docs/ledgers")
PAPERS = ["warped-compression", "corf", "e2mc", "caches", "combined"]
SIZES = ["tiny", "small", "medium", "large"]
CELLS = re.compile(r"(?<!\\)\|")


def ledgers(out):
    """The ledgers of a run, by paper."""
    found = {}
    for paper in PAPERS:
        path = os.path.join(out, paper, "ledger.json")
        if not os.path.exists(path):
            sys.exit(f"{out} has no ledger of {paper}: is it the folder of a finished `warpwatt paper all`?")
        with open(path, encoding="utf-8") as file:
            found[paper] = json.load(file)
    return found


def keep(out):
    found = ledgers(out)
    for paper, ledger in found.items():
        if ledger["failed"] or not ledger["of_suite"] or "quick_of" in ledger:
            sys.exit(f"the run of {paper} is not one of its whole suite without failures")
    first = found[PAPERS[0]]
    folder = os.path.join(KEPT, first["size"])
    os.makedirs(folder, exist_ok=True)
    for paper in PAPERS:
        with open(os.path.join(out, paper, "ledger.md"), encoding="utf-8") as file:
            page = file.read()
        with open(os.path.join(folder, f"{paper}.md"), "w", encoding="utf-8") as file:
            file.write(page)
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(about(out, found), file, indent=2)
        file.write("\n")
    index()


def about(out, found):
    """What the table of kept runs says about one."""
    seconds, newest, points = 0.0, 0.0, 0
    with open(os.path.join(out, "log.txt"), encoding="utf-8") as file:
        ends = re.findall(r"(\d+) of (\d+) points reused, (\d+) simulated in (\d+) s", file.read())
    for path in glob.glob(os.path.join(out, "points", "*.json")):
        with open(path, encoding="utf-8") as file:
            seconds += json.load(file)["host"]["wall_seconds"]
        newest = max(newest, os.path.getmtime(path))
        points += 1
    first = found[PAPERS[0]]
    return {
        "commit": first.get("simulated_by", first["tool"])["commit"],
        "model": first["tool"]["model_version"],
        "date": time.strftime("%Y-%m-%d", time.gmtime(newest)),
        "seeds": first["seeds"],
        "points": points,
        # A run that was interrupted has no time of its own: then that of its points, one after the other.
        "took": f"{ends[0][3]} s" if ends and ends[0][0] == "0" else f"{round(seconds)} s of host time, one point after the other",
        "verdicts": {paper: counts(ledger) for paper, ledger in found.items()},
    }


def counts(ledger):
    """Independent claims by verdict."""
    verdicts = [row["verdict"] for row in ledger["rows"] if row["kind"] == "measured"]
    return {name: verdicts.count(name) for name in ("holds", "direction", "differs", "no data")}


def rows(page):
    """Claims of a page: paper's value, measured value, verdict."""
    found = {}
    with open(page, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in CELLS.split(line)[1:-1]]
            if len(cells) == 9 and cells[0].startswith("`"):
                entries = re.search(r"\d+ of \d+ entries hold", cells[8])
                found[cells[0]] = (cells[3], entries[0] if entries else cells[4], cells[7])
    return found


def index():
    """The generated part of docs/ledgers/README.md: kept runs, and each claim at each size."""
    sizes = [size for size in SIZES if os.path.exists(os.path.join(KEPT, size, "run.json"))]
    lines = []
    for size in sizes:
        with open(os.path.join(KEPT, size, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        seeds = ", ".join(map(str, run["seeds"]))
        alone = len(run["seeds"]) < 3
        lines += [
            f"## At {size}",
            "",
            f"`warpwatt paper all --size {size}{' --seeds ' + seeds.replace(' ', '') if alone else ''}`, {run['date']}, commit {run['commit']} (model {run['model']}): whole suites, "
            f"seed{'s' if len(run['seeds']) > 1 else ''} {seeds}, {run['points']} points in {run['took']}."
            + (" With one seed the spread over inputs is unknown: the counts are no tally." if alone else ""),
            "",
            "| paper | independent claims that hold | keep their direction | differ |",
            "|---|---:|---:|---:|",
        ]
        for paper in PAPERS:
            page = os.path.join(KEPT, size, f"{paper}.md")
            with open(page, encoding="utf-8") as file:
                title = file.readline().removeprefix("#").strip()
            verdicts = run["verdicts"][paper]
            total = sum(verdicts.values())
            cells = f"{verdicts['holds']} of {total} | {verdicts['direction']} | {verdicts['differs']}" if total else "no paper has this experiment | |"
            lines.append(f"| [{title}]({size}/{paper}.md) | {cells} |")
        lines.append("")
    lines += ["## Claims by size", "", "| claim | paper | " + " | ".join(sizes) + " |", "|---|---:|" + "---|" * len(sizes)]
    for paper in PAPERS:
        pages = [rows(os.path.join(KEPT, size, f"{paper}.md")) for size in sizes]
        for claim in pages[0]:
            cells = [f"{page[claim][1]}, {page[claim][2]}" if claim in page else "" for page in pages]
            lines.append(f"| {claim} | {pages[0][claim][0]} | " + " | ".join(cells) + " |")
    path = os.path.join(KEPT, "README.md")
    with open(path, encoding="utf-8") as file:
        head = file.read().split("<!-- tools/ledgers.py keep")[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "<!-- tools/ledgers.py keep writes what follows -->\n\n" + "\n".join(lines) + "\n")


def reasons(out, confirmed):
    stale = {}
    for path in glob.glob(os.path.join(out, "ledger.json")) + glob.glob(os.path.join(out, "*", "ledger.json")):
        with open(path, encoding="utf-8") as file:
            ledger = json.load(file)
        for row in ledger["rows"]:
            texts = [f"{reason['text']} [{reason['stale']}]" for reason in row["reasons"] if "stale" in reason]
            if texts and row["verdict"] != "no data":
                stale[row["id"]] = (ledger["size"], row["measured"], row["verdict"], texts)
    for claim in confirmed:
        if claim not in stale:
            sys.exit(f"no reason of {claim} is stale there")
        note(claim, *stale.pop(claim)[:2])
    for claim, (size, measured, verdict, texts) in stale.items():
        print(f"{claim} at {size}: {measured}, {verdict}")
        for text in texts:
            print(f"    {text}")


def note(claim, size, measured):
    """Puts the value at this size into `of` of the claim's reasons."""
    for path in glob.glob(os.path.join(ROOT, "crates/papers/data/*.toml")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        start = text.find(f'\nid = "{claim}"\n')
        if start < 0:
            continue
        end = text.find("\n[[claim]]", start)
        end = len(text) if end < 0 else end

        def put(match):
            values = dict(part.split(" = ") for part in match[1].strip().split(", ")) if match[1].strip() else {}
            values[size] = f"{measured:g}"
            return "of = { " + ", ".join(f"{name} = {values[name]}" for name in SIZES if name in values) + " }"

        part = re.sub(r"of = \{([^}]*)\}", put, text[start:end])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:start] + part + text[end:])
        return
    sys.exit(f"crates/papers/data has no claim {claim}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["keep", out]:
            keep(out)
        case ["reasons", out, *confirmed]:
            reasons(out, confirmed)
        case _:
            sys.exit(__doc__)
