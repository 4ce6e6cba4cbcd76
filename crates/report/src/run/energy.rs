// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy by component and structure, and power over time.

use warpwatt_results::{Energy, PowerSeries, Reading, Series};

use crate::chart::area::Area;
use crate::chart::rows::{Row, Rows};
use crate::html::{Cell, Table, folded};
use crate::number::{joules, percent, shown, si};

use super::scope::Scope;

/// Intervals that a chart shows; more are put together.
const MOST_INTERVALS: usize = 240;
/// Components with a colour of their own; the rest is one.
const MOST_LAYERS: usize = 8;

pub fn breakdown(scope: &Scope) -> String {
    let Some(energy) = scope.energy else {
        return "<p class=empty>A functional run has no energy.</p>".to_owned();
    };
    let id = format!("{}-energy", scope.id);
    let mut components: Vec<_> = energy.components.iter().collect();
    components.sort_by(|a, b| (b.dynamic_j + b.static_j).total_cmp(&(a.dynamic_j + a.static_j)));
    let rows = components.iter().filter(|part| part.dynamic_j + part.static_j > 0.0).map(|part| {
        let sum = part.dynamic_j + part.static_j;
        Row {
            name: part.name.clone(),
            parts: vec![("c5".to_owned(), part.dynamic_j), ("c7".to_owned(), part.static_j)],
            text: format!("{}, {}", joules(sum), percent(sum / energy.total_j)),
        }
    });
    let legend = vec![("c5".to_owned(), "dynamic".to_owned()), ("c7".to_owned(), "static".to_owned())];
    let rows = Rows { title: "Energy by component".to_owned(), legend, rows: rows.collect(), most: None };
    let mut table = Table::new("Energy by component")
        .id(format!("{id}-d"))
        .text("component")
        .number("dynamic")
        .number("static")
        .number("all")
        .number("share")
        .number("share on chip")
        .sortable();
    for part in components.iter().filter(|part| part.dynamic_j + part.static_j > 0.0) {
        let sum = part.dynamic_j + part.static_j;
        table.push(vec![
            Cell::text(part.name.clone()),
            Cell::shown(Some(part.dynamic_j), joules),
            Cell::shown(Some(part.static_j), joules),
            Cell::shown(Some(sum), joules),
            Cell::shown(Some(sum / energy.total_j), percent),
            Cell::shown(Some(part.shares.on_chip), percent),
        ]);
    }
    let mut inner = Table::new("Energy by structure")
        .id(format!("{id}-s"))
        .text("structure")
        .text("component")
        .number("dynamic")
        .number("static")
        .number("area [mm²]")
        .sortable();
    for part in &energy.structures {
        inner.push(vec![
            Cell::text(part.name.clone()),
            Cell::text(part.component.clone()),
            Cell::shown(Some(part.dynamic_j), joules),
            Cell::shown(Some(part.static_j), joules),
            Cell::number(part.area_mm2),
        ]);
    }
    format!(
        "{}<div class=plot data-table=\"{id}-d\">{}</div>{}{}",
        headline(energy),
        rows.draw().inline(),
        folded("By component", &table.html()),
        folded("By structure", &inner.html())
    )
}

fn headline(energy: &Energy) -> String {
    let mut text = format!(
        "{} in all, {} of it dynamic; {} W on average; energy-delay product {}.",
        joules(energy.total_j),
        percent(energy.dynamic_j / energy.total_j),
        shown(energy.average_w),
        si(energy.edp_js, "J s")
    );
    text += &format!(" SMs had warps in {} of the time.", percent(energy.with_warps_share));
    format!("<p class=note>{}</p>", crate::html::escape(&text))
}

/// Power over time, of a run or of a launch.
pub fn power(scope: &Scope, run: Option<&PowerSeries>) -> Option<String> {
    let (spans, columns) = match (scope.kernel, run) {
        (None, Some(power)) => {
            let spans = power
                .start_cycle
                .iter()
                .zip(&power.end_cycle)
                .map(|(start, end)| (*start as f64, *end as f64));
            let columns = power.components_w.iter().map(|(name, column)| (name.clone(), column.clone()));
            (spans.collect::<Vec<_>>(), columns.collect::<Vec<_>>())
        }
        (Some(kernel), _) => of_launch(kernel.start_cycle? as f64, kernel.series.as_ref()?),
        _ => return None,
    };
    let spans: Vec<_> = spans.into_iter().filter(|(start, end)| end > start).collect();
    if spans.is_empty() || columns.iter().any(|(_, column)| column.len() != spans.len()) {
        return None;
    }
    let (spans, columns) = fewer(spans, columns);
    let layers = layers(columns);
    let id = format!("{}-power", scope.id);
    let area = Area {
        title: format!("Power over time, {} intervals", spans.len()),
        spans: &spans,
        layers: &layers,
        unit: "W".to_owned(),
        axis: "core cycle".to_owned(),
    };
    let mut table = Table::new("Power over time, in watts").id(format!("{id}-d")).text("cycles");
    for (name, _) in &layers {
        table = table.number(name.clone());
    }
    table = table.number("all");
    for (place, (start, end)) in spans.iter().enumerate() {
        let mut row = vec![Cell::text(format!("{start:.0}–{end:.0}"))];
        row.extend(layers.iter().map(|(_, column)| Cell::number(Some(column[place]))));
        row.push(Cell::number(Some(layers.iter().map(|(_, column)| column[place]).sum())));
        table.push(row);
    }
    Some(format!(
        "<figure class=fig id=\"{id}\"><figcaption>Power over time</figcaption><div class=plot data-table=\"{id}-d\">{}</div>{}</figure>",
        area.draw().inline(),
        folded("Values", &table.html())
    ))
}

type Columns = Vec<(String, Vec<f64>)>;

fn of_launch(start: f64, series: &Series) -> (Vec<(f64, f64)>, Columns) {
    let number = |reading: &Reading| match reading {
        Reading::Count(count) => *count as f64,
        Reading::Ratio(ratio) => *ratio,
        Reading::Histogram(_) => f64::NAN,
    };
    let ends: Vec<f64> =
        series.get("cycle").map(|column| column.iter().map(number).collect()).unwrap_or_default();
    let starts = std::iter::once(start).chain(ends.iter().copied());
    let spans = starts.zip(ends.iter().copied()).collect();
    let columns = series.iter().filter_map(|(name, column)| {
        let name = name.strip_prefix("power.")?.strip_suffix(".watts")?;
        (name != "total").then(|| (name.replace('_', " "), column.iter().map(number).collect()))
    });
    (spans, columns.collect())
}

/// Merges neighbouring intervals, with the mean power weighted by their length, so that energy is preserved.
fn fewer(spans: Vec<(f64, f64)>, columns: Columns) -> (Vec<(f64, f64)>, Columns) {
    let group = spans.len().div_ceil(MOST_INTERVALS).max(1);
    if group == 1 {
        return (spans, columns);
    }
    let merged = |column: &Vec<f64>| {
        let parts = column.chunks(group).zip(spans.chunks(group));
        let mean = |(values, spans): (&[f64], &[(f64, f64)])| {
            let length: f64 = spans.iter().map(|(start, end)| end - start).sum();
            values.iter().zip(spans).map(|(value, (start, end))| value * (end - start)).sum::<f64>() / length
        };
        parts.map(mean).collect()
    };
    let columns = columns.iter().map(|(name, column)| (name.clone(), merged(column))).collect();
    let ends = |part: &[(f64, f64)]| {
        (part.first().map_or(0.0, |span| span.0), part.last().map_or(0.0, |span| span.1))
    };
    (spans.chunks(group).map(ends).collect(), columns)
}

/// The greatest ones, and the sum of the rest.
fn layers(mut columns: Columns) -> Columns {
    let sum = |column: &Vec<f64>| column.iter().filter(|value| value.is_finite()).sum::<f64>();
    columns.sort_by(|a, b| sum(&b.1).total_cmp(&sum(&a.1)));
    if columns.len() > MOST_LAYERS + 1 {
        let rest = columns.split_off(MOST_LAYERS);
        let length = rest.first().map_or(0, |column| column.1.len());
        let others = (0..length).map(|place| rest.iter().map(|(_, column)| column[place]).sum()).collect();
        columns.push((format!("{} others", rest.len()), others));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_are_put_together_keep_their_energy() {
        let spans: Vec<(f64, f64)> =
            (0..1000).map(|place| (f64::from(place * place), f64::from((place + 1) * (place + 1)))).collect();
        let column: Vec<f64> = (0..1000).map(|place| f64::from(place % 7)).collect();
        let energy = |spans: &[(f64, f64)], column: &[f64]| {
            spans.iter().zip(column).map(|((start, end), watts)| watts * (end - start)).sum::<f64>()
        };
        let before = energy(&spans, &column);
        let (fewer, columns) = fewer(spans, vec![("a".into(), column)]);
        assert!(fewer.len() <= MOST_INTERVALS);
        assert!((energy(&fewer, &columns[0].1) - before).abs() < 1e-6 * before);
    }
}
