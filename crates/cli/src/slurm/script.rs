// SPDX-License-Identifier: MIT OR Apache-2.0
//! The script of an array job: this program, which takes the list of its task and runs what is not there.

use std::path::Path;

/// The text of the script: words that start this program, and the command of a task.
pub fn text(program: &[String], batch: &Path) -> String {
    let program: Vec<_> = program.iter().map(|word| quoted(word)).collect();
    format!(
        "#!/bin/sh\n\
         # Written by `warpwatt sweep --engine slurm` or `warpwatt paper --engine slurm`; submitted by `sbatch` with the words in batch.json.\n\
         # A task takes the points of its list, task-N.jsonl, one after the other, and skips those that are there.\n\
         exec {} sweep work {} \"$SLURM_ARRAY_TASK_ID\"\n",
        program.join(" "),
        quoted(&batch.display().to_string())
    )
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_quotes_and_spaces_stay_one_word() {
        let text = text(&["/it's/my warpwatt".to_owned()], Path::new("/out/$HOME"));
        let line = text.lines().last().expect("a line");
        assert_eq!(line, r#"exec '/it'\''s/my warpwatt' sweep work '/out/$HOME' "$SLURM_ARRAY_TASK_ID""#);
    }
}
