//! A storage that fails when it is told to: for tests of whatever stands on a storage, and of the laws themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jaren_durable::{
    Answer, Batch, Claim, Job, Outcome, Overlay, Refusal, RefusalKind, Retry, Seq, SessionId, Storage,
    StorageError, StorageErrorKind,
};
use tokio::sync::{RwLock, RwLockWriteGuard};

/// What goes wrong with one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written, and the error says so: it may be tried again.
    Refused,
    /// Nothing is written, and the error says that nobody knows.
    NotWritten,
    /// All is written, and the error says that nobody knows.
    ReplyLost,
    /// The first so many batches are written, and the error says that nobody knows.
    Part(usize),
    /// Nothing is written, and nothing works afterwards: the process died before the commit.
    DiesBefore,
    /// All is written, and nothing works afterwards: the process died after the commit.
    DiesAfter,
    /// All is written, and no answer ever comes.
    Silence,
    /// All is written, late: the writer yields so many times first.
    Delay(u32),
    /// Every batch is refused, as one that is too large for the store.
    Unstorable,
}

impl Fault {
    /// The faults of a commit that a matrix of crashes goes through.
    pub const MATRIX: [Self; 5] =
        [Self::DiesBefore, Self::DiesAfter, Self::ReplyLost, Self::NotWritten, Self::Refused];

    /// Whether the process is dead afterwards.
    pub fn kills(self) -> bool {
        matches!(self, Self::DiesBefore | Self::DiesAfter)
    }

    /// How many batches of a group of `len` are written.
    pub fn writes(self, len: usize) -> usize {
        match self {
            Self::Refused | Self::NotWritten | Self::DiesBefore | Self::Unstorable => 0,
            Self::Part(first) => first.min(len),
            Self::ReplyLost | Self::DiesAfter | Self::Silence | Self::Delay(_) => len,
        }
    }

    /// What the error says about trying again, if an error is what is answered.
    pub fn retry(self) -> Option<Retry> {
        match self {
            Self::Refused => Some(Retry::Safe),
            Self::NotWritten | Self::ReplyLost | Self::Part(_) => Some(Retry::Unknown),
            Self::DiesBefore | Self::DiesAfter => Some(Retry::Never),
            Self::Silence | Self::Delay(_) | Self::Unstorable => None,
        }
    }
}

/// A call beside [`Storage::apply`] that a test lets fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// A read, of whatever.
    Read,
    /// [`Storage::claim`]: nothing is leased.
    Claim,
    /// [`Storage::claim`]: the jobs are leased, and the answer is lost.
    Claimed,
    /// [`Storage::moved`].
    Moved,
}

/// Passes everything on to another storage, but for what is to fail.
#[derive(Debug)]
pub struct Faults {
    under: Arc<dyn Storage>,
    state: Mutex<State>,
    groups: RwLock<()>,
    replies: RwLock<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Groups that were asked for.
    groups: usize,
    next: VecDeque<Option<Fault>>,
    calls: Vec<Call>,
    dead: bool,
}

/// Holds something back until it is dropped.
#[derive(Debug)]
#[must_use = "what is held back goes on when this is dropped"]
pub struct Held<'a>(#[expect(dead_code, reason = "it is the lock that holds")] RwLockWriteGuard<'a, ()>);

impl Faults {
    /// Around a storage, without faults.
    pub fn new(under: Arc<dyn Storage>) -> Arc<Self> {
        let (groups, replies) = (RwLock::new(()), RwLock::new(()));
        Arc::new(Self { under, state: Mutex::default(), groups, replies })
    }

    /// Around a storage, with that fault of the group of that number, counted from 1.
    pub fn at(under: Arc<dyn Storage>, number: usize, fault: Fault) -> Arc<Self> {
        let faults = Self::new(under);
        faults.plan(std::iter::repeat_n(None, number.saturating_sub(1)).chain([Some(fault)]));
        faults
    }

    /// Lets the next groups, one after the other, fail so or (with `None`) pass; those after them pass.
    pub fn plan(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.state().next.extend(faults);
    }

    /// Lets the next call of that sort fail. Nothing else is changed by that, and it may be tried again.
    pub fn fail_next(&self, call: Call) {
        self.state().calls.push(call);
    }

    /// How many groups were asked for, the failed ones among them.
    pub fn groups(&self) -> usize {
        self.state().groups
    }

    /// The storage under it, which is alive whatever happened.
    pub fn survivor(&self) -> Arc<dyn Storage> {
        self.under.clone()
    }

    /// Holds back groups that are asked for from now on, before anything of them happens.
    pub async fn hold_groups(&self) -> Held<'_> {
        Held(self.groups.write().await)
    }

    /// Holds back the answers of what was written and is to be lost.
    pub async fn hold_replies(&self) -> Held<'_> {
        Held(self.replies.write().await)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of the next group.
    fn next(&self) -> Option<Fault> {
        let mut state = self.state();
        state.groups += 1;
        if state.dead {
            return Some(Fault::DiesBefore);
        }
        let fault = state.next.pop_front().flatten();
        state.dead = fault.is_some_and(Fault::kills);
        fault
    }

    /// Fails if the storage is dead, or if the next call of that sort is to fail.
    fn check(&self, call: Call) -> Result<(), StorageError> {
        let mut state = self.state();
        if state.dead {
            return Err(failure(Retry::Never));
        }
        match state.calls.iter().position(|planned| *planned == call) {
            Some(at) => {
                state.calls.remove(at);
                Err(failure(if call == Call::Claimed { Retry::Unknown } else { Retry::Safe }))
            }
            None => Ok(()),
        }
    }

    async fn apply_next(&self, mut group: Vec<Batch>) -> Result<Vec<Outcome>, StorageError> {
        drop(self.groups.read().await);
        let Some(fault) = self.next() else { return self.under.apply(group).await };
        if let Fault::Delay(yields) = fault {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
        }
        let refused = group.iter().map(|_| Outcome::Refused(too_large())).collect();
        group.truncate(fault.writes(group.len()));
        let answer = if group.is_empty() { Ok(refused) } else { self.under.apply(group).await };
        if fault == Fault::ReplyLost {
            drop(self.replies.read().await);
        }
        match fault.retry() {
            Some(retry) => Err(failure(retry)),
            None if fault == Fault::Silence => std::future::pending().await,
            None => answer,
        }
    }
}

/// The error of a storage that fails because a test wants it.
pub fn failure(retry: Retry) -> StorageError {
    StorageError::new(StorageErrorKind::Io, retry, "use the storage", "a test wants it to fail")
}

fn too_large() -> Refusal {
    Refusal::new(None, None, RefusalKind::Limit { what: "bytes of a batch", max: 1, found: 2 })
}

impl Overlay for Faults {
    fn under(&self) -> &dyn Storage {
        &*self.under
    }

    fn apply(&self, group: Vec<Batch>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(self.apply_next(group))
    }

    fn read<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        Box::pin(async move {
            self.check(Call::Read)?;
            answer.await
        })
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Job>> {
        Box::pin(async move {
            self.check(Call::Claim)?;
            let claimed = self.under.claim(claim).await?;
            self.check(Call::Claimed)?;
            Ok(claimed)
        })
    }

    fn moved(&self, session: SessionId, after: Seq) -> Answer<'_, Seq> {
        Box::pin(async move {
            self.check(Call::Moved)?;
            self.under.moved(session, after).await
        })
    }
}
