//! `jaren prune`: lets go of runs that are done and old. Without `--yes` it only says which.

use std::path::Path;

use jaren::durable::{Removal, SessionRecord, SessionsQuery, Storage, Upkeep};
use jaren::engine::{RUN_KIND, RunStatus};
use jaren::host::{Clock as _, SystemClock, Timestamp};
use jaren::json::{Value, value};
use jaren::sqlite::SqliteStorage;

use crate::args;
use crate::exit::Exit;
use crate::moment;
use crate::output::{Output, integer};
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::text;

/// Lists the runs that are done and did not change since, and removes them if that is asked for.
pub(crate) async fn prune(arguments: &args::Prune, output: &mut Output) -> Result<Exit, Problem> {
    let path = &*arguments.store.store;
    let storage = store::open_file(path, if arguments.yes { Use::Write } else { Use::Read })?;
    let before =
        Timestamp::from_millis(SystemClock.now().as_millis().saturating_sub(arguments.older_than.ms));
    let (mut query, mut found) =
        (SessionsQuery::kind(RUN_KIND).label("status", RunStatus::Done.as_str()), 0u64);
    loop {
        let page = storage.sessions(query.clone()).await.map_err(|error| store::problem(path, &error))?;
        query.after = page.items.last().map(|record| record.number);
        for record in page.items.into_iter().filter(|record| record.updated < before) {
            if !arguments.yes || remove(&storage, path, &record).await? {
                found += 1;
                output.print(&to_json(&record, arguments.yes), || row(&record));
            }
        }
        if !page.more {
            break;
        }
    }
    storage.close().await;
    if !output.is_json() {
        output.print(&Value::Null, || summary(found, arguments.yes));
    }
    Ok(Exit::Success)
}

/// Removes a run as it was listed; one that changed since stays.
async fn remove(storage: &SqliteStorage, path: &Path, record: &SessionRecord) -> Result<bool, Problem> {
    let removal = storage.remove(record.id.clone(), record.head).await;
    Ok(removal.map_err(|error| store::problem(path, &error))? == Removal::Removed)
}

fn to_json(record: &SessionRecord, removed: bool) -> Value {
    value!({
        "type": "pruned",
        "run": record.id.as_str(),
        "updated": integer(record.updated.as_millis()),
        "removed": removed,
    })
}

fn row(record: &SessionRecord) -> String {
    format!("{:<32} {}\n", text::line(record.id.as_str()), moment::utc(record.updated.as_millis()))
}

fn summary(found: u64, removed: bool) -> String {
    let runs = if found == 1 { "1 run".to_owned() } else { format!("{found} runs") };
    match (found, removed) {
        (0, _) => "no runs to prune\n".to_owned(),
        (_, true) => format!("{runs} removed\n"),
        (_, false) => format!("{runs} would be removed; --yes removes them\n"),
    }
}
