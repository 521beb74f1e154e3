//! Saved runs: whatever a store holds as the snapshot of a run is refused or is a state that can go on.

use std::sync::{Arc, OnceLock};

use jaren_durable::{MemoryStorage, Session, SessionId, Singleton, Storage};
use jaren_engine::core::{Input, Output, Phase, RunState};
use jaren_engine::{Engine, Failure, Rebind, RunView, Tasks};
use jaren_flow::DeclaredTasks;
use jaren_flow::workflow::Workflow;
use jaren_json::{Value, value};
use tokio::runtime::{Builder, Runtime};

/// The run that the cases save.
const RUN: &str = "run-1";
const SNAPSHOT: Singleton = Singleton::new("jaren.run.snapshot", 1);
const DEFINITION: Singleton = Singleton::new("jaren.run.definition", 1);

/// How often a run that was restored is moved on.
const STEPS: usize = 8;

/// A snapshot under its workflow. A text in the place of an identity stands for the true one: a fuzzer finds none.
pub fn saved(document: &Value, snapshot: &Value) {
    let Ok(workflow) = Workflow::compile(document, &DeclaredTasks) else { return };
    let snapshot = with_identities(&workflow, snapshot);
    let input = snapshot.get("context").and_then(|context| context.get("input")).cloned().unwrap_or_default();
    for restored in [RunState::restore, RunState::restore_stored] {
        if let Ok(state) = restored(workflow.clone(), RUN, &snapshot, &input) {
            resumes(&workflow, &state, &input);
            go_on(&workflow, state, &input);
        }
    }
    stored(document, &snapshot);
}

fn with_identities(workflow: &Workflow, snapshot: &Value) -> Value {
    let Some(members) = snapshot.as_object() else { return snapshot.clone() };
    let mut members = members.clone();
    if members.get("identity").is_some_and(|identity| identity.as_str().is_some()) {
        members = members.with("identity", workflow.identity());
    }
    if let Some(pending) = members.get("pending").and_then(Value::as_object).cloned()
        && pending.get("identity").is_some_and(|identity| identity.as_str().is_some())
    {
        let state = pending.get("state").and_then(Value::as_str).unwrap_or_default();
        let input = pending.get("input").cloned().unwrap_or_default();
        let identity = workflow.dag_identity(state, &input).unwrap_or_default();
        members = members.with("pending", Value::Object(pending.with("identity", identity)));
    }
    Value::Object(members)
}

/// What is saved of a state is that state, in both forms.
fn resumes(workflow: &Workflow, state: &RunState, input: &Value) {
    let published = state.snapshot().to_value();
    let stored = state.snapshot().to_stored();
    let again =
        RunState::restore(workflow.clone(), RUN, &published, input).expect("what it publishes resumes");
    assert_eq!(again.snapshot().to_value(), published);
    let again =
        RunState::restore_stored(workflow.clone(), RUN, &stored, input).expect("what it stores resumes");
    assert_eq!(again.snapshot().to_value(), published);
    assert_eq!(RunState::publish(workflow, RUN, &stored).expect("what it stores is published"), published);
}

/// Moves a run on; whatever it saves on the way can be resumed.
fn go_on(workflow: &Workflow, mut state: RunState, input: &Value) {
    let mut next = vec![Input::Begin];
    for turn in 0..STEPS {
        let step = state.step(next.pop().unwrap_or(Input::Due), Some(1e13));
        for output in step.outputs {
            match output {
                Output::Save(save) => {
                    let stored = save.snapshot.to_stored();
                    let again = RunState::restore_stored(workflow.clone(), RUN, &stored, input);
                    assert!(again.is_ok(), "a save point cannot be resumed: {again:?}");
                }
                Output::Start(call) => {
                    let result = if turn % 2 == 0 { Ok(call.input) } else { Err(Failure::new("no")) };
                    let (activation, node) = (call.activation, call.node);
                    next.push(Input::Settled { activation, node, result, ms: 0.0 });
                }
                _ => {}
            }
        }
        match step.phase {
            Phase::More => next.push(Input::Continue),
            Phase::Done(_) | Phase::Failed(_) => return,
            _ => {}
        }
    }
}

/// The same as a store has it: it is read, and bound to another document, or refused.
fn stored(document: &Value, snapshot: &Value) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| Builder::new_current_thread().build().expect("a runtime starts"));
    runtime.block_on(async {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let id = SessionId::new(RUN).expect("the name is plain");
        let mut session = Session::create(Arc::clone(&storage), id, jaren_engine::RUN_KIND);
        let mut draft = session.draft();
        draft.put(&SNAPSHOT, snapshot.clone());
        draft.put(&DEFINITION, value!({ "document": document, "attachment": null, "flags": [] }));
        draft.label("status", "running");
        if session.commit(draft).await.is_err() {
            return;
        }
        let _ = RunView::load(&*storage, RUN).await.map(|view| view.map(|view| view.published()));
        let engine = Engine::new(storage, Tasks::new());
        let other = document.as_object().map(|members| members.with("revision", "another"));
        let other = other.map_or_else(|| document.clone(), Value::Object);
        for rebind in [Rebind::new(other.clone(), "a", "b"), Rebind::new(other, "a", "b").starting_over()] {
            let _ = engine.rebind(RUN, rebind).await;
        }
        let _ = engine.open(RUN).await;
    });
}
