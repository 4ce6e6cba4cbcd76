// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links the library with the version nodes that programs ask of libcudart.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={here}/versions.map");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libwarpwatt_cuda.so");
}
