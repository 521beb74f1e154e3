//! Starting other programs, and the tasks that are nothing but that.

use std::process::{Command, Stdio};

use crate::workspace;

/// What went wrong, as a sentence for the person at the terminal.
pub(crate) type Failure = String;

/// The cargo that started us.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace::root());
    command
}

/// Runs a command to its end without standard input; an error says which command failed.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status})")) }
}

/// Runs a command like [`run`], shows what it prints and answers it.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{shown}` did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    if output.status.success() { Ok(text) } else { Err(format!("`{shown}` failed ({})", output.status)) }
}

/// A command as one would type it.
fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or_else(|| command.get_program()).to_string_lossy().into_owned();
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}

/// The whole test suite. The suites that drive the program find it built: `--workspace` includes its package.
pub(crate) fn test(rest: &[String]) -> Result<(), Failure> {
    run(cargo(["test", "--workspace"]).args(rest))
}

/// The conformance corpus, by its runner. The paths that it is given are meant from where the user is.
pub(crate) fn conformance(rest: &[String]) -> Result<(), Failure> {
    let here = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let mut command = cargo(["run", "--quiet", "--package", "jaren-conformance", "--manifest-path"]);
    command.arg(workspace::root().join("Cargo.toml")).arg("--").args(rest).current_dir(here);
    run(&mut command)
}
