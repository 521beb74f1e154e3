//! `jaren __exec PARENT PROGRAM ARGUMENT…`: becomes a command that dies with the program that started it.
//!
//! It stands between fork and exec because there std offers only an unsafe hook. On Linux it asks for SIGKILL at its
//! parent thread's death, which survives the exec, and then checks that the parent is still the one it was started by:
//! otherwise the parent died before the wish was heard. It reads one byte, the parent's word that the watcher knows it,
//! and becomes the command.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The hidden subcommand's name.
pub(crate) const EXEC: &str = "__exec";
/// The byte that lets the guard go on.
pub(super) const GO: u8 = b'\n';
/// The exit status of a guard that cannot start its program, as shells have it.
const CANNOT_START: u8 = 127;
/// The exit status of a guard whose parent is gone; nobody is left to read it.
const ORPHAN: u8 = 125;

/// The path by which this very program can be started again, even if its file was replaced meanwhile.
pub(super) fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// Becomes the command. Returns only when that is impossible.
pub(crate) fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = args.next().and_then(|id| id.to_str()?.parse::<i32>().ok());
    let Some((parent, program)) = parent.zip(args.next()) else {
        return refuse("the guard is started by jaren itself only");
    };
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        return refuse(&format!("the command cannot be tied to its parent: {error}"));
    }
    let present = rustix::process::getppid().is_some_and(|id| id.as_raw_nonzero().get() == parent);
    if !present || !may_go() {
        return ExitCode::from(ORPHAN);
    }
    let error = Command::new(&program).args(args).exec();
    refuse(&format!("cannot start {}: {error}", program.display()))
}

/// Waits for the parent's word, reading no byte beyond it: the rest is the command's input.
fn may_go() -> bool {
    let mut byte = [0];
    loop {
        match rustix::io::read(io::stdin(), &mut byte) {
            Ok(read) => return read == 1 && byte == [GO],
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn refuse(why: &str) -> ExitCode {
    // The parent keeps this as the failure's detail; if it is gone there is nobody to tell.
    let _ = writeln!(io::stderr(), "jaren: {why}");
    ExitCode::from(CANNOT_START)
}
