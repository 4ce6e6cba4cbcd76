// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links the command at a fixed address where the compiler driver does so on request. At any address, the loader has to write 32 thousand addresses
//! into 200 pages before the command starts: a tenth of the processor time of the smallest runs.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") == "linux" && target("ENV") == "gnu" && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
