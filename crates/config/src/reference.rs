// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference of all parameters and presets, as a Markdown page.

use std::fmt::Write;

use crate::listing::shown;
use crate::{Config, GpuFile, PRESETS, differences};

const OPENING: &str = "\
# Parameters

Generated from the declarations in `crates/config/src/parameters.rs`. `warpwatt gpu show NAME` prints the values of a GPU,
`warpwatt gpu show NAME --toml` a file to copy and edit; `--gpu FILE` uses it, `--set key=value` changes a parameter for one run.
A GPU file says what it inherits from and lists what differs:

```toml
name = \"my-gpu\"
inherits = \"gtx480\"

[sm]
scheduler = \"lrr\"

[sm.l1d]
mshrs = 64
```

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
        if differences.is_empty() {
            continue;
        }
        let _ = writeln!(page, "\n| parameter | `{}` | here |\n|---|---|---|", file.inherits);
        for difference in differences {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} |",
                difference.parameter.key, difference.from, difference.to
            );
        }
    }
    page
}
