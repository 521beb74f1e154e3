//! `jaren show`: one run as it is stored. It reads only, and reads what no engine would execute, too.

use std::fmt::Write as _;

use jaren::engine::{Bound, PendingEvent, Rebound, RunFailure, RunStatus, RunView};
use jaren::host::{Clock, SystemClock, Timestamp};
use jaren::json::{Object, Str, Value, to_text, value};

use super::execute::{Execution, shown_value, unknown_run, waits_for};
use crate::args;
use crate::exit::Exit;
use crate::moment;
use crate::output::{Output, integer};
use crate::problem::Problem;
use crate::progress::state_name;
use crate::store::{self, Use};
use crate::text;

/// Characters of a result that are shown to people; programs get all of it.
const RESULT_CHARACTERS_MAX: usize = 160;

/// Shows the run.
pub(crate) async fn show(arguments: &args::Show, output: &mut Output) -> Result<Exit, Problem> {
    let (run, path) = (&*arguments.run, &*arguments.store.store);
    let storage = store::open(path, Use::Read)?;
    let execution = Execution { run, path, storage, tasks: None, no_wait: true };
    let view = execution.view().await?.ok_or_else(|| unknown_run(run, path))?;
    output.print(&to_json(&view), || to_text_lines(&view, SystemClock.now().as_millis()));
    Ok(Exit::Success)
}

fn to_json(view: &RunView) -> Value {
    let waiting = (view.status == RunStatus::Waiting).then(|| {
        value!({
            "events": view.events.iter().map(Str::as_str).collect::<Value>(),
            "until": view.deadline.map(|at| integer(at.as_millis())),
        })
    });
    let visits: Object = view.visits.iter().map(|(state, count)| (state.as_str(), integer(*count))).collect();
    let tasks = view.attachment.get("tasks").cloned().unwrap_or_default();
    value!({
        "type": "run",
        "run": view.id.as_str(),
        "status": view.status.as_str(),
        "revision": view.revision.as_str(),
        "state": view.state.as_str(),
        "visits": visits,
        "waiting": waiting,
        "pending": view.inbox.iter().map(pending_json).collect::<Value>(),
        "failure": view.failure.as_ref().map(failure_json),
        "input": &view.input,
        "data": &view.data,
        "results": view.results.clone(),
        "result": view.result.clone(),
        "tasks": tasks,
        "rebinds": view.rebinds.iter().map(rebound_json).collect::<Value>(),
        "created": integer(view.created.as_millis()),
        "updated": integer(view.updated.as_millis()),
    })
}

/// One rebinding of a run.
pub(super) fn rebound_json(rebound: &Rebound) -> Value {
    let bound =
        |bound: &Bound| value!({ "revision": bound.revision.as_str(), "digest": bound.digest.as_str() });
    value!({
        "actor": rebound.actor.as_str(), "reason": rebound.reason.as_str(), "at": integer(rebound.at.as_millis()),
        "from": bound(&rebound.from), "to": bound(&rebound.to), "startedOver": rebound.started_over,
    })
}

fn pending_json(event: &PendingEvent) -> Value {
    value!({ "id": event.id.as_str(), "event": event.name.as_str(), "payload": &event.payload, "at": integer(event.at.as_millis()) })
}

fn failure_json(failure: &RunFailure) -> Value {
    let task = failure.failure.as_ref().map(|task| {
        value!({
            "code": task.code.as_deref(),
            "message": task.message.as_str(),
            "stderr": task.data.get("stderr").cloned(),
        })
    });
    value!({
        "code": failure.code.as_str(),
        "message": failure.message.as_str(),
        "state": failure.state.as_deref(),
        "node": failure.node.as_deref(),
        "pointer": failure.pointer.as_deref(),
        "task": task,
        "at": integer(failure.at.as_millis()),
    })
}

/// A label and what it labels, aligned.
fn line(out: &mut String, label: &str, value: &str) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{label:<10}{}", text::line(value));
}

fn to_text_lines(view: &RunView, now_ms: i64) -> String {
    let mut out = String::new();
    line(&mut out, "run", &view.id);
    line(&mut out, "status", view.status.as_str());
    line(&mut out, "revision", &view.revision);
    line(&mut out, "state", &state_name(&view.state));
    if view.status == RunStatus::Waiting {
        line(
            &mut out,
            "waits for",
            &waits_for(&view.events, view.deadline.map(Timestamp::as_millis), now_ms),
        );
    }
    for event in &view.inbox {
        line(&mut out, "pending", &format!("event {} ({})", event.name, event.id));
    }
    let visits: Vec<_> =
        view.visits.iter().map(|(state, count)| format!("{} {count}", state_name(state))).collect();
    line(&mut out, "visits", &visits.join(", "));
    let moment = |ms: i64| format!("{} ({})", moment::utc(ms), moment::distance(now_ms, ms));
    line(&mut out, "started", &moment(view.created.as_millis()));
    line(&mut out, "changed", &moment(view.updated.as_millis()));
    if let Some(path) =
        view.attachment.get("tasks").and_then(|tasks| tasks.get("path")).and_then(Value::as_str)
    {
        line(&mut out, "tasks", path);
    }
    for rebound in &view.rebinds {
        let Rebound { actor, reason, from, to, at, .. } = rebound;
        let when = moment::utc(at.as_millis());
        line(
            &mut out,
            "rebound",
            &format!("{} to {} by {actor}, {when}: {reason}", from.revision, to.revision),
        );
    }
    if let Some(failure) = &view.failure {
        failure_lines(&mut out, failure);
    }
    for (state, result) in &view.results {
        line(&mut out, "result", &format!("of {}: {}", state_name(state), shortened(result)));
    }
    if let Some(result) = &view.result {
        out.push_str("result\n");
        out.push_str(&shown_value(result));
        out.push('\n');
    }
    out
}

fn failure_lines(out: &mut String, failure: &RunFailure) {
    let state = failure.state.as_deref().map(state_name).unwrap_or_default();
    let node = failure.node.as_deref().filter(|node| *node != "task").map(|node| format!(", node {node}"));
    line(
        out,
        "failed",
        &format!("in {state}{}, {}", node.unwrap_or_default(), moment::utc(failure.at.as_millis())),
    );
    let Some(task) = &failure.failure else {
        line(out, "", &format!("{}: {}", failure.code, failure.message));
        return;
    };
    line(out, "", &task.to_string());
    let stderr = task.data.get("stderr").and_then(Value::as_str).unwrap_or_default();
    for said in stderr.lines() {
        line(out, "", &format!("| {said}"));
    }
}

/// A value in one line, cut where it is long.
fn shortened(value: &Value) -> String {
    let whole = to_text(value).unwrap_or_default();
    match whole.char_indices().nth(RESULT_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", whole.get(..end).unwrap_or_default()),
        None => whole,
    }
}
