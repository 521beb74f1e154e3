//! What a handler knows about the call that it serves, and what it may ask its host for.

use std::any::Any;
use std::sync::Arc;

use jaren_durable::Retry;
use jaren_host::Timestamp;
use jaren_json::{Str, Value};
use tokio_util::sync::CancellationToken;

use crate::attempt::Lent;
use crate::core::Record;
use crate::failure::Failure;
use crate::resources::{Need, Resources};

/// What a handler knows about the call, beside its `with` and its input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskContext {
    /// The run's id.
    pub run: Str,
    /// The qualified state that the task works for, like `/states/pay`; empty in a stand-alone dag.
    pub state: Str,
    /// How many times the run has entered that state, this time included.
    pub visit: u64,
    /// The dag node; `task` for a work state that names a task directly.
    pub node: Str,
    /// The task's registered name.
    pub task: Str,
    /// The canonical activation key `[run, state, visit]`: the same after a crash and for every attempt, another one on
    /// the next visit. Give it to the outside system that must not act twice. In a dag all nodes of one activation
    /// share it.
    pub key: Str,
    /// 1 for the first time that this handle starts the node in this visit, and one more for each retry; not stored, so
    /// a new process starts at 1.
    pub attempt: u32,
    /// When the attempt's time limit ends, by the engine's clock; none for a task without a limit.
    pub deadline: Option<Timestamp>,
    /// Cancelled when the run is interrupted, a sibling failed or the time limit is over. A handler should then return
    /// soon; a blocking one has to look at it.
    pub cancel: CancellationToken,
    pub(crate) lent: Arc<Lent>,
}

impl TaskContext {
    /// A context for calling a handler by hand, as its unit tests do: of run `run`, state `/states/state`, first visit
    /// and attempt, with these resources.
    pub fn by_hand(task: &str, resources: Resources) -> Self {
        TaskContext {
            run: "run".into(),
            state: "/states/state".into(),
            visit: 1,
            node: "task".into(),
            task: task.into(),
            key: r#"["run","/states/state",1]"#.into(),
            attempt: 1,
            deadline: None,
            cancel: CancellationToken::new(),
            lent: Arc::new(Lent { resources, ..Lent::default() }),
        }
    }

    /// The host's value of that type, from the drive or else from the engine.
    ///
    /// Without one it is a failure (`JE0009`, never to be retried); a task that declares what it needs
    /// ([`Registration::needs`](crate::Registration::needs)) does not come so far.
    pub fn resource<T: Any + Send + Sync>(&self) -> Result<Arc<T>, Failure> {
        self.lent.resources.get().ok_or_else(|| {
            Failure::new(Need::of::<T>().missing()).with_code("JE0009").with_retry(Retry::Never)
        })
    }

    /// Tells whoever watches the run how far the task has come ([`Record::Progress`]). It is not stored. The observer is
    /// called by this thread, before this returns.
    pub fn progress(&self, value: impl Into<Value>) {
        if self.lent.teller.is_watched() {
            self.lent.teller.tell(&Record::Progress {
                state: self.state.clone(),
                visit: self.visit,
                node: self.node.clone(),
                attempt: self.attempt,
                value: value.into(),
            });
        }
    }
}
