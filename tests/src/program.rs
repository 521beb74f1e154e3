//! The built program `jaren`: where it is, and how a suite starts it, waits for it and kills it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long one invocation may take before a suite calls it hung.
const HUNG_AFTER: Duration = Duration::from_mins(1);

/// The program that the same `cargo test --workspace` built, or `JAREN_BIN`.
///
/// # Panics
///
/// When it was not built.
pub fn path() -> PathBuf {
    if let Some(path) = std::env::var_os("JAREN_BIN") {
        return path.into();
    }
    let here = std::env::current_exe().expect("a test knows its own path");
    // target/<profile>/deps/<test> beside target/<profile>/jaren
    let program = here.ancestors().nth(2).expect("a test lies in target/<profile>/deps").join("jaren");
    assert!(program.is_file(), "{} is missing: run `cargo build -p jaren-cli` first", program.display());
    program
}

/// A command that runs the program in a folder, with nothing on its standard input.
pub fn command<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(path());
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program to its end and gives what it printed.
///
/// # Panics
///
/// When it cannot be started or does not end within a minute.
pub fn run<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = command(folder, arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    wait(child)
}

/// Waits for a started program, at most a minute.
///
/// # Panics
///
/// When it does not end.
pub fn wait(mut child: Child) -> Output {
    let until = Instant::now() + HUNG_AFTER;
    // The outputs of these suites are far below a pipe's buffer, so polling cannot deadlock.
    while child.try_wait().expect("a child can be waited for").is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            let output = child.wait_with_output().expect("a killed child ends");
            panic!("the program hung; it had printed {output:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().expect("an ended child has its output")
}
