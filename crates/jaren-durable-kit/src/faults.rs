//! A storage that fails when it is told to: for tests of whatever stands on a storage, and of the laws themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jaren_durable::{Batch, BoxFuture, Outcome, Retry, Storage, StorageError, StorageErrorKind};

/// What goes wrong with one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written, and the error says that it may be tried again.
    Before,
    /// Nothing is written, and the error says that nobody knows.
    Lost,
    /// All is written, and the error says that nobody knows.
    After,
    /// All is written, and no answer ever comes.
    Silence,
    /// All is written, late: the writer yields so many times first.
    Delay(u32),
}

/// Passes everything on to another storage, but for the groups that are to fail.
#[derive(Debug)]
pub struct Faults {
    inner: Arc<dyn Storage>,
    next: Mutex<VecDeque<Option<Fault>>>,
}

impl Faults {
    /// Around a storage, without faults.
    pub fn new(inner: Arc<dyn Storage>) -> Arc<Self> {
        Arc::new(Self { inner, next: Mutex::default() })
    }

    /// Lets the next groups, one after the other, fail so or (with `None`) pass; those after them pass.
    pub fn plan(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).extend(faults);
    }

    fn next(&self) -> Option<Fault> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).pop_front().flatten()
    }
}

fn failure(retry: Retry) -> StorageError {
    StorageError::new(StorageErrorKind::Io, retry, "apply a group of batches", "a test wants it to fail")
}

impl Storage for Faults {
    fn apply(&self, group: Vec<Batch>) -> BoxFuture<'_, Result<Vec<Outcome>, StorageError>> {
        Box::pin(async move {
            match self.next() {
                None => self.inner.apply(group).await,
                Some(Fault::Before) => Err(failure(Retry::Safe)),
                Some(Fault::Lost) => Err(failure(Retry::Unknown)),
                Some(Fault::After) => {
                    self.inner.apply(group).await?;
                    Err(failure(Retry::Unknown))
                }
                Some(Fault::Silence) => {
                    self.inner.apply(group).await?;
                    std::future::pending().await
                }
                Some(Fault::Delay(yields)) => {
                    for _ in 0..yields {
                        tokio::task::yield_now().await;
                    }
                    self.inner.apply(group).await
                }
            }
        })
    }

    crate::forward_to! { inner }
}

/// Within an `impl Storage`, passes all methods but `apply` on to the storage in that field.
#[macro_export]
macro_rules! forward_to {
    ($field:ident) => {
        $crate::forward_to! { @each $field;
            session(session: $crate::durable::SessionId) -> Option<$crate::durable::SessionRecord>;
            document(session: $crate::durable::SessionId, address: $crate::durable::Address, at: $crate::durable::At) -> Option<$crate::durable::StoredDocument>;
            family(query: $crate::durable::FamilyQuery) -> $crate::durable::Page<$crate::durable::StoredDocument>;
            documents(query: $crate::durable::DocumentsQuery) -> $crate::durable::Page<$crate::durable::DocumentRecord>;
            sessions(query: $crate::durable::SessionsQuery) -> $crate::durable::Page<$crate::durable::SessionRecord>;
            changes(session: $crate::durable::SessionId, after: $crate::durable::Seq, limit: usize) -> Vec<$crate::durable::Commit>;
            claim(claim: $crate::durable::Claim) -> Vec<$crate::durable::Job>;
            job(id: std::sync::Arc<str>) -> Option<$crate::durable::Job>;
            jobs(query: $crate::durable::JobsQuery) -> $crate::durable::Page<$crate::durable::Job>;
            job_counts() -> Vec<$crate::durable::JobCounts>;
            moved(session: $crate::durable::SessionId, after: $crate::durable::Seq) -> $crate::durable::Seq;
        }
    };
    (@each $field:ident; $($method:ident($($name:ident: $kind:ty),*) -> $answer:ty;)*) => {$(
        fn $method(
            &self,
            $($name: $kind),*
        ) -> $crate::durable::BoxFuture<'_, Result<$answer, $crate::durable::StorageError>> {
            self.$field.$method($($name),*)
        }
    )*};
}
