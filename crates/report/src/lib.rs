// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports: one self-contained HTML file about papers, sweeps and runs, and figures as SVG files. Nothing is simulated here: all numbers come from the files
//! that runs left, and each chart has the table of its values behind it.

mod chart;
mod compare;
mod figure;
mod forms;
mod html;
mod input;
mod ledger;
mod number;
mod page;
mod points;
mod run;
mod trace;

use std::path::{Path, PathBuf};

use warpwatt_results::RunRecord;

pub use input::{Error, Input};
pub use trace::trace;

/// The file of an out folder's report.
pub const FILE: &str = "report.html";

/// Makes the report of an out folder in it, and its figures as SVG files beside their data. Gives the report's path.
pub fn write(out_dir: &Path) -> Result<PathBuf, Error> {
    let mut input = Input::default();
    input.add(out_dir)?;
    for paper in &input.papers {
        // A paper with a separate folder has its figures there.
        let own = out_dir.join(&paper.name).join("figures");
        let folder = match own.is_dir() {
            true => own,
            false if input.papers.len() > 1 => out_dir.join("figures").join(&paper.name),
            false => out_dir.join("figures"),
        };
        write_figures(&paper.figures, &folder)?;
    }
    let path = out_dir.join(FILE);
    input::replace(&path, &page(&input))?;
    Ok(path)
}

/// Writes the figures of a report as SVG files into a folder, one for each paper where there are several.
pub fn write_svg(input: &Input, folder: &Path) -> Result<usize, Error> {
    let mut number = 0;
    for paper in &input.papers {
        number += write_figures(&paper.figures, &folder.join(&paper.name))?;
    }
    Ok(number)
}

fn write_figures(figures: &[figure::Figure], folder: &Path) -> Result<usize, Error> {
    let mut number = 0;
    if figures.is_empty() {
        return Ok(0);
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::Io {
        verb: "make",
        path: folder.to_owned(),
        error,
    })?;
    for (name, text) in figures.iter().flat_map(figure::Figure::files) {
        input::replace(&folder.join(name), &text)?;
        number += 1;
    }
    Ok(number)
}

/// The page about all of the input.
pub fn page(input: &Input) -> String {
    let title = match (&input.papers[..], &input.runs[..]) {
        ([paper], []) => format!("warpwatt: {}", paper.name),
        ([], [(file, record)]) => format!("warpwatt: {}", run::name(file, record)),
        ([], []) => "warpwatt: sweep".to_owned(),
        _ => "warpwatt report".to_owned(),
    };
    page::html(&title, input)
}

/// The page that compares two runs, with the pages of both.
pub fn comparison(a: (&str, &RunRecord), b: (&str, &RunRecord)) -> String {
    let runs = vec![(a.0.to_owned(), a.1.clone()), (b.0.to_owned(), b.1.clone())];
    page::html(&format!("warpwatt: {} and {}", a.0, b.0), &Input { runs, ..Input::default() })
}
