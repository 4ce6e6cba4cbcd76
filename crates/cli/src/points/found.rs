// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept in memory of the points of a command: a few numbers each, and which columns their tables have. A record takes 100 KB and more, so the rest
//! stays in its file, and is read again by whoever needs it.

use warpwatt_dataset::Columns;
use warpwatt_papers::PointRecord;

use super::folder::Folder;
use super::task::Task;

/// A point that is there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found {
    /// Simulated time.
    pub seconds: Option<f64>,
    pub energy_j: f64,
    /// What the run took.
    pub wall_seconds: f64,
}

/// Points of a plan, by their place among its tasks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FoundPoints {
    points: Vec<Option<Found>>,
    /// Columns of the tables of all that are there.
    pub columns: Columns,
}

impl FoundPoints {
    /// Those of the tasks that a folder has.
    pub fn look(tasks: &[Task], folder: &Folder) -> FoundPoints {
        let mut found = FoundPoints { points: vec![None; tasks.len()], columns: Columns::default() };
        for (place, task) in tasks.iter().enumerate() {
            if let Some(record) = folder.point(&task.key) {
                found.put(place, &record);
            }
        }
        found
    }

    pub fn put(&mut self, place: usize, record: &PointRecord) {
        self.columns.learn(record);
        self.points[place] = Some(Found {
            seconds: record.seconds(),
            energy_j: record.energy.total_j,
            wall_seconds: record.host.wall_seconds,
        });
    }

    pub fn get(&self, place: usize) -> Option<Found> {
        self.points.get(place).copied().flatten()
    }

    /// Points that are there.
    pub fn count(&self) -> usize {
        self.points.iter().flatten().count()
    }
}
