//! `jaren __watch`: kills the process groups of a program that died without doing it.
//!
//! It reads `+ID` and `-ID` lines from a pipe whose other end only the program holds. At the pipe's end it kills the
//! groups that are left. Its standard output is the run's lock file: the lock is the open file's, so it stays held until
//! the watcher is gone too, and nobody resumes the run beside a command that is still dying. It stands in its own process
//! group, so that a terminal's Ctrl-C does not reach it.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::{guard, process_id};

/// The hidden subcommand's name.
pub(crate) const WATCH: &str = "__watch";
/// How long the watcher waits for killed groups to be gone before it lets the lock go.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The program's end of the watcher.
#[derive(Debug)]
pub(super) struct Watcher {
    process: Child,
    pipe: Mutex<Option<ChildStdin>>,
}

impl Watcher {
    /// Starts the watcher, which holds `lock` from now on as well.
    pub(super) fn start(lock: &File) -> io::Result<Self> {
        let mut process = Command::new(guard::program()?)
            .arg0("jaren")
            .arg(WATCH)
            .stdin(Stdio::piped())
            .stdout(lock.try_clone()?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = Mutex::new(process.stdin.take());
        Ok(Self { process, pipe })
    }

    /// Makes the group known; afterwards it cannot outlive this program.
    pub(super) fn add(&self, group: Pid) -> io::Result<()> {
        self.tell('+', group)
    }

    /// Forgets a group that is gone.
    pub(super) fn remove(&self, group: Pid) {
        // A watcher that died cannot kill a foreign group by mistake.
        let _ = self.tell('-', group);
    }

    fn tell(&self, sign: char, group: Pid) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        // One write of a line this short is atomic.
        pipe.write_all(format!("{sign}{}\n", group.as_raw_nonzero()).as_bytes())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let pipe = self.pipe.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(pipe.take());
        // It ends by itself now; waiting leaves no zombie behind.
        let _ = self.process.wait();
    }
}

/// The watcher's own process.
pub(crate) fn main() -> ExitCode {
    let mut groups = HashSet::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let Some((sign, id)) = line.split_at_checked(1) else { continue };
        let Some(group) = id.parse().ok().and_then(process_id) else { continue };
        if sign == "+" {
            groups.insert(group);
        } else {
            groups.remove(&group);
        }
    }
    for group in &groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
    let since = Instant::now();
    while groups.iter().any(|group| is_alive(*group)) && since.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(1));
    }
    ExitCode::SUCCESS
}

/// Whether a group has a member that can still do something.
///
/// A killed process stays a zombie until somebody reaps it, and in a container that may be nobody. So on Linux the
/// members' states are looked at; a group that is gone altogether is the quick case everywhere.
fn is_alive(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // After the name, which is in parentheses and may hold anything: state, parent, group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = fields.next();
        let member = fields.nth(1).and_then(|id| id.parse().ok()).and_then(process_id) == Some(group);
        member && !matches!(state, Some("Z" | "X"))
    })
}
