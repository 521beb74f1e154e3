//! The second half of this crate: records of supervised work, planned as ordinary documents of a session.
//!
//! Three kinds of records stand over the first half, for whoever drives long work for somebody: **conversations** with
//! their immutable **entries**, and supervised **tasks**, which are state machines that some program advances. All share
//! one row of **ids** per session. Storages know nothing of them, and a host that needs none can pass this module by.
//!
//! [`Records`] plans them into a [`Draft`], each with the checks of its kind, and lists what is committed. What a task may
//! become is told by [`Task`] itself, without a session.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use jaren_durable::records::{NewEntry, NewTask, Records};
//! use jaren_durable::{MemoryStorage, Session, SessionId};
//! use jaren_json::value;
//!
//! let mut session = Session::create(Arc::new(MemoryStorage::new()), SessionId::new("desk-1")?, "desk");
//! let mut draft = session.draft();
//! let mut records = Records::of(&mut session);
//! let desk = records.create_root_conversation(&mut draft).await?;
//! records.append_entry(&mut draft, desk, NewEntry::new("note").data(value!("hello"))).await?;
//! let task = NewTask::new("refund", 1, desk, value!({"order": 7}), value!({"phase": "ask"}));
//! records.start_task(&mut draft, "refund-7", task).await?; // once, however often it is asked for
//! session.commit(draft).await?;
//! # Ok(())
//! # }
//! ```
//!
//! What it will not do: it runs no task, waits for none, and decides nothing about time.

mod conversations;
mod scans;
mod task;
mod tasks;

pub use self::conversations::{Conversation, ConversationOwner, Entry, NewEntry, RecordError};
pub use self::scans::{ConversationsQuery, TasksQuery};
pub use self::task::{Abort, Task, TaskError, TaskOutcome, TaskState};
pub(crate) use self::tasks::ended_scope;
pub use self::tasks::{NewTask, TaskStart};
use crate::kinds::Form;
use crate::session::Staged;
use crate::{Address, Draft, Session, SessionError};
use jaren_json::Value;

/// Plans and reads the records of a session through its handle.
#[derive(Debug)]
pub struct Records<'a> {
    session: &'a mut Session,
}

impl<'a> Records<'a> {
    /// Those of the session of that handle.
    pub fn of(session: &'a mut Session) -> Self {
        Self { session }
    }

    /// A document as it is once the change is committed.
    async fn candidate(
        &mut self,
        draft: &Draft,
        address: Address,
        form: Form,
    ) -> Result<Option<Value>, SessionError> {
        match draft.staged(&address) {
            Staged::Untouched => self.session.value(address, form).await,
            Staged::Set(value) => Ok(Some(value.clone())),
            Staged::Ended => Ok(None),
        }
    }
}
