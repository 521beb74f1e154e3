//! `jaren runs`: the runs of a store, the oldest first.

use jaren::engine::{RunStatus, RunSummary, RunsQuery, runs as page_of_runs};
use jaren::json::{Value, value};

use super::execute::Execution;
use crate::args::{self, Status};
use crate::exit::Exit;
use crate::moment;
use crate::output::{Output, integer};
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::text;

/// Lists the runs, page by page.
pub(crate) async fn runs(arguments: &args::Runs, output: &mut Output) -> Result<Exit, Problem> {
    let path = &*arguments.store.store;
    let execution =
        Execution { run: "", path, storage: store::open(path, Use::Read)?, tasks: None, no_wait: true };
    let mut query = RunsQuery::new();
    if let Some(wanted) = arguments.status {
        query = query.with_status(status(wanted));
    }
    let mut listed = false;
    loop {
        let page = page_of_runs(&*execution.storage, query.clone())
            .await
            .map_err(|error| execution.problem(&error))?;
        for run in &page.runs {
            output.print(&to_json(run), || row(run, !listed));
            listed = true;
        }
        let Some(next) = page.next else { break };
        query = query.after(next);
    }
    if !listed && !output.is_json() {
        output.print(&Value::Null, || "no runs\n".to_owned());
    }
    Ok(Exit::Success)
}

fn status(status: Status) -> RunStatus {
    match status {
        Status::Running => RunStatus::Running,
        Status::Waiting => RunStatus::Waiting,
        Status::Done => RunStatus::Done,
        Status::Failed => RunStatus::Failed,
    }
}

fn to_json(run: &RunSummary) -> Value {
    value!({
        "type": "run",
        "run": run.id.as_str(),
        "status": run.status.as_str(),
        "revision": run.revision.as_str(),
        "created": integer(run.created.as_millis()),
        "updated": integer(run.updated.as_millis()),
    })
}

/// A row of the table, under its head where it is the first one.
fn row(run: &RunSummary, first: bool) -> String {
    let columns = |id: &str, status: &str, revision: &str, changed: &str| {
        format!("{:<32} {status:<8} {changed:<24} {}\n", text::line(id), text::line(revision))
    };
    let head = if first { columns("RUN", "STATUS", "REVISION", "CHANGED") } else { String::new() };
    head + &columns(&run.id, run.status.as_str(), &run.revision, &moment::utc(run.updated.as_millis()))
}
