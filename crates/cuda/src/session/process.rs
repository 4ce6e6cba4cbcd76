// SPDX-License-Identifier: MIT OR Apache-2.0
//! This process as part of a session: what it did, written when it ends, and now and then before, so that little is lost if it is
//! killed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpwatt_record::{
    BOARD_FILE, Board, Collector, Part, Stop, Text, Whole, copies, diagnostics, notice_diagnostic,
    traffic_path,
};
use warpwatt_results::{Diagnostic, Severity, Status, sha256_hex};
use warpwatt_runtime::{Class, Device, Error, Mode, Observer, Profile, Traffic, TrafficLog};

use super::observer::Watcher;
use super::{Session, interrupt};

/// Time between two parts, at least.
const PAUSE: Duration = Duration::from_secs(5);
/// Writing takes no more than this share of the time.
const SHARE: u32 = 20;
/// Exit code of a process that a limit ended.
const LIMIT: i32 = 5;
/// Diagnostics that are kept.
const MOST: usize = 100;

pub struct Process {
    number: u32,
    folder: Option<PathBuf>,
    board: Option<Arc<Board>>,
    interrupt: Arc<AtomicBool>,
    /// Ctrl-C is ours to handle.
    own_interrupt: bool,
    /// The request to stop was forwarded; a program that handles Ctrl-C itself is not signalled twice.
    obeyed: bool,
    live: bool,
    /// What is left of the launches, for the part of this process.
    collector: Collector,
    ptx: Vec<String>,
    /// The traffic of the device behind L2, if that is noted.
    traffic: Option<TrafficLog>,
    diagnostics: Vec<Diagnostic>,
    status: Status,
    written: Instant,
    pause: Duration,
}

impl Process {
    pub(super) fn new(session: &Session, own_interrupt: bool) -> Process {
        let claimed = session.folder.as_deref().map(|folder| (folder, Part::claim(folder)));
        let (folder, number) = match claimed {
            Some((folder, Ok(number))) => (Some(folder.to_owned()), number),
            // `exec` has ended before this process, so its part is not needed.
            Some((_, Err(_))) | None => (None, 1),
        };
        let board = folder.as_deref().and_then(|folder| Board::open(&folder.join(BOARD_FILE)).ok());
        Process {
            number,
            folder,
            board: board.map(Arc::new),
            interrupt: session.options.interrupt.clone(),
            own_interrupt,
            obeyed: false,
            live: session.live,
            collector: Collector::new(
                matches!(session.options.mode, Mode::Timed(_)).then(|| session.config.clone()),
                session.energies.clone(),
                session.per_launch,
            ),
            ptx: Vec::new(),
            traffic: None,
            diagnostics: Vec::new(),
            status: Status::Complete,
            written: Instant::now(),
            pause: PAUSE,
        }
    }

    /// Enables the traffic log and the instruction counts of the device if the session requests them.
    pub fn note_traffic(&mut self, session: &Session, device: &mut Device) {
        if session.counts && self.folder.is_some() {
            device.count_instructions("a program");
        }
        if session.traffic && self.folder.is_some() {
            self.traffic = Some(device.note_traffic(&session.config, "a program"));
        }
    }

    /// Watches the device for this process.
    pub fn observer(&self) -> Box<dyn Observer + Send> {
        let number = u64::from(self.number);
        let collector = self.folder.is_some().then(|| self.collector.clone());
        let mut watcher = Watcher::new(self.board.clone(), self.interrupt.clone(), self.live, number);
        watcher.collector = collector;
        Box::new(watcher)
    }

    /// For a thread that polls while a kernel runs.
    pub fn wish(&self) -> Wish {
        Wish { board: self.board.clone(), interrupt: self.interrupt.clone() }
    }

    /// Whether `exec` has requested the program to stop. The device is stopped as well.
    pub fn stop_requested(&mut self) -> bool {
        let wanted = self.board.as_ref().is_some_and(|board| board.stopped().is_some());
        self.obeyed &= wanted;
        if wanted && !self.obeyed {
            self.interrupt.store(true, Ordering::Relaxed);
        }
        self.interrupt.load(Ordering::Relaxed)
    }

    /// A PTX text was loaded.
    pub fn loaded(&mut self, ptx: &str) {
        if self.folder.is_some() {
            self.ptx.push(sha256_hex(ptx.as_bytes()));
        }
    }

    /// The simulated program failed.
    pub fn fault(&mut self, error: &Error) {
        self.status = Status::Failed;
        self.diagnose(diagnostics(error));
    }

    /// A kernel was not launched; the program got the error.
    pub fn refused(&mut self, error: &Error) {
        let more = diagnostics(error);
        if more.iter().any(|found| !self.diagnostics.contains(found)) {
            self.diagnose(more);
        }
    }

    /// We failed.
    pub fn bug(&mut self, text: &str) {
        self.status = Status::Failed;
        self.diagnose(vec![plain("internal", text.to_owned())]);
    }

    fn diagnose(&mut self, more: Vec<Diagnostic>) {
        self.diagnostics.extend(more);
        self.diagnostics.truncate(MOST);
    }

    /// Writes what there is so far, if the last time was long enough ago.
    pub fn checkpoint(&mut self, device: &Device) {
        if self.folder.is_none() || self.written.elapsed() < self.pause {
            return;
        }
        let started = Instant::now();
        let status = if self.status == Status::Complete { Status::Partial } else { self.status };
        self.write(device, status, false);
        self.pause = PAUSE.max(started.elapsed() * SHARE);
    }

    /// A limit was reached, or the program was interrupted: writes the results so far and ends the process. It continues only if
    /// it handles Ctrl-C itself.
    pub fn stop(&mut self, device: &Device, error: &Error) {
        let expired = self.board.as_ref().and_then(|board| board.stopped()) == Some(Stop::Timeout);
        let limit = expired || error.class() == Class::Limit;
        if self.status == Status::Complete {
            self.status = Status::Partial;
        }
        let found = if expired {
            vec![plain("limit", "the time limit is reached".to_owned())]
        } else {
            diagnostics(error)
        };
        if self.diagnostics.iter().all(|known| known.code != found[0].code) {
            self.diagnose(found);
        }
        self.write(device, self.status, true);
        if limit {
            if let Some(board) = &self.board {
                board.limit_reached();
            } else {
                eprintln!("warpwatt: {error}");
            }
            // What the program printed is part of what there is. Its own clean-up is not run: it could wait for kernels.
            // SAFETY: plain C calls.
            unsafe {
                libc::fflush(std::ptr::null_mut());
                libc::_exit(LIMIT);
            }
        }
        if let Some(signal) = interrupt::caught().or(self.own_interrupt.then_some(libc::SIGINT)) {
            // SAFETY: a plain C call.
            unsafe { libc::fflush(std::ptr::null_mut()) };
            interrupt::die(signal);
        }
        self.obeyed = true;
        self.interrupt.store(false, Ordering::Relaxed);
    }

    /// The process ends by itself.
    pub fn end(&mut self, device: &Device) {
        for notice in device.notices() {
            eprintln!("warpwatt: {}", notice.message);
            self.diagnose(vec![notice_diagnostic(&notice)]);
        }
        self.write(device, self.status, true);
    }

    fn write(&mut self, device: &Device, status: Status, with_texts: bool) {
        let Some(folder) = self.folder.clone() else { return };
        let part = self.part(device, status, with_texts);
        let traffic = self.traffic.as_ref().filter(|_| with_texts);
        let noted = traffic.map(|log| device.with_traffic(log, Traffic::to_bytes));
        let written = noted.map_or(Ok(()), |bytes| std::fs::write(traffic_path(&folder, self.number), bytes));
        if let Err(error) = written.and_then(|()| part.write(&folder, self.number)) {
            self.complain(&folder, &error);
        }
        self.written = Instant::now();
    }

    fn complain(&mut self, folder: &Path, error: &std::io::Error) {
        // Without its folder there is no `exec` any more that would want the part.
        if folder.exists() {
            eprintln!("warpwatt: the results of this process cannot be written: {error}");
        }
        self.folder = None;
    }

    fn part(&self, device: &Device, status: Status, with_texts: bool) -> Part {
        let launches = self.collector.launches();
        let (kernels, sums) = (launches.kernels.clone(), launches.sums.clone());
        drop(launches);
        let mut texts: Vec<Text> = Vec::new();
        if with_texts {
            texts.extend(sums.places().filter_map(|(file, line)| {
                Some((file.to_owned(), line, device.source_line(file, line)?.to_owned()))
            }));
        }
        let whole = Whole::of(device).map(|whole| (whole.cycles, whole.counters));
        let (diagnostics, ptx) = (self.diagnostics.clone(), self.ptx.clone());
        let counts = device.counted_instructions().filter(|_| with_texts).map(Profile::to_text);
        Part { status, kernels, sums, whole, diagnostics, ptx, texts, copies: copies(device), counts }
    }
}

/// The request of `exec` to the program.
pub struct Wish {
    board: Option<Arc<Board>>,
    interrupt: Arc<AtomicBool>,
}

impl Wish {
    /// Stops the running kernel if `exec` has requested the program to stop.
    pub fn pass_on(&self) {
        if self.board.as_ref().is_some_and(|board| board.stopped().is_some()) {
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}

fn plain(code: &str, message: String) -> Diagnostic {
    Diagnostic {
        code: code.to_owned(),
        severity: Severity::Error,
        file: None,
        line: None,
        column: None,
        message,
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use warpwatt_config::Config;
    use warpwatt_record::{SETTINGS_FILE, Settings};
    use warpwatt_runtime::{Args, LaunchConfig, Options};

    use super::*;

    #[test]
    fn a_process_leaves_its_part_and_numbers_do_not_repeat() {
        let folder = std::env::temp_dir().join(format!("warpwatt-process-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder can be made");
        Board::create(&folder.join(BOARD_FILE)).expect("it can be made");
        let settings = Settings::new("gtx480", &Config::default(), None);
        settings.write(&folder.join(SETTINGS_FILE)).expect("it can be written");
        let session = Session::of(&settings, Some(folder.clone())).expect("it is legal");
        let (mut first, mut second) = (Process::new(&session, false), Process::new(&session, false));
        assert_eq!((first.number, second.number), (1, 2));
        let device = Device::with(Options::default(), first.observer()).expect("a device can be made");
        first.loaded(".version 7.8");
        first.checkpoint(&device);
        first.end(&device);
        second.bug("odd");
        second.end(&device);
        let parts = Part::read_all(&folder).expect("they can be read");
        let [(1, Some(one)), (2, Some(two))] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((one.status, one.ptx.len(), one.kernels.len()), (Status::Complete, 1, 0));
        assert_eq!((two.status, two.diagnostics[0].code.as_str()), (Status::Failed, "internal"));

        assert!(!first.stop_requested());
        let board = Board::open(&folder.join(BOARD_FILE)).expect("it is there");
        let wish = first.wish();
        wish.pass_on();
        assert!(!session.options.interrupt.load(Ordering::Relaxed), "no options were given");
        board.stop(Stop::Interrupt);
        wish.pass_on();
        assert!(session.options.interrupt.swap(false, Ordering::Relaxed));
        assert!(second.stop_requested() && session.options.interrupt.load(Ordering::Relaxed));
        // A program with its own handler continues, and its part records the interrupt.
        first.stop(&device, &Error::Interrupted { kernel: "k".to_owned() });
        let parts = Part::read_all(&folder).expect("they can be read");
        assert_eq!(parts[0].1.as_ref().map(|part| part.status), Some(Status::Partial));
        std::fs::remove_dir_all(&folder).expect("it can be removed");
        second.end(&device);
        assert_eq!(second.folder, None, "the session has ended");
    }

    /// `exec --write-profile` adds up what the parts of processes have.
    #[test]
    fn instructions_of_functional_launches_are_counted_where_that_is_wanted() {
        const PTX: &str = ".version 7.8\n.target sm_75\n.address_size 64\n\
            .visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n\
            ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
        for counts in [false, true] {
            let folder =
                std::env::temp_dir().join(format!("warpwatt-counts-{}-{counts}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).expect("a folder can be made");
            let settings = Settings { counts, ..Settings::new("gtx480", &Config::default(), None) };
            let session = Session::of(&settings, Some(folder.clone())).expect("it is legal");
            let mut process = Process::new(&session, false);
            let mut device = Device::with(session.options.clone(), process.observer()).expect("a device");
            process.note_traffic(&session, &mut device);
            let module = device.load_module("k.ptx", PTX).expect("the text is PTX");
            let p = device.alloc(4).expect("there is room");
            for _ in 0..3 {
                let launch = LaunchConfig::new(2, 64);
                device.launch(module, "k", &launch, &Args::new().ptr(p)).expect("the kernel runs");
            }
            device.synchronize().expect("the kernels end");
            process.end(&device);
            let parts = Part::read_all(&folder).expect("they can be read");
            let text = parts[0].1.as_ref().expect("it was written").counts.as_deref();
            assert_eq!(text.is_some(), counts);
            if let Some(text) = text {
                assert!(Profile::from_text(text).is_ok());
                let line = text.lines().find(|line| line.starts_with("kernel k code ")).expect("a kernel");
                // Three launches of two blocks of two warps.
                assert!(line.split(' ').skip(4).all(|count| count == "12"), "{line}");
            }
            std::fs::remove_dir_all(&folder).expect("it can be removed");
        }
    }
}
