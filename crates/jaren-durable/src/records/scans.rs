//! Lists of a session's records, by their ids and what they are (durable C4, C10).

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::conversations::{CONVERSATIONS, Conversation, RecordError, decode, key};
use super::tasks::TASKS;
use super::{Records, Task};
use crate::{Family, Order, Page, limits};

/// Records that one read brings.
const READ_AHEAD: usize = 256;

/// Which conversations to list; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationsQuery {
    /// Only those whose owner lives in that conversation.
    pub owner_conversation: Option<u64>,
    /// Only those of that task.
    pub owner_task: Option<u64>,
    /// The direction, by their ids.
    pub order: Order,
    /// Only those whose id is beyond it in the direction.
    pub after: Option<u64>,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl ConversationsQuery {
    /// The first page of all conversations, ascending.
    pub fn all() -> Self {
        let (order, limit) = (Order::Ascending, limits::PAGE_ITEMS_MAX);
        Self { owner_conversation: None, owner_task: None, order, after: None, limit }
    }

    fn takes(&self, conversation: &Conversation) -> bool {
        let owner = conversation.owner;
        is(self.owner_conversation, owner.map(|owner| owner.conversation_id))
            && is(self.owner_task, owner.map(|owner| owner.task_id))
    }
}

/// Which tasks to list; all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TasksQuery {
    /// Only those of that conversation.
    pub conversation: Option<u64>,
    /// Only those that this task owns.
    pub owner: Option<u64>,
    /// Only those of that kind.
    pub kind: Option<Arc<str>>,
    /// Only those of that [status](super::TaskState::status).
    pub status: Option<Arc<str>>,
    /// Only those that are marked to be aborted, or that are not.
    pub abort: Option<bool>,
    /// Only those that run in the background, or that do not.
    pub background: Option<bool>,
    /// The direction, by their ids.
    pub order: Order,
    /// Only those whose id is beyond it in the direction.
    pub after: Option<u64>,
    /// At most so many; [`limits::PAGE_ITEMS_MAX`] if greater.
    pub limit: usize,
}

impl TasksQuery {
    /// The first page of all tasks, ascending.
    pub fn all() -> Self {
        Self {
            conversation: None,
            owner: None,
            kind: None,
            status: None,
            abort: None,
            background: None,
            order: Order::Ascending,
            after: None,
            limit: limits::PAGE_ITEMS_MAX,
        }
    }

    /// The first page of the tasks of a status, ascending.
    pub fn of_status(status: &str) -> Self {
        Self { status: Some(status.into()), ..Self::all() }
    }

    fn takes(&self, task: &Task) -> bool {
        is(self.conversation, Some(task.conversation_id))
            && is(self.owner, task.owner)
            && is(self.kind.as_deref(), Some(&task.kind))
            && is(self.status.as_deref(), Some(task.state.status()))
            && is(self.abort, Some(task.abort.is_some()))
            && is(self.background, Some(task.background))
    }
}

/// Whether a condition, if there is one, is met.
fn is<T: PartialEq + Copy>(wanted: Option<T>, found: Option<T>) -> bool {
    wanted.is_none() || wanted == found
}

impl Records<'_> {
    /// Committed conversations, by their ids. It reads those that the query leaves out, too.
    pub async fn conversations(&self, query: &ConversationsQuery) -> Result<Page<Conversation>, RecordError> {
        let takes = |conversation: &Conversation| query.takes(conversation);
        self.scan(&CONVERSATIONS, query.order, query.after, query.limit, takes).await
    }

    /// Committed tasks, by their ids. It reads those that the query leaves out, too.
    pub async fn tasks(&self, query: &TasksQuery) -> Result<Page<Task>, RecordError> {
        self.scan(&TASKS, query.order, query.after, query.limit, |task: &Task| query.takes(task)).await
    }

    async fn scan<T: DeserializeOwned>(
        &self,
        family: &Family,
        order: Order,
        after: Option<u64>,
        limit: usize,
        takes: impl Fn(&T) -> bool,
    ) -> Result<Page<T>, RecordError> {
        let limit = limit.clamp(1, limits::PAGE_ITEMS_MAX);
        let mut after: Option<Arc<str>> = after.map(|id| key(id).into());
        let mut items = Vec::new();
        loop {
            let page = self.session.page(family, order, after, READ_AHEAD.min(limit + 1)).await?;
            for (_, value) in &page.items {
                let record = decode(value)?;
                if takes(&record) {
                    if items.len() == limit {
                        return Ok(Page::new(items, true));
                    }
                    items.push(record);
                }
            }
            if !page.more {
                return Ok(Page::new(items, false));
            }
            after = page.items.last().map(|(key, _)| key.clone());
        }
    }
}
