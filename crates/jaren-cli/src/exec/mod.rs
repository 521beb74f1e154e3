//! Running one command: JSON bytes in, JSON bytes out, bounded in time and size, never outliving this program.
//!
//! A command runs in its own process group. Three things together keep it from going on when this program dies by
//! `kill -9`:
//!
//! 1. The program is started through a small guard (`jaren __exec`, see [`guard`]) that asks the kernel to kill it when
//!    the thread that started it dies. So commands are only started on the main thread, which lives as long as the
//!    program: the runtime is a `current_thread` one.
//! 2. A watcher (`jaren __watch`, see [`watcher`]) knows every running group and kills the whole of it when its pipe
//!    from us closes. This reaches the children of a command too, which the first does not.
//! 3. The guard starts nothing before it has read one byte from us, and we send it when the watcher knows the group.
//!
//! The first exists on Linux alone; elsewhere the watcher does all of it.

pub(crate) mod guard;
mod pipes;
pub(crate) mod watcher;

use std::ffi::OsStr;
use std::fs::File;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use self::pipes::{Carrying, Pipes, Tail, TooMuch};
use self::watcher::Watcher;
use crate::tasks_file::Binding;

/// Variables that every command may see.
const ENV_ALWAYS: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"];
/// How long the pipes may stay open after the command ended: somebody who left its group may hold them.
const PIPES_GRACE: Duration = Duration::from_secs(1);

/// Starts commands and sees that they end.
#[derive(Debug)]
pub(crate) struct Runner {
    watcher: Watcher,
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// It could not be started at all.
    #[error("the command could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// Its end could not be learned.
    #[error("the command's end could not be learned: {0}")]
    Wait(std::io::Error),
    /// It ended with a status other than zero.
    #[error("the command ended with {}", describe(*.0))]
    Status(ExitStatus),
    /// It ran longer than its limit.
    #[error("the command was stopped at its time limit of {} ms (timeout in the tasks file)", .0.as_millis())]
    Timeout(Duration),
    /// It printed more than its limit.
    #[error("the command was stopped because it printed more than {0} bytes (output in the tasks file)")]
    TooMuch(usize),
    /// Nobody waits for it any more.
    #[error("the command was stopped: its answer is not wanted any more")]
    Stopped,
}

/// A command's end, with what it printed on standard error.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What it printed on standard output, or why that is no answer.
    pub(crate) result: Result<Vec<u8>, CommandError>,
    /// The end of its standard error, harmless to print.
    pub(crate) stderr: String,
}

impl Runner {
    /// A runner whose watcher holds `lock` until every command is gone.
    pub(crate) fn start(lock: &File) -> std::io::Result<Self> {
        Ok(Self { watcher: Watcher::start(lock)? })
    }

    /// Runs the command to its end. Must be called on the main thread (see the module's text).
    ///
    /// When `stop` is ready the command is ended. Dropping the future kills the command's group at once.
    pub(crate) async fn run(&self, binding: &Binding, input: &[u8], stop: impl Future<Output = ()>) -> Ended {
        match self.spawn(binding) {
            // The group is dropped before the child: while that is not reaped, its number is nobody else's.
            Ok((mut child, mut group)) => attend(binding, &mut child, &mut group, input, stop).await,
            Err(error) => Ended { result: Err(CommandError::Start(error)), stderr: String::new() },
        }
    }

    fn spawn(&self, binding: &Binding) -> std::io::Result<(Child, Group<'_>)> {
        let mut command = Command::new(guard::program()?);
        command.arg0("jaren").arg(guard::EXEC).arg(std::process::id().to_string()).args(&binding.exec);
        command.current_dir(&binding.dir).env_clear().envs(environment(&binding.env));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let child = command.spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(process_id);
        let pid = pid.ok_or_else(|| std::io::Error::other("the command ended before it was known"))?;
        let group = Group { pid, watcher: &self.watcher, is_reaped: false };
        self.watcher.add(pid)?;
        Ok((child, group))
    }
}

/// A process id that can be one: zero and negative numbers mean something else to `kill`.
pub(crate) fn process_id(raw: i32) -> Option<Pid> {
    if raw > 0 { Pid::from_raw(raw) } else { None }
}

/// The variables a command sees: the usual ones, the locale, and those that its binding names.
fn environment(allowed: &[String]) -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os().filter(move |(name, _)| {
        let is = |other: &str| name == OsStr::new(other);
        ENV_ALWAYS.iter().any(|other| is(other))
            || allowed.iter().any(|other| is(other))
            || name.as_encoded_bytes().starts_with(b"LC_")
    })
}

/// A running process group; killed when this is dropped.
///
/// Its number is the command's, and is given again once the command is reaped. So it is killed before that, and never
/// after.
#[derive(Debug)]
struct Group<'a> {
    pid: Pid,
    watcher: &'a Watcher,
    is_reaped: bool,
}

impl Group<'_> {
    fn signal(&self, signal: Signal) {
        // The group may be gone already, which is what a signal is sent for.
        let _ = kill_process_group(self.pid, signal);
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !self.is_reaped {
            self.signal(Signal::KILL);
        }
        self.watcher.remove(self.pid);
    }
}

/// Feeds the command, reads what it prints, and ends it where it goes too far.
async fn attend(
    binding: &Binding,
    child: &mut Child,
    group: &mut Group<'_>,
    input: &[u8],
    stop: impl Future<Output = ()>,
) -> Ended {
    let mut output = Vec::new();
    let mut errors = Tail::default();
    let pipes = Pipes::take(child);
    let mut carrying = Carrying::new(pipes.carry(input, &mut output, binding.output_bytes_max, &mut errors));
    let end = end_of(binding, group.pid, &mut carrying, stop).await;
    if end.is_err() {
        ask_to_end(binding, group, &mut carrying).await;
    }
    group.signal(Signal::KILL);
    // It has ended or was killed, so this comes at once.
    let status = child.wait().await;
    group.is_reaped = true;
    let end = end.and_then(|()| status.map_err(CommandError::Wait));
    let rest = timeout(PIPES_GRACE, carrying.rest()).await.unwrap_or(Ok(()));
    drop(carrying);
    let result = match (end, rest) {
        (Ok(_), Err(TooMuch)) => Err(CommandError::TooMuch(binding.output_bytes_max)),
        (Ok(status), Ok(())) if !status.success() => Err(CommandError::Status(status)),
        (Ok(_), Ok(())) => Ok(output),
        (Err(error), _) => Err(error),
    };
    Ended { result, stderr: errors.into_text() }
}

/// Waits until the command ends, or until it must.
async fn end_of(
    binding: &Binding,
    pid: Pid,
    carrying: &mut Carrying<'_>,
    stop: impl Future<Output = ()>,
) -> Result<(), CommandError> {
    let mut ended = std::pin::pin!(ended(pid));
    let mut stop = std::pin::pin!(stop);
    let mut limit = std::pin::pin!(tokio::time::sleep(binding.timeout));
    loop {
        tokio::select! {
            biased;
            () = &mut stop => return Err(CommandError::Stopped),
            carried = carrying.done() => if carried == Err(TooMuch) {
                return Err(CommandError::TooMuch(binding.output_bytes_max));
            },
            ended = &mut ended => return ended.map_err(CommandError::Wait),
            () = &mut limit => return Err(CommandError::Timeout(binding.timeout)),
        }
    }
}

/// Asks the command's group to end, and gives it the time that its binding grants.
async fn ask_to_end(binding: &Binding, group: &Group<'_>, carrying: &mut Carrying<'_>) {
    group.signal(Signal::TERM);
    let mut ended = std::pin::pin!(ended(group.pid));
    let mut grace = std::pin::pin!(tokio::time::sleep(binding.grace));
    loop {
        tokio::select! {
            _ = &mut ended => return,
            () = &mut grace => return,
            // Read on: a command that says goodbye would hang in a full pipe.
            _ = carrying.done() => {}
        }
    }
}

/// Waits until a child of ours has ended, and leaves it to be reaped.
async fn ended(pid: Pid) -> std::io::Result<()> {
    // It listens before it looks, so that no end is missed.
    let mut changes = signal(SignalKind::child())?;
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(pid), look)?.is_none() {
        changes.recv().await;
    }
    Ok(())
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}
