// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the program as a person would, from the root of the repository.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the program left behind.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// The run, if it ended with this code; all it said otherwise.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Ran {
        assert!(self.err.contains(words), "`{words}` is not in\n{}", self.err);
        self
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in\n{}", self.out))
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpwatt"));
    // Tests that run in the background of a script are started with Ctrl-C ignored, which the program would respect.
    // SAFETY: `signal` is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    command
        .current_dir(root())
        .stdin(Stdio::null())
        .env_remove("WARPWATT_ISA")
        .env_remove("WARPWATT_LOG")
        .env_remove("COLUMNS");
    command
}

pub fn warpwatt(args: &[&str]) -> Ran {
    finish(command().args(args))
}

pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().expect("the program starts");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A folder that is gone when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).expect("a file for the test");
        self.path(name)
    }
}

/// Makes a file that can be run. Another process writes it: a descriptor that is open for writing here, when the process of another
/// test starts, stays open there until that runs its program, and nothing that is open for writing can be run ("text file busy").
pub fn make_program(path: &str, bytes: &[u8]) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\"", path])
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh starts");
    writer.stdin.take().expect("a pipe").write_all(bytes).expect("it takes them");
    assert!(writer.wait().expect("it ends").success(), "{path} cannot be written");
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A kernel that stores `value + index` for the first `n` elements, with a PTX text small enough to read.
pub const STORE_PTX: &str = r#".version 7.0
.target sm_50
.address_size 64

.visible .entry store(.param .u64 out, .param .u32 n, .param .u32 value)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [value];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r3, %r3, %r4, %r5;
    setp.ge.u32 %p, %r3, %r1;
    @%p bra done;
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd3], %r2;
done:
    ret;
}
"#;

/// A kernel in which every thread computes for `n` rounds, then stores its result.
pub const SPIN_PTX: &str = r#".version 7.0
.target sm_50
.address_size 64

.visible .entry spin(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    mov.u32 %r6, %r5;
    mov.u32 %r7, 0;
again:
    mad.lo.u32 %r6, %r6, 1664525, %r1;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p, %r7, %r1;
    @%p bra again;
    mul.wide.u32 %rd2, %r5, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    ret;
}
"#;
