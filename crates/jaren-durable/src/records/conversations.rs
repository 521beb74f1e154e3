//! Ids, conversations and their entries, each with the checks of its kind.

use std::fmt;
use std::sync::Arc;

use jaren_json::{FromValueError, ToValueError, Value};
use serde::{Deserialize, Serialize};

use super::{Records, TaskError};
use crate::{Draft, Family, Order, Page, Retry, Scope, SessionError, Singleton};

/// The next id of a session.
const IDS: Singleton = Singleton::new("jaren.ids", 1).current();
pub(super) const CONVERSATIONS: Family = Family::new("jaren.conversation", 1);
const ENTRIES: Family = Family::new("jaren.entry", 1).unkept();

/// The root conversation's id; what is minted comes after it.
const ROOT: u64 = 1;
/// The largest id, which a JSON number still holds exactly (durable A4).
const ID_MAX: u64 = (1 << 53) - 1;

/// A transcript scope (durable A8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Conversation {
    /// Its id.
    pub id: u64,
    /// The task that owns it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<ConversationOwner>,
}

/// The task that owns a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationOwner {
    /// The task's conversation.
    pub conversation_id: u64,
    /// The task.
    pub task_id: u64,
}

/// An immutable record of a conversation (durable A13). Its `Debug` leaves out what it says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Entry {
    /// Its id, which orders the conversation.
    pub id: u64,
    /// The conversation.
    pub conversation_id: u64,
    /// Its kind.
    pub kind: String,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The task through whose commit it was appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_task_id: Option<u64>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.id)
            .field("conversation_id", &self.conversation_id)
            .field("kind", &self.kind)
            .field("by_task_id", &self.by_task_id)
            .finish_non_exhaustive()
    }
}

/// An entry to append. Its `Debug` leaves out what it says.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct NewEntry {
    /// Its kind, which is not empty.
    pub kind: String,
    /// What it says.
    pub data: Option<Value>,
    /// The task that appends it.
    pub by_task: Option<u64>,
}

impl NewEntry {
    /// An entry that says nothing further.
    pub fn new(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), data: None, by_task: None }
    }

    /// The same with what it says.
    #[must_use]
    pub fn data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The same as a task's.
    #[must_use]
    pub fn by_task(self, task: u64) -> Self {
        Self { by_task: Some(task), ..self }
    }
}

impl fmt::Debug for NewEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEntry")
            .field("kind", &self.kind)
            .field("by_task", &self.by_task)
            .finish_non_exhaustive()
    }
}

/// A record that cannot be planned; nothing was changed, and the handle goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// All ids are used up.
    #[error("the session's id space is exhausted")]
    Exhausted,
    /// There is no such conversation.
    #[error("conversation {0} does not exist")]
    Conversation(u64),
    /// The root conversation was created before.
    #[error("id {0} already belongs to a conversation")]
    Exists(u64),
    /// There is no such task.
    #[error("task {0} does not exist")]
    Task(u64),
    /// A task that ends cannot own anything new (durable A11).
    #[error("owner task {id} is {what}")]
    Owner {
        /// The task.
        id: u64,
        /// Why it cannot: `terminal`, `completing` or `abort-marked`.
        what: &'static str,
    },
    /// A task's conversation cannot change, and an owned task lives in its owner's.
    #[error("task {0} cannot change conversations; an owned task lives in its owner's")]
    Moved(u64),
    /// A task with an owner cannot run in the background (durable A29).
    #[error("an owned task cannot be a background task")]
    Background,
    /// A kind is empty.
    #[error("the kind of a record must not be empty")]
    Kind,
    /// The task's own rules do not allow it.
    #[error(transparent)]
    Rule(#[from] TaskError),
    /// The stored record is not one.
    #[error("a stored record is not what it should be")]
    Stored(#[source] FromValueError),
    /// The record has a value that JSON cannot express.
    #[error("the record has no JSON form")]
    Form(#[source] ToValueError),
    /// The handle could not be read.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl RecordError {
    /// Whether the same may be tried again: if the handle's read may.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Session(error) => error.retry(),
            _ => Retry::Never,
        }
    }

    /// What went wrong, without the cause.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

/// Keys order as their ids do.
pub(super) fn key(id: u64) -> String {
    format!("{id:016}")
}

pub(super) fn decode<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, RecordError> {
    jaren_json::from_value(value).map_err(RecordError::Stored)
}

pub(super) fn encode(record: &impl Serialize) -> Result<Value, RecordError> {
    jaren_json::to_value(record).map_err(RecordError::Form)
}

fn take_id(draft: &mut Draft, id: u64) -> Result<(), RecordError> {
    if id > ID_MAX {
        return Err(RecordError::Exhausted);
    }
    draft.put(&IDS, encode(&(id + 1))?);
    draft.set_minted();
    Ok(())
}

impl Records<'_> {
    /// The next id of this session, which the change takes: 2 for the first, and each one only once.
    ///
    /// One namespace serves all records (durable A2). An id is taken when the change is committed.
    pub async fn mint(&mut self, draft: &mut Draft) -> Result<u64, RecordError> {
        let stored = self.candidate(draft, IDS.address(), IDS.form()).await?;
        let next = stored.as_ref().map_or(Ok(ROOT + 1), decode)?;
        take_id(draft, next)?;
        Ok(next)
    }

    /// Lets the ids that are minted from now on begin after `id`, which the caller gave away himself.
    pub async fn reserve_id(&mut self, draft: &mut Draft, id: u64) -> Result<(), RecordError> {
        let next = self.mint(draft).await?;
        take_id(draft, next.saturating_sub(1).max(id))
    }

    /// Creates the root conversation, which has the id 1.
    pub async fn create_root_conversation(&mut self, draft: &mut Draft) -> Result<u64, RecordError> {
        if self.conversation_in(draft, ROOT).await?.is_some() {
            return Err(RecordError::Exists(ROOT));
        }
        let record = Conversation { id: ROOT, owner: None };
        draft.put_member(&CONVERSATIONS, &key(ROOT), encode(&record)?);
        Ok(ROOT)
    }

    /// Creates a conversation without an owner, or with a task that neither ends nor is to be aborted (durable A10).
    pub async fn create_conversation(
        &mut self,
        draft: &mut Draft,
        owner: Option<u64>,
    ) -> Result<u64, RecordError> {
        let owner = match owner {
            None => None,
            Some(task_id) => {
                let task = self.owner_in(draft, task_id).await?;
                Some(ConversationOwner { conversation_id: task.conversation_id, task_id })
            }
        };
        let id = self.mint(draft).await?;
        draft.put_member(&CONVERSATIONS, &key(id), encode(&Conversation { id, owner })?);
        Ok(id)
    }

    /// A committed conversation.
    pub async fn conversation(&mut self, id: u64) -> Result<Option<Conversation>, RecordError> {
        self.session.member(&CONVERSATIONS, &key(id)).await?.as_ref().map(decode).transpose()
    }

    /// A conversation that is committed, or created by the change.
    pub(super) async fn conversation_in(
        &mut self,
        draft: &Draft,
        id: u64,
    ) -> Result<Option<Conversation>, RecordError> {
        let address = CONVERSATIONS.address(&key(id));
        self.candidate(draft, address, CONVERSATIONS.form()).await?.as_ref().map(decode).transpose()
    }

    /// Appends an entry to a conversation.
    pub async fn append_entry(
        &mut self,
        draft: &mut Draft,
        conversation: u64,
        entry: NewEntry,
    ) -> Result<u64, RecordError> {
        if entry.kind.is_empty() {
            return Err(RecordError::Kind);
        }
        if self.conversation_in(draft, conversation).await?.is_none() {
            return Err(RecordError::Conversation(conversation));
        }
        let id = self.mint(draft).await?;
        let NewEntry { kind, data, by_task: by_task_id } = entry;
        let record = Entry { id, conversation_id: conversation, kind, data, by_task_id };
        let entries = ENTRIES.within(Scope::Conversation(conversation));
        draft.put_member(&entries, &key(id), encode(&record)?);
        Ok(id)
    }

    /// The entries of a conversation beyond an id, by their ids. A page stays what it was when others append.
    pub async fn entries(
        &mut self,
        conversation: u64,
        order: Order,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Page<Entry>, RecordError> {
        if self.conversation(conversation).await?.is_none() {
            return Err(RecordError::Conversation(conversation));
        }
        let entries = ENTRIES.within(Scope::Conversation(conversation));
        let after: Option<Arc<str>> = after.map(|id| key(id).into());
        let page = self.session.page(&entries, order, after, limit).await?;
        let items = page.items.iter().map(|(_, value)| decode(value)).collect::<Result<_, _>>()?;
        Ok(Page::new(items, page.more))
    }
}
