//! `jaren send`: stores an event for a run, then executes the run on.

use std::sync::Arc;

use jaren::engine::{Engine, Event, EventFate, Rejection, Sent, Tasks, event_fate};
use jaren::json::value;

use super::execute::{Enter, Execution, holder_name, unknown_run};
use super::resume::remembered_tasks;
use crate::args;
use crate::exit::Exit;
use crate::input;
use crate::lock::Asked;
use crate::output::Output;
use crate::problem::Problem;
use crate::store::{self, Use};
use crate::text;

/// Sends the event. Once it says so, the event is durable, whatever comes afterwards.
pub(crate) async fn send(arguments: &args::Send, output: &mut Output) -> Result<Exit, Problem> {
    let payload = arguments.payload.as_deref().map(|text| input::argument("--payload", text)).transpose()?;
    let storage = store::open(&arguments.store.store, Use::Write)?;
    let mut execution = Execution {
        run: &arguments.run,
        path: &arguments.store.store,
        storage: Arc::clone(&storage),
        tasks: None,
        no_wait: arguments.drive.no_wait,
    };
    let mut event = Event::new(&*arguments.event, payload.unwrap_or_default());
    if let Some(id) = &arguments.id {
        event = event.with_id(id);
    }
    let sent = Engine::new(storage, Tasks::new()).send(&arguments.run, event).await;
    let sent = sent.map_err(|error| execution.problem(&error))?;
    let id = say(arguments, &sent, output)?;

    if arguments.no_run {
        return Ok(Exit::Success);
    }
    let view = execution.view().await?.ok_or_else(|| unknown_run(&arguments.run, &arguments.store.store))?;
    execution.tasks = remembered_tasks(&view, arguments.drive.tasks.as_deref(), output)?;
    match execution.lock().await? {
        Asked::Held(lock) => {
            let exit = execution.drive(lock, Enter::Open, output).await?;
            let fate = event_fate(&*execution.storage, &arguments.run, id).await;
            if fate.map_err(|error| execution.problem(&error))? == Some(EventFate::Ignored) {
                say_ignored(arguments, id, output);
            }
            Ok(exit)
        }
        Asked::Busy(holder) => {
            let object = value!({ "type": "busy", "run": arguments.run.as_str(), "process": holder });
            output.print(&object, || {
                format!("the run is being executed by {}, which takes the event\n", holder_name(holder))
            });
            Ok(Exit::Success)
        }
    }
}

/// Says that a wait met the event and no transition took it.
fn say_ignored(arguments: &args::Send, id: &str, output: &mut Output) {
    let (run, event) = (&*arguments.run, &*arguments.event);
    let object = value!({ "type": "ignored", "run": run, "event": event, "id": id });
    output.print(&object, || {
        format!(
            "the wait ignored event {}: it takes no {} with this payload\n",
            text::line(id),
            text::line(event)
        )
    });
}

/// Says what became of sending the event; gives its id.
fn say<'a>(arguments: &args::Send, sent: &'a Sent, output: &mut Output) -> Result<&'a str, Problem> {
    let run = &*arguments.run;
    let (id, outcome) = match sent {
        Sent::Stored { id } => (id, "stored"),
        Sent::Repeated { id } => (id, "repeated"),
        Sent::Rejected { id, reason } => {
            let why = match reason {
                Rejection::IdTaken => {
                    format!("run {run:?} was sent another event under the id {id:?} before")
                }
                Rejection::Full => format!("run {run:?} has as many events in its inbox as it can keep"),
                _ => format!("run {run:?} is done and takes no more events"),
            };
            return Err(Problem::new(Exit::Conflict, format!("{why}; nothing was stored")));
        }
    };
    let event = &*arguments.event;
    let object =
        value!({ "type": "sent", "run": run, "event": event, "id": id.as_str(), "outcome": outcome });
    output.print(&object, || match sent {
        Sent::Repeated { .. } => format!("event {} was stored before; nothing was added\n", text::line(id)),
        _ => format!("event {} stored\n", text::line(id)),
    });
    Ok(id)
}
