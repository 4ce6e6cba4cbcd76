// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference of all parameters and presets, as a Markdown page.

use std::fmt::Write;

use crate::listing::shown;
use crate::{Config, GpuFile, PRESETS, Reason, differences};

const OPENING: &str = "\
# Parameters

Generated from the declarations in `crates/config/src/parameters.rs`. `warpwatt gpu show NAME` prints the values of a GPU,
`warpwatt gpu show NAME --toml` a file to copy and edit; `--gpu FILE` uses it, `--set key=value` changes a parameter for one run.
A GPU file names the GPU that it inherits from and lists the differences:

```toml
name = \"my-gpu\"
inherits = \"gtx480\"

[sm]
scheduler = \"lrr\"

[sm.l1d]
mshrs = 64
```

A file may inherit from another file, named relative to itself: `inherits = \"base.toml\"`. Sizes of caches can be given instead of their sets: `bytes` in
`[l2]` (all slices together), `[sm.l1d]`, `[sm.icache]`, `[sm.constant]` and `[sm.texture]`, or `--set l2.bytes=1536KB`.

A file can give the source of a value, in an inline table; `warpwatt gpu show` prints it below the parameter:

```toml
[sm]
ctas = { value = 8, source = \"data sheet\" }
warps = { value = 48, agrees = \"data sheet: the same as the GPU inherited from\" }
register_unit = { choice = \"no figure is published\" }
```

The built-in GPUs give one for every parameter. `rest = \"...\"` at the top of a file is the reason for inheriting all parameters that it does not list.

Cycles are those of the core clock unless another clock is named. Defaults are those of `gtx480`.
";

/// The page.
pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let defaults = Config::default();
    for section in Config::SECTIONS {
        let _ = writeln!(page, "\n## `{}`\n\n{}\n", section.key, section.doc);
        page.push_str("| parameter | default | legal | unit | meaning |\n|---|---|---|---|---|\n");
        for parameter in Config::parameters().iter().filter(|parameter| parameter.section == section.key) {
            let value = shown(&defaults, parameter);
            let _ = writeln!(
                page,
                "| `{}` | {value} | {} | {} | {} |",
                parameter.key, parameter.kind, parameter.unit, parameter.doc
            );
        }
    }
    page.push_str("\n## GPUs\n");
    for preset in PRESETS {
        let Ok(file) = GpuFile::preset(preset.name) else { continue };
        let _ = writeln!(page, "\n### `{}`\n\n{}", file.name, file.description);
        let parent = GpuFile::preset(&file.inherits).map_or(Config::default(), |parent| parent.config);
        let differences = differences(&parent, &file.config);
        if let Some(rest) = &file.rest {
            let _ = writeln!(page, "\nAll other values are those of `{}`: {rest}.", file.inherits);
        }
        if differences.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n| parameter | `{}` | here | why |\n|---|---|---|---|", file.inherits);
        for difference in differences {
            let why = file.reasons.get(difference.parameter.key).map(Reason::to_string).unwrap_or_default();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {why} |",
                difference.parameter.key, difference.from, difference.to
            );
        }
    }
    page
}
