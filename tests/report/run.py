#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports as people see them: makes runs and papers at tiny, opens their pages in headless Chromium, and uses them. tools/setup-report installs what
this needs.

    tests/report/run.py --warpwatt target/debug/warpwatt [--screenshots DIR]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import browser

# Figures of the papers, each of which has a chart with data. Those of 3-4d and 4-3d are about textures, which the workloads below do not use.
FIGURES = {
    "warped-compression": "fig02 fig03 fig05 fig08 fig09 fig10 fig11 fig12 fig13 fig14 fig15 fig16 fig17 fig18 fig19 fig20 fig21",
    "corf": "fig02 fig03 fig04 fig06 fig13 fig14 fig15 fig16 fig17 fig18 fig19",
    "e2mc": "fig01 fig03 fig04a fig04b fig05a fig05b fig09a fig09b fig10a fig10b fig11a fig11b fig12a fig12b fig12c fig13",
    "caches": "fig3-1 fig3-2 fig3-3 fig3-4a fig3-4b fig3-4c fig3-4d fig3-4e fig3-4f fig3-5 fig4-1 fig4-2 fig4-3a fig4-3b fig4-3c fig4-3d fig4-3e tab3-1",
}
SECTIONS = "rules sol compute memory schedulers states instructions launch occupancy sms energy power source".split()
# What a kernel may be called, if nobody looks.
EVIL = "void k<int, 'x'>(\"</script><img src=x onerror=alert(1)>\" & <b>)"


def ids(paper):
    return [f"fig-{paper}-{name}" for name in FIGURES[paper].split()]


class Check:
    def __init__(self, args):
        self.warpwatt = os.path.abspath(args.warpwatt)
        self.shots = args.screenshots and os.path.abspath(args.screenshots)
        self.folder = tempfile.mkdtemp(prefix="warpwatt-report-")
        self.failed = 0
        self.browser = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        done = subprocess.run([self.warpwatt, *words], cwd=self.folder, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def that(self, what, holds, seen=""):
        if not holds:
            self.failed += 1
            print(f"FAILED: {what}: {seen}", file=sys.stderr)

    def page(self, name):
        self.browser.size(1366, 900)
        self.browser.open(self.path(name))
        size = os.path.getsize(self.path(name))
        self.that(f"{name} is of a sensible size", size < 8e6, size)

    def quiet(self, name):
        self.that(f"nothing is on the console of {name}", not self.browser.complaints, self.browser.complaints)

    def shot(self, name):
        if self.shots:
            os.makedirs(self.shots, exist_ok=True)
            for theme in ("light", "dark"):
                self.browser.theme(theme)
                self.browser.screenshot(os.path.join(self.shots, f"{name}-{theme}.png"))
            self.browser.theme("light")

    def sorts(self, table, column, expect):
        """Clicks on a heading twice, and compares the keys of the column with what they should be."""
        script = f"""(() => {{ const table = document.getElementById({json.dumps(table)}), head = table.tHead.rows[0].cells[{column}];
            head.querySelector('button').click();
            const keys = () => [...table.querySelectorAll(':scope > tbody')].flatMap(body => table.tBodies.length > 1 ? [body.rows[0]] : [...body.rows])
                .map(row => row.cells[{column}]).map(cell => cell.dataset.v ?? cell.textContent);
            const one = keys(), first = head.getAttribute('aria-sort'); head.querySelector('button').click();
            return [one, first, keys(), head.getAttribute('aria-sort')]; }})()"""
        one, first, two, second = self.browser.run(script)
        self.that(f"{table} says how it is sorted", {first, second} == {"ascending", "descending"}, (first, second))
        for keys, order in ((one, first), (two, second)):
            values = [expect(key) for key in keys if key != ""]
            self.that(f"{table} is sorted by column {column}", values == sorted(values, reverse=order == "descending") and len(values) > 1, values[:8])

    def papers(self):
        for paper in FIGURES:
            self.run("paper", paper, "--size", "tiny", "--seeds", "1", "--workloads", "vecadd,bfs", "--out", f"out-{paper}", "-q")
        self.run("report", *[f"out-{paper}" for paper in FIGURES], "--out", "papers.html", "--svg", "svg", "-q")
        self.page("papers.html")
        for paper in FIGURES:
            for name in ids(paper):
                marks = self.browser.run(f"document.querySelectorAll('#{name} svg.chart [data-i]').length")
                rows = self.browser.run(f"document.querySelectorAll('#{name} table tbody tr').length")
                self.that(f"{name} has a chart with data and its table", marks and rows, (marks, rows))
            files = [name for name in os.listdir(self.path(f"svg/{paper}")) if name.endswith(".svg")]
            self.that(f"{paper} has its figures as files", len(files) >= len(FIGURES[paper].split()), files)
        broken = self.browser.run(
            "[...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href').slice(1)).filter(id => !document.getElementById(id)).slice(0, 5)"
        )
        self.that("all links lead somewhere", not broken, broken)
        twice = self.browser.run("(() => { const seen = new Set(); return [...document.querySelectorAll('[id]')].map(e => e.id).filter(id => seen.has(id) || !seen.add(id)).slice(0, 5) })()")
        self.that("no id is there twice", not twice, twice)
        table = "ledger-warped-compression"
        self.sorts(table, 6, float)
        self.sorts(table, 0, str)
        left = self.browser.run(
            f"""(() => {{ const input = document.querySelector('[data-filter="{table}"]'); input.value = 'rf_energy'; input.dispatchEvent(new Event('input'));
            return [...document.querySelectorAll('#{table} > tbody:not([hidden])')].map(body => body.id); }})()"""
        )
        self.that("the ledger is filtered by text", left and len(left) < 22 and "claim-wc.rf_energy" in left, left)
        verdicts = self.browser.run(
            f"""(() => {{ const input = document.querySelector('[data-filter="{table}"]'); input.value = ''; input.dispatchEvent(new Event('input'));
            document.querySelectorAll('[data-verdicts="{table}"] input').forEach(box => {{ if (box.value !== 'holds') box.click(); }});
            return [...document.querySelectorAll('#{table} > tbody:not([hidden])')].map(body => body.dataset.verdict); }})()"""
        )
        self.that("the ledger is filtered by verdict", verdicts and set(verdicts) == {"holds"}, verdicts)
        opened = self.browser.run(
            f"""(() => {{ const fold = document.querySelector('#claim-wc\\\\.rf_energy .fold'); fold.click();
            const more = document.getElementById(fold.getAttribute('aria-controls')); return [more.hidden, more.textContent.includes('Reading'), more.textContent.includes('against_gating')]; }})()"""
        )
        self.that("a claim opens to its reading and other readings", opened == [False, True, True], opened)
        tip = self.browser.run(
            """(() => { const chart = document.querySelector('#fig-warped-compression-fig09 svg.chart'); chart.focus();
            chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })); return document.getElementById('tip').textContent; })()"""
        )
        self.that("the keyboard goes through the marks of a chart", "vecadd" in tip and "%" in tip, tip)
        hover = self.browser.run(
            """(() => { const mark = document.querySelector('#fig-caches-fig3-3 [data-i]'); mark.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 300, clientY: 300 }));
            return document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent; })()"""
        )
        self.that("the pointer shows the value of a mark", ":" in hover, hover)
        means = self.browser.run("document.querySelectorAll('#fig-warped-compression-fig08 path.paper[data-i]').length")
        self.that("the paper's means are marked", means == 2, means)
        pdf = self.browser.pdf()
        self.that("it prints", pdf.startswith(b"%PDF") and len(pdf) > 20000, len(pdf))
        self.that("the Pareto front is there", self.browser.run("!!document.querySelector('[id^=pareto] svg .front')"))
        self.quiet("papers.html")
        self.browser.run("location.hash = ''")
        self.shot("papers")

    def runs(self):
        self.run("run", "sgemm@tiny", "--interval", "200", "--json", "sgemm.json", "--trace", "sgemm.pftrace", "-q")
        self.run("run", "bfs@tiny", "--interval", "500", "--json", "a.json", "--trace", "a.pftrace", "-q")
        self.run("run", "bfs@tiny", "--set", "sm.scheduler=lrr", "--json", "b.json", "-q")
        self.run("report", "sgemm.json", "--out", "sgemm.html", "-q")
        self.page("sgemm.html")
        sections = self.browser.run("[...document.querySelectorAll('.run .part')].map(part => part.dataset.section)")
        self.that("sections are in order", sections == SECTIONS, sections)
        empty = self.browser.run("[...document.querySelectorAll('.part')].filter(part => part.querySelector('.empty')).map(part => part.dataset.section)")
        self.that("no section is without content", not empty, empty)
        energy = self.browser.run(
            "[...document.querySelectorAll('.part')].filter(part => !['rules', 'power', 'source', 'energy'].includes(part.dataset.section))"
            ".filter(part => ![...part.querySelectorAll('th')].some(head => head.textContent.startsWith('energy'))).map(part => part.dataset.section)"
        )
        self.that("every section has a column of energy", not energy, energy)
        roofs = self.browser.run("[...document.querySelectorAll('[data-section=sol] figcaption')].map(caption => caption.textContent)")
        self.that("there are two rooflines", roofs == ["Roofline of time", "Roofline of energy"], roofs)
        rules = self.browser.run("document.querySelectorAll('[data-section=rules] tbody tr').length")
        self.that("a rule names a bottleneck", rules >= 1, rules)
        self.source()
        self.quiet("sgemm.html")
        self.shot("sgemm")
        self.run("compare", "a.json", "b.json", "--html", "compare.html", "-q")
        self.page("compare.html")
        self.sorts("compare-counters-d", 4, float)
        self.that("two runs stand beside each other", self.browser.run("document.querySelectorAll('#compare-energy svg [data-i]').length") > 4)
        self.quiet("compare.html")
        self.shot("compare")

    def source(self):
        """Lines of CUDA with time, stalls and energy; sorted, shaded, opened."""
        with open(self.path("sgemm.json"), encoding="utf-8") as file:
            record = json.load(file)
        per_line = {line["line"]: line for line in record["kernels"][0]["energy"]["per_line"]}
        hottest = max(per_line.values(), key=lambda line: line["energy_j"])["line"]
        table = self.browser.run("document.querySelector('table.src').id")
        text = self.browser.run("[...document.querySelectorAll('table.src tr')].map(row => row.textContent).join('\\n')")
        self.that("the source has CUDA lines", "__global__" in text and "threadIdx" in text, text[:300])
        self.sorts(table, 6, float)
        self.sorts(table, 0, float)
        first = self.browser.run(
            f"""(() => {{ const table = document.getElementById('{table}'), head = table.tHead.rows[0].cells[6].querySelector('button'); head.click();
            if (table.tHead.rows[0].cells[6].getAttribute('aria-sort') !== 'descending') head.click(); return [table.tBodies[0].rows[0].cells[0].dataset.v, +table.tBodies[0].rows[0].cells[6].dataset.v]; }})()"""
        )
        self.that("the hottest line is that of the record", first[0] == str(hottest) and abs(first[1] - per_line[hottest]["energy_j"]) < 1e-12, first)
        shade = self.browser.run(
            """(() => { const view = document.querySelector('[data-by]'), before = view.dataset.by; document.querySelector('[data-shade] input[value=e]').click(); return [before, view.dataset.by]; })()"""
        )
        self.that("lines are shaded by what is chosen", shade == ["t", "e"], shade)
        detail = self.browser.run(
            f"""(() => {{ const row = document.getElementById('{table}').tBodies[0].rows[0]; row.querySelector('.open').click();
            const next = row.nextElementSibling, rows = next.querySelectorAll('tbody tr').length, text = next.textContent; row.querySelector('.open').click();
            return [rows, text, document.querySelectorAll('.detail').length]; }})()"""
        )
        self.that("a line opens to its machine instructions, and closes", detail[0] >= 1 and "J" in detail[1] and detail[2] == 0, detail)

    def hostile(self):
        """Names that are markup, a thousand kernels, nothing at all, numbers that are not there."""
        with open(self.path("a.json"), encoding="utf-8") as file:
            record = json.load(file)
        one = json.loads(json.dumps(record))
        kernel, group = one["kernels"][0], one["by_kernel"][0]
        one["kernels"], one["by_kernel"] = [], []
        for number in range(1000):
            name = f"{EVIL} {number} " + "long" * (number % 60)
            one["kernels"].append(dict(kernel, index=number, name=name, demangled=name, series=None, energy=None if number % 7 else kernel["energy"]))
            one["by_kernel"].append(dict(group, name=name, demangled=name))
        one["kernels"] = [{key: value for key, value in each.items() if value is not None} for each in one["kernels"]]
        one["sources"] = {EVIL: {"1": EVIL}, **one.get("sources", {})}
        one["totals"]["launches"] = 1000
        one["totals"]["lines"].append({"file": EVIL, "line": 1, "warp_instructions": 1, "thread_instructions": 1})
        one["inputs"]["workload"] = EVIL
        one["diagnostics"] = [{"code": EVIL, "severity": "error", "message": EVIL}]
        nothing = json.loads(json.dumps(record))
        nothing["kernels"], nothing["by_kernel"], nothing["sources"] = [], [], {}
        nothing["totals"] = {"launches": 0, "cycles": 0, "warp_instructions": 0, "thread_instructions": 0, "counters": {}, "lines": []}
        nothing["energy"]["power"] = {"start_cycle": [], "end_cycle": [], "total_w": [], "components_w": {}}
        for key in ("total_j", "dynamic_j", "static_j", "average_w"):
            nothing["energy"][key] = 0.0
        for name, document in (("evil.json", one), ("nothing.json", nothing)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                json.dump(document, file)
        self.run("run", "vecadd@tiny", "--functional", "--json", "functional.json", "-q")
        for name in ("evil", "nothing", "functional"):
            self.run("report", f"{name}.json", "--out", f"{name}.html", "-q")
            self.page(f"{name}.html")
            self.quiet(f"{name}.html")
            strange = self.browser.run("document.querySelectorAll('main img, main b b').length + [...document.scripts].filter(script => !script.type && script.textContent.length < 1000).length")
            self.that(f"no name of {name}.html became markup", strange == 0, strange)
            wrong = self.browser.run("/\\b(NaN|Infinity|undefined)\\b/.exec(document.querySelector('main').textContent)?.[0] ?? ''")
            self.that(f"{name}.html shows no number that is none", wrong == "", wrong)
        self.browser.open(self.path("evil.html"))
        rows = self.browser.run("document.querySelectorAll('#run-1-kernels tbody tr').length")
        self.that("a thousand kernels are listed", rows == 1000, rows)
        wide = self.browser.run("document.documentElement.scrollWidth <= window.innerWidth")
        self.that("long names do not widen the page", wide)
        self.shot("evil")
        os.makedirs(self.path("odd/figures"))
        series = [{"name": "<i>s</i>", "unit": "%", "values": {"<b>": None, "b": 1e308}, "mean": None, "claim": "<u>", "paper": None}, {"name": "none", "unit": "x", "values": {}, "mean": None}]
        figure = {"schema": "warpwatt.figure/1", "paper": "odd", "title": EVIL, "axis": "workload", "series": series}
        with open(self.path("odd/figures/fig01.json"), "w", encoding="utf-8") as file:
            json.dump(figure, file)
        with open(self.path("odd/figures/fig02.json"), "w", encoding="utf-8") as file:
            json.dump(dict(figure, series=[]), file)
        self.run("report", "odd", "--out", "odd.html", "-q")
        self.page("odd.html")
        self.that("a figure with one value is drawn", self.browser.run("document.querySelectorAll('#fig-odd-fig01 svg [data-i]').length") == 1)
        self.that("a figure without series says so", self.browser.run("!!document.querySelector('#fig-odd-fig02 .empty')"))
        self.quiet("odd.html")

    def traces(self):
        python = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "report/venv/bin/python")
        here = os.path.dirname(os.path.abspath(__file__))
        for name in ("sgemm", "a"):
            done = subprocess.run([python, os.path.join(here, "trace.py"), self.path(f"{name}.pftrace"), self.path(f"{name}.json")], capture_output=True, text=True)
            self.that(f"the trace of {name} is one by Perfetto's schema", done.returncode == 0, done.stderr[-800:])
            print(f"trace of {name}: {done.stdout.strip()}")
        files = [self.path(f"{name}.{end}") for name in ("sgemm", "a") for end in ("pftrace", "json")]
        done = subprocess.run([python, os.path.join(here, "processor.py"), *files], capture_output=True, text=True)
        self.that("Perfetto's trace processor reads the traces", done.returncode == 0, done.stderr[-800:])
        print(f"trace processor: {done.stdout.strip()}")

    def all(self):
        self.browser = browser.Browser()
        try:
            self.runs()
            self.hostile()
            self.papers()
        finally:
            self.browser.close()
        self.traces()
        print("reports: " + (f"{self.failed} checks failed" if self.failed else "all checks passed"))
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warpwatt", required=True)
    parser.add_argument("--screenshots")
    sys.exit(Check(parser.parse_args()).all())


if __name__ == "__main__":
    main()
