//! Reading a stored run back: its definition, its compiled workflow, and its checked state.

use jaren_durable::{Session, Singleton};
use jaren_json::Value;

use crate::core::RunState;
use crate::documents::{DEFINITION, Definition, RUN_KIND, RunStatus, SNAPSHOT, STATUS_LABEL};
use crate::engine::Inner;
use crate::error::EngineError;

/// A stored run, ready to go on.
pub(crate) struct Loaded {
    pub(crate) definition: Definition,
    pub(crate) state: RunState,
}

/// Compiles the stored definition with the engine's tasks and compares everything that the run was saved with
/// before any saved value is used (workflow §4).
pub(crate) async fn load(engine: &Inner, session: &mut Session) -> Result<Loaded, EngineError> {
    let definition = runnable(session).await?;
    let snapshot = required(session, &SNAPSHOT).await?;
    let workflow = engine.compile(&definition.document)?;
    let input = snapshot.get("context").and_then(|context| context.get("input")).cloned().unwrap_or_default();
    let state = RunState::restore_stored(workflow, session.id().as_str(), &snapshot, &input);
    let state = state.map_err(EngineError::of_restore)?;
    let state = state.with_concurrency(engine.concurrency);
    Ok(Loaded { definition, state })
}

/// The definition of a run that this release may move: it knows all that the run pins.
pub(crate) async fn runnable(session: &mut Session) -> Result<Definition, EngineError> {
    let definition = definition(session).await?;
    if let Some(flag) = definition.unknown_flag() {
        return Err(EngineError::unknown_flag(flag));
    }
    if let Some(label) = session.label(STATUS_LABEL).filter(|label| RunStatus::parse(label).is_none()) {
        let message = format!("the run's status {label:?} is none that this release knows; use a newer one");
        return Err(EngineError::unreadable(message));
    }
    Ok(definition)
}

/// The definition of a run's session.
pub(crate) async fn definition(session: &mut Session) -> Result<Definition, EngineError> {
    if session.kind() != RUN_KIND {
        let kind = session.kind();
        let message = format!("the session has the kind {kind:?}, not {RUN_KIND:?}: it is no run");
        return Err(EngineError::unreadable(message));
    }
    definition_of(&required(session, &DEFINITION).await?)
}

/// The definition in its stored form.
pub(crate) fn definition_of(stored: &Value) -> Result<Definition, EngineError> {
    Definition::read(stored)
        .ok_or_else(|| EngineError::unreadable("the run's definition has not its members"))
}

/// The generation that the store holds.
pub(crate) async fn generation(session: &mut Session) -> Result<u64, EngineError> {
    let snapshot = required(session, &SNAPSHOT).await?;
    let generation = snapshot.get("generation").and_then(Value::as_u64);
    generation.ok_or_else(|| EngineError::unreadable("the run's snapshot has no generation"))
}

/// A document that every run has.
pub(crate) async fn required(session: &mut Session, kind: &Singleton) -> Result<Value, EngineError> {
    let found = session.document(kind).await.map_err(EngineError::of_session)?;
    found.ok_or_else(|| missing(kind))
}

pub(crate) fn missing(kind: &Singleton) -> EngineError {
    EngineError::unreadable(format!("the run has no document {}", kind.kind()))
}
