// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts the commit that is being built into the program, for the run record.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=WARPWATT_COMMIT");
    let given = std::env::var("WARPWATT_COMMIT").ok();
    let commit = given.or_else(|| {
        let git = |args: &[&str]| {
            let output =
                Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        println!("cargo:rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
        git(&["rev-parse", "--short=12", "HEAD"])
    });
    println!("cargo:rustc-env=WARPWATT_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}
