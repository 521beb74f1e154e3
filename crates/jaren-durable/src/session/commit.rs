//! From a draft to a commit: what has to be known is read, what differs is planned, and what was committed is adopted.

use jaren_host::Timestamp;

use super::draft::Intent;
use super::plan::{Looked, Plan};
use super::{Draft, Session, error};
use crate::records::ended_scope;
use crate::{
    At, Batch, CommitError, CommitId, Conflict, DocumentsQuery, Expected, Outcome, Retry, Seq, SessionBatch,
    SessionError, StorageError, StorageErrorKind, limits,
};

/// A commit that was made through a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// Its number; the head as it was, if there was nothing to write.
    pub seq: Seq,
    /// The storage's time of it.
    pub time: Option<Timestamp>,
    /// For each job that the draft enqueued, in its order, whether it is new; if not, there was one of that id.
    pub enqueued: Vec<bool>,
}

/// What a draft comes to: a part of a batch, for whoever applies that himself.
#[derive(Debug)]
#[must_use = "a plan changes nothing until its batch is applied"]
pub struct Planned {
    /// The commit of the view that it was planned over.
    at: Option<CommitId>,
    plan: Plan,
    batch: Batch,
}

impl Planned {
    /// The batch: the part of the session, and the jobs and leases of the draft. It may be applied as it is, or joined with
    /// others.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }
}

impl Session {
    /// Commits a change; durable when it returns.
    ///
    /// A change that was begun over an older view is a conflict, as is a commit of somebody else in between. After
    /// an error whose retry is unknown, or after this future was dropped, the handle refuses all but
    /// [`refresh`](Self::refresh), because the commit may have happened.
    ///
    /// A change that changes nothing is no commit; then its leases are not compared either.
    pub async fn commit(&mut self, draft: Draft) -> Result<Receipt, CommitError> {
        let planned = self.plan(&draft).await?;
        drop(draft);
        if planned.plan.is_empty()
            && planned.batch.jobs.is_empty()
            && let Some(at) = self.at
        {
            return Ok(Receipt { seq: at.seq, time: self.updated, enqueued: Vec::new() });
        }
        self.apply(planned).await
    }

    /// Plans a change without committing it, for a batch that the caller applies: in a transaction of the host's own, or
    /// together with those of other sessions.
    ///
    /// Once it is committed, [`settle`](Self::settle) moves the view on. A handle that is not told of it stays at its
    /// view, as after anybody else's commit: its next commit is a conflict.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use jaren_durable::{MemoryStorage, Outcome, Session, SessionId, Singleton, Storage};
    /// # use jaren_json::value;
    /// # const STATE: Singleton = Singleton::new("shop.state", 1);
    /// # let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    /// let mut order = Session::create(storage.clone(), SessionId::new("order-7")?, "shop.order");
    /// let mut stock = Session::create(storage.clone(), SessionId::new("stock")?, "shop.stock");
    /// let (mut ordered, mut taken) = (order.draft(), stock.draft());
    /// ordered.put(&STATE, value!({"cups": 2}));
    /// taken.put(&STATE, value!({"cups": 98}));
    /// let (ordered, taken) = (order.plan(&ordered).await?, stock.plan(&taken).await?);
    ///
    /// let mut both = ordered.batch().clone();
    /// both.sessions.extend(taken.batch().sessions.iter().cloned());
    /// let outcome = storage.apply(vec![both]).await?.remove(0); // both or none
    /// if let Outcome::Committed(committed) = outcome {
    ///     order.settle(ordered, committed.commits[0], committed.time)?;
    ///     stock.settle(taken, committed.commits[1], committed.time)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn plan(&mut self, draft: &Draft) -> Result<Planned, CommitError> {
        self.settled()?;
        if draft.at() != self.at {
            return Err(CommitError::Conflict(self.outdated(draft)));
        }
        if let Some(task) = ended_scope(self, draft).await? {
            return Err(CommitError::Ended(task));
        }
        let looked = self.look(draft).await?;
        let mut plan = Plan::new(&self.view, &self.labels, draft, &looked)?;
        let (labels, writes) = plan.part();
        let (session, number) = (self.id.clone(), self.number());
        let part = SessionBatch { session, expected: self.expected(self.at), number, labels, writes };
        let mut batch = Batch::one(part);
        (batch.jobs, batch.leases) = (draft.jobs().to_vec(), draft.leases().to_vec());
        Ok(Planned { at: self.at, plan, batch })
    }

    /// Moves the view on by a plan that was committed, as the commit of that id at that time.
    ///
    /// A plan over another view than the present one, or another commit than the next, is an error of kind `Invalid`, and
    /// changes nothing: [refresh](Self::refresh) instead.
    pub fn settle(
        &mut self,
        planned: Planned,
        commit: CommitId,
        time: Timestamp,
    ) -> Result<Receipt, SessionError> {
        self.settled()?;
        let is_ours = self.number().is_none_or(|number| number == commit.session);
        if planned.at != self.at || !is_ours || commit.seq != self.head().next() {
            let message = "the plan or its commit does not follow the handle's view; refresh the handle";
            let kind = StorageErrorKind::Invalid;
            return Err(StorageError::new(kind, Retry::Never, "settle a plan", message).into());
        }
        Ok(self.adopt_plan(planned.plan, commit, time, Vec::new()))
    }

    fn adopt_plan(&mut self, plan: Plan, commit: CommitId, time: Timestamp, enqueued: Vec<bool>) -> Receipt {
        (self.at, self.updated) = (Some(commit), Some(time));
        plan.adopt(commit.seq, &mut self.view, &mut self.labels);
        Receipt { seq: commit.seq, time: Some(time), enqueued }
    }

    /// Reads what the change needs to know: mostly nothing, because the view has it.
    async fn look(&mut self, draft: &Draft) -> Result<Looked, SessionError> {
        let mut looked = Looked::default();
        for (address, intent) in draft.documents() {
            match intent {
                Intent::Put { .. } if !intent.is_kept() => {}
                Intent::Retire { .. } if !intent.is_kept() => {
                    if self.read(address).await?.is_some() {
                        looked.unkept.insert(address.clone());
                    }
                }
                _ => self.load(address).await?,
            }
        }
        for scope in draft.scopes() {
            let Some(CommitId { seq: head, .. }) = self.at else { break };
            let mut query = DocumentsQuery::new(self.id.clone(), scope);
            query.at = At::Seq(head);
            loop {
                let page = self.storage.documents(query.clone()).await.map_err(error::reading)?;
                query.after = page.items.last().map(|record| record.address.clone());
                looked.scopes.extend(page.items);
                // Beyond this the storage would refuse the batch, so there is no need to hold more.
                if !page.more || looked.scopes.len() > limits::SESSION_WRITES_MAX {
                    break;
                }
            }
        }
        Ok(looked)
    }

    async fn apply(&mut self, planned: Planned) -> Result<Receipt, CommitError> {
        let Planned { plan, batch, .. } = planned;
        self.unsettled = true;
        let answer = self.storage.apply(vec![batch]).await;
        let outcome = match answer.map(|outcomes| outcomes.into_iter().next()) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Err(unanswered("no outcome for the batch").into()),
            Err(error) => {
                self.unsettled = error.retry() == Retry::Unknown;
                return Err(error.into());
            }
        };
        self.unsettled = false;
        match outcome {
            Outcome::Conflict(conflict) => Err(CommitError::Conflict(conflict)),
            Outcome::JobConflict(conflict) => Err(CommitError::Job(Box::new(conflict))),
            Outcome::Refused(refusal) => Err(CommitError::Refused(Box::new(refusal))),
            Outcome::Committed(committed) => {
                let Some(commit) = committed.commits.first().copied() else {
                    self.unsettled = true;
                    return Err(unanswered("no commit for the session").into());
                };
                Ok(self.adopt_plan(plan, commit, committed.time, committed.enqueued))
            }
        }
    }

    /// What a change over that commit expects.
    fn expected(&self, at: Option<CommitId>) -> Expected {
        match at {
            Some(at) => Expected::Head(at.seq),
            None => Expected::Absent { kind: self.kind.clone() },
        }
    }

    fn outdated(&self, draft: &Draft) -> Conflict {
        Conflict::new(self.id.clone(), self.expected(draft.at()), self.at.map(|at| at.seq))
    }
}

/// A storage that breaks its law: what became of the batch is not known.
fn unanswered(what: &str) -> StorageError {
    let message = format!("the storage answered {what}");
    StorageError::new(StorageErrorKind::Corrupt, Retry::Unknown, "commit a change", message)
}
