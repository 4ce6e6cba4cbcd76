// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of sections: a metric, its value, and the energy that belongs to it.

use crate::html::{Cell, Table};
use crate::number::{NONE, count, percent, shown};

use super::scope::Scope;

pub struct Metrics<'a, 'b> {
    scope: &'a Scope<'b>,
    table: Table,
}

impl<'a, 'b> Metrics<'a, 'b> {
    pub fn new(scope: &'a Scope<'b>, caption: &str) -> Metrics<'a, 'b> {
        let table =
            Table::new(format!("{caption}: {}", scope.title)).text("metric").number("value").number("energy");
        Metrics { scope, table: table.meaning("of what the metric is about, with its share of all energy") }
    }

    /// A value that is already a text; left out where there is none.
    pub fn row(&mut self, name: &str, value: Option<String>, energy: Option<f64>) -> &mut Self {
        if value.is_some() || energy.is_some() {
            let value = value.unwrap_or_else(|| NONE.to_owned());
            self.table.push(vec![
                Cell::text(name),
                Cell::Number(value, f64::NAN),
                self.scope.energy_cell(energy),
            ]);
        }
        self
    }

    pub fn count(&mut self, name: &str, counter: &str, energy: Option<f64>) -> &mut Self {
        let value = self.scope.count(counter).map(count);
        self.row(name, value, energy)
    }

    pub fn percent(&mut self, name: &str, counter: &str, energy: Option<f64>) -> &mut Self {
        let value = self.scope.count(counter).map(percent);
        self.row(name, value, energy)
    }

    pub fn number(&mut self, name: &str, value: Option<f64>, unit: &str, energy: Option<f64>) -> &mut Self {
        let value = value
            .filter(|value| value.is_finite())
            .map(|value| format!("{} {unit}", shown(value)).trim_end().to_owned());
        self.row(name, value, energy)
    }

    pub fn html(&self) -> String {
        if self.table.is_empty() {
            "<p class=empty>This run has no data for this section.</p>".to_owned()
        } else {
            self.table.html()
        }
    }
}
