// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written to the terminal, and how: results to stdout, everything else to stderr, colour and progress only where
//! there is a person to see them.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::exit::{Exit, Failure};

/// What takes no longer is not worth a word.
const SLOW: Duration = Duration::from_secs(1);

/// Verbosity of messages on stderr.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Log {
    Error,
    Warn,
    Info,
    Debug,
}

impl Log {
    /// The level given by flags, or else by the environment.
    fn new(quiet: bool, verbose: u8, variable: Option<&str>) -> Result<Log, Failure> {
        Ok(match (quiet, verbose, variable) {
            (true, _, _) => Log::Error,
            (_, 1.., _) => Log::Debug,
            (_, _, Some("error")) => Log::Error,
            (_, _, Some("warn")) => Log::Warn,
            (_, _, Some("info" | "") | None) => Log::Info,
            (_, _, Some("debug")) => Log::Debug,
            (_, _, Some(other)) => {
                let failure = Failure::usage(format!("WARPWATT_LOG is `{other}`"));
                return Err(failure.help("it is one of error, warn, info, debug"));
            }
        })
    }
}

/// A front end other than a terminal: it gets the messages of commands instead of the standard streams.
pub trait Listener: Send + Sync {
    /// Part of the result.
    fn result(&self, text: &str);
    /// A line that would go to stderr, with its headline.
    fn say(&self, line: &str);
    /// How many runs of how many are done, and what runs.
    fn progress(&self, done: u64, total: u64, text: &str);
    /// What to do to continue a command that ended before its work was done.
    fn again(&self) -> String;
}

pub struct Console {
    pub quiet: bool,
    pub log: Log,
    /// stderr is a terminal that takes colours.
    pub color: bool,
    /// stderr is a terminal.
    pub live: bool,
    stdout_error: OnceLock<String>,
    listener: Option<Arc<dyn Listener>>,
}

impl Console {
    pub fn new(quiet: bool, verbose: u8) -> Result<Console, Failure> {
        let live = std::io::stderr().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let log = Log::new(quiet, verbose, std::env::var("WARPWATT_LOG").ok().as_deref())?;
        Ok(Console { quiet, log, color: live && !plain, live: live && !quiet, ..Console::plain() })
    }

    /// For messages before a console exists.
    pub fn plain() -> Console {
        Console {
            quiet: false,
            log: Log::Info,
            color: false,
            live: false,
            stdout_error: OnceLock::new(),
            listener: None,
        }
    }

    /// Everything goes to a listener.
    pub fn to(listener: Arc<dyn Listener>) -> Console {
        Console { listener: Some(listener), ..Console::plain() }
    }

    pub fn listener(&self) -> Option<&Arc<dyn Listener>> {
        self.listener.as_ref()
    }

    /// What to do to continue work that this command would begin.
    pub fn again(&self, command: String) -> String {
        self.listener.as_ref().map_or(command, |listener| listener.again())
    }

    /// Part of the result. A reader that went away is no error; a full disk is, which the end of the command reports.
    pub fn result(&self, text: &str) {
        if let Some(listener) = &self.listener {
            return listener.result(text);
        }
        let mut stdout = std::io::stdout();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        if let Err(error) = written
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            let _ = self.stdout_error.set(error.to_string());
        }
    }

    /// Why results could not be written to stdout, if so.
    pub fn stdout_failure(&self) -> Option<Failure> {
        let reason = self.stdout_error.get()?;
        let failure = Failure::new(Exit::Io, format!("cannot write the result to standard output: {reason}"));
        Some(failure.help("free space on the disk that standard output is written to, or redirect it"))
    }

    /// The part of the result that `-q` leaves out.
    pub fn summary(&self, text: &str) {
        if !self.quiet {
            self.result(text);
        }
    }

    /// Runs `work`, with a message if it takes more than a second.
    pub fn slowly<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            scope.spawn(move || {
                if ended.recv_timeout(SLOW) == Err(RecvTimeoutError::Timeout) {
                    self.note(&format!("{what}, which takes a while"));
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    /// A note on how the result was obtained.
    pub fn note(&self, text: &str) {
        if self.log >= Log::Info {
            self.say(&format!("{} {text}", self.paint("note:", "1;36")));
        }
    }

    /// A warning about the result.
    pub fn warn(&self, text: &str) {
        if self.log >= Log::Warn {
            self.say(&format!("{} {text}", self.paint("warning:", "1;33")));
        }
    }

    pub fn detail(&self, text: &str) {
        if self.log >= Log::Debug {
            self.say(text);
        }
    }

    pub fn failure(&self, failure: &Failure) {
        if failure.rendered {
            self.say(&failure.message);
        } else {
            self.say(&format!("{} {}", self.paint("error:", "1;31"), failure.message));
        }
        if let Some(help) = &failure.help {
            self.say(&format!("{} {help}", self.paint("help:", "1;32")));
        }
    }

    fn say(&self, line: &str) {
        match &self.listener {
            Some(listener) => listener.say(line),
            None => eprintln!("{line}"),
        }
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Writes a result file whole: readers see the old one or the new one. `-` is stdout.
pub fn write_result(target: &Path, text: &str, console: &Console) -> Result<(), Failure> {
    ResultFile::open(target)?.finish(text, console)
}

/// Writes a file that is no text whole.
pub fn write_bytes(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    ResultFile::open(target)?.finish_bytes(bytes)
}

/// Fails if a result that is to be written at the end of a long command could not be.
pub fn check_writable(target: Option<&Path>) -> Result<(), Failure> {
    target.map_or(Ok(()), |target| ResultFile::open(target).map(drop))
}

/// A result file that is opened before the work whose result it gets, so that a folder that does not exist or cannot be written to is
/// reported at once. Until the end the text of the target stays as it was; an unfinished file is removed.
pub struct ResultFile {
    target: PathBuf,
    /// The file that takes the target's place in the end; none for stdout, devices and pipes, which cannot be replaced by renaming.
    temporary: Option<(PathBuf, File)>,
}

impl ResultFile {
    pub fn open(target: &Path) -> Result<ResultFile, Failure> {
        let failed = |error: std::io::Error| Failure::io("write", target, &error);
        let plain = || Ok(ResultFile { target: target.to_owned(), temporary: None });
        if target == Path::new("-") {
            return plain();
        }
        match std::fs::metadata(target) {
            Ok(meta) if meta.is_dir() => {
                return Err(failed(std::io::Error::from(std::io::ErrorKind::IsADirectory)));
            }
            Ok(meta) if !meta.is_file() => return plain(),
            _ => {}
        }
        let mut temporary = target.as_os_str().to_owned();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary).map_err(failed)?;
        Ok(ResultFile { target: target.to_owned(), temporary: Some((temporary, file)) })
    }

    /// Writes the text, and puts the file in its place.
    pub fn finish(self, text: &str, console: &Console) -> Result<(), Failure> {
        if self.target == Path::new("-") {
            console.result(text);
            return Ok(());
        }
        self.finish_bytes(text.as_bytes())
    }

    fn finish_bytes(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let target = std::mem::take(&mut self.target);
        let failed = |error: std::io::Error| Failure::io("write", &target, &error);
        let Some((temporary, file)) = &mut self.temporary else {
            return std::fs::write(&target, bytes).map_err(failed);
        };
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(temporary, &target).map_err(failed)?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_take_precedence_over_the_environment() {
        let log = |quiet, verbose, variable| Log::new(quiet, verbose, variable).ok();
        assert_eq!(log(false, 0, None), Some(Log::Info));
        assert_eq!(log(false, 0, Some("debug")), Some(Log::Debug));
        assert_eq!(log(true, 0, Some("debug")), Some(Log::Error));
        assert_eq!(log(false, 1, Some("error")), Some(Log::Debug));
        assert_eq!(log(false, 0, Some("loud")), None);
    }
}
