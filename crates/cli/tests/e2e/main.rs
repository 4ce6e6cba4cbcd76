// SPDX-License-Identifier: MIT OR Apache-2.0
//! End to end: the program is run as a person runs it, and judged by what it prints, writes and returns.

mod characterize;
mod commands;
mod common;
mod compare;
mod docs;
mod drowsy;
mod energy;
mod entropy;
mod exec;
mod faults;
mod first_hours;
mod full_disk;
mod fuzz;
mod launch_files;
mod launches;
mod pages;
mod paper;
mod report;
mod reproducers;
mod resume;
mod rules;
mod slurm;
mod sweep;
mod techniques;
mod timed;
mod validate;
mod workloads;
