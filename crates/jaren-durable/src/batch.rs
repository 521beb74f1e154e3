//! What a storage is asked to do: groups of batches, each with its conditions and its writes.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use jaren_json::{Value, Written, delta};

use crate::names::check_name;
use crate::{
    Address, Body, BodyError, CommitId, Conflict, JobWrite, LabelChanges, Labels, LeaseCondition, Refusal,
    RefusalKind, Retention, Seq, SessionId, StoredDocument, limits,
};

/// Writes to one or several sessions that happen all or not at all.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The sessions that it touches, each at most once.
    pub sessions: Vec<SessionBatch>,
    /// The jobs that it enqueues, settles or removes, each at most once.
    pub jobs: Vec<JobWrite>,
    /// Leases that must hold when it is applied.
    pub leases: Vec<LeaseCondition>,
}

impl Batch {
    /// A batch that touches nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A batch of one session.
    pub fn one(session: SessionBatch) -> Self {
        Self { sessions: vec![session], ..Self::default() }
    }
}

/// What a batch expects of a session and writes to it; one commit of that session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionBatch {
    /// The session.
    pub session: SessionId,
    /// What must hold when the batch is applied.
    pub expected: Expected,
    /// The [number](crate::SessionRecord::number) that the session must have, if that is known: so a batch that was
    /// planned over a session that was [removed](crate::Upkeep::remove) since is not applied to another one of its name.
    pub number: Option<u64>,
    /// Labels to set, or with `None` to remove; each name at most once.
    pub labels: LabelChanges,
    /// Document writes; each address at most once.
    pub writes: Vec<Write>,
}

impl SessionBatch {
    /// The first commit of a new session of that kind.
    pub fn create(session: SessionId, kind: impl Into<Arc<str>>) -> Self {
        Self::expecting(session, Expected::Absent { kind: kind.into() })
    }

    /// The commit that follows `head`.
    pub fn after(session: SessionId, head: Seq) -> Self {
        Self::expecting(session, Expected::Head(head))
    }

    fn expecting(session: SessionId, expected: Expected) -> Self {
        Self { session, expected, number: None, labels: Vec::new(), writes: Vec::new() }
    }

    /// The same, if the session has that number.
    #[must_use]
    pub fn of(self, number: u64) -> Self {
        Self { number: Some(number), ..self }
    }

    /// Compares what was found, the session's newest commit, with what must hold. Every storage calls it.
    pub fn check_found(&self, found: Option<CommitId>) -> Result<(), Conflict> {
        let meant = found.filter(|found| self.number.is_none_or(|number| number == found.session));
        let holds = match self.expected {
            Expected::Absent { .. } => found.is_none() && self.number.is_none(),
            Expected::Head(head) => meant.is_some_and(|found| found.seq == head),
        };
        if holds {
            return Ok(());
        }
        let found = if self.number.is_some() { meant } else { found };
        Err(Conflict::new(self.session.clone(), self.expected.clone(), found.map(|found| found.seq)))
    }
}

/// The condition of a batch on one session. A storage compares it wholly, so there are no further cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// There is no such session yet; the batch creates it.
    Absent {
        /// The kind of the session that is created.
        kind: Arc<str>,
    },
    /// The session's newest commit is this one.
    Head(Seq),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { .. } => f.write_str("no session"),
            Self::Head(seq) => write!(f, "head {seq}"),
        }
    }
}

/// One document write.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Write {
    /// The whole value: creates the document where none lives, else replaces its value.
    Base {
        /// Where.
        address: Address,
        /// Fixed when the document is created; must not differ later.
        retention: Retention,
        /// The schema version of the value.
        version: u32,
        /// The value ([`Body::base`]).
        body: Body,
    },
    /// A change to the value that lives there.
    ///
    /// A storage takes it as it is, without reading the value: that it applies is the business of whoever plans it.
    /// [`Write::update`] makes one that does, over the value as of the head that the batch expects. One that does not
    /// makes the document unreadable ([`Corrupt`](crate::StorageErrorKind::Corrupt)) from that commit on until a base is
    /// written over it; nothing else suffers.
    Delta {
        /// Where.
        address: Address,
        /// Must be the schema version of the value that it changes.
        version: u32,
        /// The operations ([`Body::delta`]).
        body: Body,
    },
    /// Ends the document that lives there. Another may be created at the address by a later commit.
    Retire {
        /// Where.
        address: Address,
    },
}

impl Write {
    /// The whole value, for a document that is new or that comes to another schema version.
    pub fn base(
        address: Address,
        retention: Retention,
        version: u32,
        value: &Value,
    ) -> Result<Self, BodyError> {
        Ok(Self::Base { address, retention, version, body: Body::base(value)? })
    }

    /// What brings a stored document to another value of its schema version: a delta, or a base where that is due (durable
    /// decision 4); none if the value is equal.
    ///
    /// The document is to be the one as of the head that the batch expects.
    pub fn update(stored: &StoredDocument, value: &Value) -> Result<Option<Self>, BodyError> {
        if stored.value.ptr_eq(value) {
            return Ok(None);
        }
        let ops = delta::diff(&stored.value, value);
        if ops.is_empty() {
            return Ok(None);
        }
        // One of bulk retention is written whole.
        let delta = (stored.retention != Retention::Bulk).then(|| Body::delta(&ops)).transpose()?;
        Self::led_to(stored, value, delta, &[]).map(Some)
    }

    /// The delta that leads from the stored value to the other one, if it has one, or a base where that is due. Some parts of
    /// the value may be written already.
    pub(crate) fn led_to(
        stored: &StoredDocument,
        value: &Value,
        delta: Option<Body>,
        parts: &[Written],
    ) -> Result<Self, BodyError> {
        let (address, version) = (stored.address.clone(), stored.version);
        if let Some(body) = delta.filter(|body| !stored.chain.base_is_due(body.len())) {
            return Ok(Self::Delta { address, version, body });
        }
        let body = Body::base_with(value, parts)?;
        Ok(Self::Base { address, retention: stored.retention, version, body })
    }

    /// Where it writes.
    pub fn address(&self) -> &Address {
        match self {
            Self::Base { address, .. } | Self::Delta { address, .. } | Self::Retire { address } => address,
        }
    }

    pub(crate) fn body_bytes(&self) -> usize {
        match self {
            Self::Base { body, .. } | Self::Delta { body, .. } => body.len(),
            Self::Retire { .. } => 0,
        }
    }
}

impl Batch {
    /// Bytes of all its bodies.
    pub fn body_bytes(&self) -> usize {
        let writes = self.sessions.iter().flat_map(|part| &part.writes);
        let documents = writes.map(Write::body_bytes).fold(0, usize::saturating_add);
        self.jobs.iter().map(JobWrite::body_bytes).fold(documents, usize::saturating_add)
    }

    /// Checks what needs no stored state: limits, names, repetitions. Every storage calls it first.
    pub fn check(&self) -> Result<(), Refusal> {
        limit("sessions of a batch", limits::BATCH_SESSIONS_MAX, self.sessions.len())
            .map_err(|kind| Refusal::new(None, None, kind))?;
        let mut seen = HashSet::new();
        let mut bytes = 0usize;
        for part in &self.sessions {
            let refuse = |kind| Refusal::new(Some(part.session.clone()), None, kind);
            if self.sessions.len() > 1 && !seen.insert(&part.session) {
                return Err(refuse(RefusalKind::Repeated("a session")));
            }
            part.check_labels().map_err(refuse)?;
            part.check_writes()?;
            bytes = part.writes.iter().fold(bytes, |sum, write| sum.saturating_add(write.body_bytes()));
            limit("bytes of a batch", limits::BATCH_BYTES_MAX, bytes).map_err(refuse)?;
        }
        self.check_jobs().map_err(|kind| Refusal::new(None, None, kind))
    }

    fn check_jobs(&self) -> Result<(), RefusalKind> {
        if self.jobs.is_empty() && self.leases.is_empty() {
            return Ok(());
        }
        limit("jobs of a batch", limits::BATCH_JOBS_MAX, self.jobs.len())?;
        limit("leases of a batch", limits::BATCH_JOBS_MAX, self.leases.len())?;
        let mut seen = HashSet::new();
        for write in &self.jobs {
            write.check()?;
            if !seen.insert(write.id()) {
                return Err(RefusalKind::Repeated("a job"));
            }
        }
        limit("bytes of a batch", limits::BATCH_BYTES_MAX, self.body_bytes())
    }
}

impl SessionBatch {
    fn check_labels(&self) -> Result<(), RefusalKind> {
        if let Expected::Absent { kind } = &self.expected {
            check_name("session kind", kind, limits::KIND_BYTES_MAX)?;
        }
        limit("labels of a batch", limits::LABELS_MAX, self.labels.len())?;
        for (at, (name, value)) in self.labels.iter().enumerate() {
            check_name("label name", name, limits::LABEL_NAME_BYTES_MAX)?;
            if let Some(value) = value {
                limit("bytes of a label's value", limits::LABEL_VALUE_BYTES_MAX, value.len())?;
            }
            if self.labels.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(RefusalKind::Repeated("a label"));
            }
        }
        Ok(())
    }

    fn check_writes(&self) -> Result<(), Refusal> {
        let refuse = |address: Option<&Address>, kind| {
            Refusal::new(Some(self.session.clone()), address.cloned(), kind)
        };
        limit("document writes of a session", limits::SESSION_WRITES_MAX, self.writes.len())
            .map_err(|kind| refuse(None, kind))?;
        let mut seen = HashSet::new();
        for write in &self.writes {
            let address = write.address();
            check_write(write).map_err(|kind| refuse(Some(address), kind))?;
            if self.writes.len() > 1 && !seen.insert(address) {
                return Err(refuse(Some(address), RefusalKind::Repeated("a document")));
            }
        }
        Ok(())
    }
}

impl SessionBatch {
    /// The session's labels after this batch, or the refusal when they would be too many.
    pub fn labels_over(&self, current: &Labels) -> Result<Labels, Refusal> {
        let mut labels = current.clone();
        for (name, value) in &self.labels {
            match value {
                Some(value) => labels.insert(name.clone(), value.clone()),
                None => labels.remove(name),
            };
        }
        match limit("labels of a session", limits::LABELS_MAX, labels.len()) {
            Ok(()) => Ok(labels),
            Err(kind) => Err(Refusal::new(Some(self.session.clone()), None, kind)),
        }
    }
}

impl Write {
    /// Checks the write against the document that lives at its address: its schema version and retention.
    pub fn check(&self, living: Option<(u32, Retention)>) -> Result<(), RefusalKind> {
        match (self, living) {
            (Self::Base { retention, .. }, Some((_, fixed))) if *retention != fixed => {
                Err(RefusalKind::Retention)
            }
            (Self::Base { version, .. }, Some((stored, _))) if *version < stored => {
                Err(RefusalKind::Downgrade { stored, found: *version })
            }
            (Self::Delta { .. } | Self::Retire { .. }, None) => Err(RefusalKind::Unknown),
            (Self::Delta { .. }, Some((_, Retention::Bulk))) => Err(RefusalKind::Bulk),
            (Self::Delta { version, .. }, Some((stored, _))) if *version != stored => {
                Err(RefusalKind::Version { stored, found: *version })
            }
            _ => Ok(()),
        }
    }
}

fn check_write(write: &Write) -> Result<(), RefusalKind> {
    let address = write.address();
    check_name("document kind", address.kind(), limits::KIND_BYTES_MAX)?;
    limit("bytes of a key", limits::KEY_BYTES_MAX, address.key().map_or(0, str::len))?;
    limit("bytes of a value or delta", limits::BODY_BYTES_MAX, write.body_bytes())?;
    match write {
        Write::Base { version: 0, .. } | Write::Delta { version: 0, .. } => Err(RefusalKind::VersionZero),
        _ => Ok(()),
    }
}

pub(crate) fn limit(what: &'static str, max: usize, found: usize) -> Result<(), RefusalKind> {
    if found > max { Err(RefusalKind::Limit { what, max, found }) } else { Ok(()) }
}
