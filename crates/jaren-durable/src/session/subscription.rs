//! Publications with whole values: a session as it is, then what each commit makes of its documents.
//!
//! What a subscriber gets is drawn from the change log (see [`follow`]), so it is in order and complete, comes after the
//! commit is durable, whoever made it, and costs those who commit nothing (durable B14 to B19, F1, F4).

use std::fmt;
use std::sync::Arc;

use jaren_json::{Value, delta};

use super::{Known, Session};
use crate::{
    Address, At, Change, Commit, DocumentsQuery, Follower, Retention, Seq, SessionError, SessionId, Storage,
    StorageErrorKind, StoredDocument,
};

/// One who follows a session, with all of its documents but those of bulk retention in memory.
///
/// It holds the session's values as of the last publication, and at most one page of commits that it has read ahead,
/// however slow its owner is.
pub struct Subscription {
    session: Session,
    follower: Follower,
}

/// What a subscriber gets next.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Published {
    /// The next commit.
    Commit(Publication),
    /// The commits in between were pruned before they were read: the subscriber's documents are those after `to`.
    Gap {
        /// The last commit before it.
        from: Seq,
        /// The last one in it.
        to: Seq,
    },
}

/// A commit, and what it made of the documents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Publication {
    /// The commit, as the change log has it.
    pub commit: Commit,
    /// The documents that it changed, in the order of the batch; those of bulk retention are counted in the commit.
    pub documents: Vec<PublishedDocument>,
}

/// A document that a commit changed. Its `Debug` leaves out the value and the operations.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct PublishedDocument {
    /// Where it lives.
    pub address: Address,
    /// What reads can see of its past.
    pub retention: Retention,
    /// The commit that created it.
    pub created: Seq,
    /// The schema version of its value; none if the commit ended it.
    pub version: Option<u32>,
    /// Its whole value after the commit; none if the commit ended it.
    pub value: Option<Value>,
    /// What led to it from the value before, also where it was stored whole; none for a new document, for one that
    /// was brought to another schema version, and for one that ended (durable B15).
    pub ops: Vec<delta::Op>,
}

impl fmt::Debug for PublishedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishedDocument")
            .field("address", &self.address)
            .field("retention", &self.retention)
            .field("created", &self.created)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Subscribes to a session: its documents as of one commit, and all commits after that one. None if there is no such
/// session.
///
/// However busy others are, it needs one look at every document and at the commits that were made meanwhile.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use jaren_durable::{MemoryStorage, Published, Session, SessionId, Singleton, Storage, subscribe};
/// # use jaren_json::value;
/// # const ORDER: Singleton = Singleton::new("shop.order", 1);
/// # let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
/// # let mut session = Session::create(storage.clone(), SessionId::new("order-7")?, "shop.order");
/// # let mut draft = session.draft();
/// # draft.put(&ORDER, value!({"total": 12}));
/// # session.commit(draft).await?;
/// let mut orders = subscribe(storage, SessionId::new("order-7")?).await?.expect("it exists");
/// assert_eq!(orders.documents().count(), 1); // as it is now
/// # let mut draft = session.draft();
/// # draft.put(&ORDER, value!({"total": 15}));
/// # session.commit(draft).await?;
/// match orders.next().await? {
///     Published::Commit(publication) => {
///         let order = &publication.documents[0];
///         assert_eq!(order.value, Some(value!({"total": 15})));
///         assert_eq!(order.ops.len(), 1);
///     }
///     _ => println!("some history was pruned before it was read"),
/// }
/// # Ok(())
/// # }
/// ```
pub async fn subscribe(
    storage: Arc<dyn Storage>,
    session: SessionId,
) -> Result<Option<Subscription>, SessionError> {
    let Some(session) = join(storage, session).await? else { return Ok(None) };
    let follower = session.follow();
    Ok(Some(Subscription { session, follower }))
}

impl Subscription {
    /// The session as of the last publication: its head, its labels and kind.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// A document as of the last publication.
    pub fn document(&self, address: &Address) -> Option<&StoredDocument> {
        self.session.view.get(address).living()
    }

    /// Its documents as of the last publication, in the order of their addresses.
    pub fn documents(&self) -> impl Iterator<Item = &StoredDocument> {
        self.session.view.living()
    }

    /// The next commit, once it is durable: each exactly once, by its number.
    ///
    /// Commits that were pruned before they were read are a [`Published::Gap`], never silently absent. If the session
    /// was removed, the error is [`SessionError::Removed`]. Another error loses nothing, nor does dropping the future:
    /// the next call goes on at the same commit.
    pub async fn next(&mut self) -> Result<Published, SessionError> {
        match self.follower.next().await {
            Ok(commit) => Ok(Published::Commit(self.publish(commit)?)),
            Err(error) if error.kind() == StorageErrorKind::NotRetained => self.begin_anew().await,
            Err(error) => Err(error.into()),
        }
    }

    /// The next publication if there is one already, without waiting for a commit.
    pub async fn ready(&mut self) -> Result<Option<Published>, SessionError> {
        match self.follower.ready().await {
            Ok(Some(commit)) => Ok(Some(Published::Commit(self.publish(commit)?))),
            Ok(None) => Ok(None),
            Err(error) if error.kind() == StorageErrorKind::NotRetained => self.begin_anew().await.map(Some),
            Err(error) => Err(error.into()),
        }
    }

    fn publish(&mut self, commit: Commit) -> Result<Publication, SessionError> {
        let view = &self.session.view;
        let before: Vec<Option<StoredDocument>> =
            commit.changes.iter().map(|change| view.get(&change.address).living().cloned()).collect();
        if let Err(error) = self.session.adopt(&commit) {
            self.follower = self.session.follow(); // it is read again
            return Err(error);
        }
        let changes = commit.changes.iter().zip(before);
        let documents = changes.map(|(change, before)| self.changed(change, before.as_ref())).collect();
        Ok(Publication { commit, documents })
    }

    fn changed(&self, change: &Change, before: Option<&StoredDocument>) -> PublishedDocument {
        let Change { address, retention, created, .. } = change;
        let after = self.document(address);
        let ops = match (before, after) {
            (Some(before), Some(after)) if before.version == after.version => {
                delta::diff(&before.value, &after.value)
            }
            _ => Vec::new(),
        };
        PublishedDocument {
            address: address.clone(),
            retention: *retention,
            created: *created,
            version: after.map(|stored| stored.version),
            value: after.map(|stored| stored.value.clone()),
            ops,
        }
    }

    async fn begin_anew(&mut self) -> Result<Published, SessionError> {
        let from = self.session.head();
        let storage = self.session.storage.clone();
        let joined = join(storage, self.session.id.clone()).await?;
        let number = self.session.number();
        self.session = joined.filter(|session| session.number() == number).ok_or(SessionError::Removed)?;
        self.follower = self.session.follow();
        Ok(Published::Gap { from, to: self.session.head() })
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("session", &self.session)
            .field("follower", &self.follower)
            .finish()
    }
}

/// A handle that knows every document of a session, those of bulk retention excepted, as of one commit.
///
/// Others may commit between the reads, so some documents may be read ahead of others; the commits in between then
/// bring the rest to the same point.
async fn join(storage: Arc<dyn Storage>, id: SessionId) -> Result<Option<Session>, SessionError> {
    loop {
        let Some(mut session) = Session::open(storage.clone(), id.clone()).await? else { return Ok(None) };
        session.view.gather();
        session.load_all().await?;
        let Some(record) = storage.session(id.clone()).await? else { return Ok(None) };
        if session.number() != Some(record.number) {
            continue; // it was removed meanwhile, and another one has its name
        }
        match session.catch_up(record.head).await {
            Ok(()) => {
                session.view.complete_all();
                return Ok(Some(session));
            }
            // Pruned meanwhile, or removed.
            Err(SessionError::Storage(error)) if error.kind() == StorageErrorKind::NotRetained => {}
            Err(SessionError::Removed) => {}
            Err(error) => return Err(error),
        }
    }
}

impl Session {
    /// Reads every document as it is at the moment of its reading.
    async fn load_all(&mut self) -> Result<(), SessionError> {
        let mut query = DocumentsQuery::all(self.id.clone());
        loop {
            let page = self.storage.documents(query.clone()).await?;
            query.after = page.items.last().map(|record| record.address.clone());
            for record in page.items.into_iter().filter(|record| record.retention != Retention::Bulk) {
                let address = record.address;
                let found = self.storage.document(self.id.clone(), address.clone(), At::Current).await?;
                // One that ended since it was listed is ended by its commit.
                if found.is_some() && matches!(self.view.get(&address), Known::Unread) {
                    self.view.insert(address, found);
                }
            }
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Adopts the commits up to that one.
    async fn catch_up(&mut self, to: Seq) -> Result<(), SessionError> {
        let mut follower = self.follow();
        while self.head() < to {
            let commit = follower.next().await?;
            self.adopt(&commit)?;
        }
        Ok(())
    }
}
