//! The example of the README, run from its own folder.

use crate::ci::Passed;
use crate::run::{Failure, run};
use crate::workspace;

/// Runs every `examples/*/run.sh`: each drives the program from start to end and checks what came out.
pub(crate) fn example() -> Result<Passed, Failure> {
    let folder = workspace::root().join("examples");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut scripts: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path().join("run.sh"))).collect();
    scripts.retain(|script| script.exists());
    scripts.sort();
    if scripts.is_empty() {
        return Err(format!("no folder in {} has a run.sh", folder.display()));
    }
    for script in scripts {
        run(std::process::Command::new("bash").arg(&script).current_dir(workspace::root()))?;
    }
    Ok(Passed::Fully)
}
