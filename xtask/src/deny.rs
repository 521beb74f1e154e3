//! Licences, bans, sources and advisories of the dependencies, by cargo-deny.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::ci::Passed;
use crate::run::{Failure, cargo, run};

/// The advisory database comes over the network; a host that answers nothing must not hold up the run.
const FETCH_TIME_MAX: Duration = Duration::from_mins(1);

pub(crate) fn deny() -> Result<Passed, Failure> {
    let installed = cargo(["deny", "--version"]).stdin(Stdio::null()).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        // `.ci/run` installs it. A person's machine need not have it to see the other gates.
        if std::env::var_os("CI").is_some() {
            return Err("cargo-deny is missing: cargo install --locked cargo-deny".to_owned());
        }
        return Ok(Passed::Partly("skipped: cargo install --locked cargo-deny".to_owned()));
    }
    run(&mut cargo(["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]))?;
    if !fetched(&mut cargo(["deny", "fetch", "db"])) {
        return Ok(Passed::Partly("advisories skipped: their database cannot be reached".to_owned()));
    }
    run(&mut cargo(["deny", "--offline", "check", "advisories"]))?;
    Ok(Passed::Fully)
}

/// Whether the advisory database is here and of today.
fn fetched(fetch: &mut Command) -> bool {
    let quiet = fetch.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = quiet.spawn() else { return false };
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if start.elapsed() < FETCH_TIME_MAX => std::thread::sleep(Duration::from_millis(100)),
            // The child is ours and did not end in time; whether the kill came first or its own end does not matter.
            _ => {
                drop(child.kill());
                drop(child.wait());
                return false;
            }
        }
    }
}
