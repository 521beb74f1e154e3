//! Task records in a session: what a change may do to them (durable A11, A27, A29, A35, B32).

use std::collections::BTreeMap;
use std::fmt;

use jaren_json::Value;

use super::conversations::{RecordError, decode, encode, key};
use super::{Records, Task, TaskError, TaskState};
use crate::{Draft, Family, Scope, Seq, Session, SessionError};

pub(super) const TASKS: Family = Family::new("jaren.task", 1).current();
/// Tasks by the caller's own key.
const STARTS: Family = Family::new("jaren.task-start", 1).current();

/// A task to create. Its `Debug` leaves out the input and the checkpoint.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct NewTask {
    /// Its kind, which is not empty.
    pub kind: String,
    /// The version of its code.
    pub version: u32,
    /// What it is started with.
    pub input: Value,
    /// Where it begins.
    pub checkpoint: Value,
    /// Its conversation; an owned task lives in its owner's.
    pub conversation: u64,
    /// The task that owns it.
    pub owner: Option<u64>,
    /// Whether its owner may end before it; an owned task cannot be one.
    pub background: bool,
    /// Whether it is marked to be aborted when the program that drove it ended.
    pub abandon_on_restart: bool,
}

impl fmt::Debug for NewTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewTask")
            .field("kind", &self.kind)
            .field("version", &self.version)
            .field("conversation", &self.conversation)
            .field("owner", &self.owner)
            .field("background", &self.background)
            .field("abandon_on_restart", &self.abandon_on_restart)
            .finish_non_exhaustive()
    }
}

impl NewTask {
    /// A task of a conversation, without an owner.
    pub fn new(kind: &str, version: u32, conversation: u64, input: Value, checkpoint: Value) -> Self {
        let kind = kind.to_owned();
        let (owner, background, abandon_on_restart) = (None, false, false);
        Self { kind, version, input, checkpoint, conversation, owner, background, abandon_on_restart }
    }
}

/// What became of a start by key.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TaskStart {
    /// The change creates the task of that id.
    Created(u64),
    /// A task of that key is alive.
    Attached(Task),
    /// A task of that key has ended.
    Settled(Task),
}

impl Records<'_> {
    /// A committed task.
    pub async fn task(&mut self, id: u64) -> Result<Option<Task>, RecordError> {
        self.session.member(&TASKS, &key(id)).await?.as_ref().map(decode).transpose()
    }

    /// The commit that last wrote a task's record.
    pub async fn task_commit(&mut self, id: u64) -> Result<Option<Seq>, RecordError> {
        let address = TASKS.address(&key(id));
        self.session.value(address.clone(), TASKS.form()).await?; // to know it
        Ok(self.session.known(&address).map(|(seq, _)| seq))
    }

    async fn task_in(&mut self, draft: &Draft, id: u64) -> Result<Option<Task>, RecordError> {
        let address = TASKS.address(&key(id));
        self.candidate(draft, address, TASKS.form()).await?.as_ref().map(decode).transpose()
    }

    /// A task that may own what the change creates.
    pub(super) async fn owner_in(&mut self, draft: &mut Draft, id: u64) -> Result<Task, RecordError> {
        let task = self.task_in(draft, id).await?.ok_or(RecordError::Task(id))?;
        if let Some(what) = ending(&task) {
            return Err(RecordError::Owner { id, what });
        }
        draft.owners().insert(id);
        Ok(task)
    }

    /// Creates a pending task.
    pub async fn create_task(&mut self, draft: &mut Draft, new: NewTask) -> Result<u64, RecordError> {
        if new.kind.is_empty() {
            return Err(RecordError::Kind);
        }
        if self.conversation_in(draft, new.conversation).await?.is_none() {
            return Err(RecordError::Conversation(new.conversation));
        }
        if let Some(owner) = new.owner {
            let owner = self.owner_in(draft, owner).await?;
            if new.background {
                return Err(RecordError::Background);
            }
            if owner.conversation_id != new.conversation {
                return Err(RecordError::Moved(owner.id));
            }
        }
        let id = self.mint(draft).await?;
        let task = Task {
            id,
            conversation_id: new.conversation,
            kind: new.kind,
            version: new.version,
            input: new.input,
            owner: new.owner,
            background: new.background,
            abort: None,
            abandon_on_restart: new.abandon_on_restart,
            started_at: None,
            ended_at: None,
            restarts: 0,
            memos: BTreeMap::new(),
            state: TaskState::Pending { checkpoint: new.checkpoint },
        };
        draft.put_member(&TASKS, &key(id), encode(&task)?);
        Ok(id)
    }

    /// Creates the task of a key, or finds the one that was created with it: whoever starts it again, at the same
    /// time or after a crash, gets the same task (durable B32).
    pub async fn start_task(
        &mut self,
        draft: &mut Draft,
        start: &str,
        new: NewTask,
    ) -> Result<TaskStart, RecordError> {
        let known = self.candidate(draft, STARTS.address(start), STARTS.form()).await?;
        if let Some(id) = known.as_ref().map(decode::<u64>).transpose()? {
            let task = self.task_in(draft, id).await?.ok_or(RecordError::Task(id))?;
            return Ok(if task.is_terminal() { TaskStart::Settled(task) } else { TaskStart::Attached(task) });
        }
        let id = self.create_task(draft, new).await?;
        draft.put_member(&STARTS, start, encode(&id)?);
        Ok(TaskStart::Created(id))
    }

    /// Replaces a task's record; the end of a task ends the documents of its scope in the same commit.
    ///
    /// A terminal record cannot be replaced, nor one that ends in a change that gives it something to own. A task waits
    /// only for tasks that exist; whether they wait for each other in a ring is for whoever drives them to see.
    pub async fn put_task(&mut self, draft: &mut Draft, task: &Task) -> Result<(), RecordError> {
        let before = self.task_in(draft, task.id).await?.ok_or(RecordError::Task(task.id))?;
        if before.is_terminal() {
            return Err(TaskError::Terminal(task.id).into());
        }
        if before.conversation_id != task.conversation_id {
            return Err(RecordError::Moved(task.id));
        }
        if let Some(what) = ending(task)
            && draft.owners().contains(&task.id)
        {
            return Err(RecordError::Owner { id: task.id, what });
        }
        if let TaskState::Waiting { on, .. } = &task.state {
            for awaited in on {
                if self.task_in(draft, *awaited).await?.is_none() {
                    return Err(RecordError::Task(*awaited)); // durable E20
                }
            }
        }
        draft.put_member(&TASKS, &key(task.id), encode(task)?);
        if task.is_terminal() {
            draft.retire_scope(Scope::Task(task.id));
        }
        Ok(())
    }
}

/// A task that has ended, if the change sets a document in its scope: what the first half asks of the second before a
/// commit (durable A37).
pub(crate) async fn ended_scope(session: &mut Session, draft: &Draft) -> Result<Option<u64>, SessionError> {
    for task in draft.task_scopes() {
        let record = session.value(TASKS.address(&key(task)), TASKS.form()).await?;
        let status = record.as_ref().and_then(|record| record.get("state")?.get("status")?.as_str());
        if status == Some("terminal") {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

/// Why a task cannot own anything new, if it cannot.
fn ending(task: &Task) -> Option<&'static str> {
    match task.state {
        TaskState::Terminal { .. } => Some("terminal"),
        TaskState::Completing { .. } => Some("completing"),
        _ if task.abort.is_some() => Some("abort-marked"),
        _ => None,
    }
}
