//! Generated histories: the same batches on a storage and on the memory storage, and all that can be read compared.

use std::sync::Arc;

use jaren_durable::{
    Address, At, Batch, Body, DocumentRecord, DocumentsQuery, Expected, FamilyQuery, JobExpected, JobState,
    JobUpdate, JobWrite, JobsQuery, Keep, MemoryStorage, NewJob, Order, Outcome, Page, Retention, Scope, Seq,
    SessionBatch, SessionRecord, SessionsQuery, Storage, StorageErrorKind, StoredDocument, Upkeep, Write,
};
use jaren_host::Timestamp;

use crate::draw::Draw;
use crate::steps::{base_of, delta_of, id, retire};

const SESSIONS: [&str; 4] = ["one", "two", "three", "four"];
const SCOPES: [Scope; 4] = [Scope::Session, Scope::Session, Scope::Conversation(3), Scope::Task(30)];
const JOBS: [&str; 4] = ["j1", "j2", "j3", "ü"];
const KINDS: [&str; 2] = ["kit.run", "kit.job"];

/// Runs `groups` groups of random batches from a seed on storages that `next` hands out, one a group, which must all
/// hold the same store (a reopened file, a second storage on it), and on the oracle. Panics with the seed and the
/// group where they differ.
pub async fn compare(seed: u64, groups: u32, mut next: impl FnMut() -> Arc<dyn Storage>) {
    let mut draw = Draw::new(seed);
    let oracle: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for at in 0..groups {
        compare_group(&mut draw, &next(), &oracle, &format!("seed {seed}, group {at}")).await;
    }
}

/// The same, and now and then one session is pruned or removed, and the store is checked and measured.
pub async fn compare_upkeep(seed: u64, groups: u32, mut next: impl FnMut() -> Arc<dyn Upkeep>) {
    let mut draw = Draw::new(seed);
    let oracle: Arc<dyn Upkeep> = Arc::new(MemoryStorage::new());
    let plain: Arc<dyn Storage> = oracle.clone();
    for at in 0..groups {
        let place = format!("seed {seed}, group {at}");
        let upkeep = next();
        let subject: Arc<dyn Storage> = upkeep.clone();
        compare_group(&mut draw, &subject, &plain, &place).await;
        if draw.once_in(4) {
            let (session, keep) = (id(draw.pick(&SESSIONS)), Keep::Newest(draw.below(12)));
            let found = upkeep.prune(session.clone(), keep).await.expect("it is pruned");
            let expected = oracle.prune(session.clone(), keep).await.expect("it is pruned");
            assert_eq!(found, expected, "{place}, {session} pruned to {keep:?}");
            if draw.once_in(4) {
                let head = plain.session(session.clone()).await.expect("a record").map(|record| record.head);
                let head = if draw.once_in(3) { Seq::new(draw.below(9)) } else { head.unwrap_or(Seq::ZERO) };
                let found = upkeep.remove(session.clone(), head).await.expect("an answer");
                let expected = oracle.remove(session.clone(), head).await.expect("an answer");
                assert_eq!(found, expected, "{place}, {session} removed at {head}");
            }
            let report = upkeep.integrity().await.expect("it is checked");
            assert!(report.is_clean(), "{place}: {:?}", report.findings);
            let oracle_report = oracle.integrity().await.expect("it is checked");
            assert_eq!(report, oracle_report, "{place}");
            let size = async |store: &Arc<dyn Upkeep>| store.size().await.expect("it is measured");
            let (found, expected) = (size(&upkeep).await, size(&oracle).await);
            assert_eq!((found.kinds, found.jobs), (expected.kinds, expected.jobs), "{place}");
        }
    }
}

async fn compare_group(draw: &mut Draw, subject: &Arc<dyn Storage>, oracle: &Arc<dyn Storage>, place: &str) {
    let with_jobs = has_jobs(subject).await;
    let group = group(draw, oracle, with_jobs).await;
    let theirs = numbered_by(subject, oracle, group.clone()).await;
    let expected = oracle.apply(group).await.expect("the oracle applies every group");
    let found = subject.apply(theirs).await.unwrap_or_else(|error| panic!("{place}: {error:?}"));
    let timeless = |outcomes: Vec<Outcome>| outcomes.into_iter().map(without_time).collect::<Vec<_>>();
    assert_eq!(timeless(found), timeless(expected), "{place}");
    compare_reads(draw, subject, oracle, place).await;
    if with_jobs {
        compare_jobs(draw, subject, oracle, place).await;
    }
}

/// A storage may go without jobs; then its histories have none.
async fn has_jobs(storage: &Arc<dyn Storage>) -> bool {
    match storage.job_counts().await {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), StorageErrorKind::Unsupported, "{error:?}");
            false
        }
    }
}

/// The same group by the numbers of another storage, whose numbers may have gaps.
async fn numbered_by(
    subject: &Arc<dyn Storage>,
    oracle: &Arc<dyn Storage>,
    mut group: Vec<Batch>,
) -> Vec<Batch> {
    for part in group.iter_mut().flat_map(|batch| &mut batch.sessions) {
        let record = oracle.session(part.session.clone()).await.expect("a record");
        if part.number.is_some() && part.number == record.map(|record| record.number) {
            let record = subject.session(part.session.clone()).await.expect("a record");
            part.number = record.map(|record| record.number);
        }
    }
    group
}

/// Without what is a storage's own: the time, and the numbers of sessions.
fn without_time(mut outcome: Outcome) -> Outcome {
    if let Outcome::Committed(committed) = &mut outcome {
        committed.time = Timestamp::from_millis(0);
        for commit in &mut committed.commits {
            commit.session = 0;
        }
    }
    outcome
}

async fn group(draw: &mut Draw, oracle: &Arc<dyn Storage>, with_jobs: bool) -> Vec<Batch> {
    let mut group = Vec::new();
    for _ in 0..=draw.below(4) {
        let mut batch = Batch::new();
        let first = draw.index(SESSIONS.len());
        for at in 0..=u64::from(draw.once_in(5)) {
            let name = SESSIONS[(first + usize::try_from(at).expect("small")) % SESSIONS.len()];
            batch.sessions.push(part(draw, oracle, name).await);
        }
        if with_jobs && draw.once_in(3) {
            batch.jobs.push(job_write(draw, oracle).await);
        }
        group.push(batch);
    }
    group
}

/// A job is enqueued, or written over its version, which is mostly the right one.
async fn job_write(draw: &mut Draw, oracle: &Arc<dyn Storage>) -> JobWrite {
    let id: Arc<str> = draw.pick(&JOBS).into();
    let found = oracle.job(id.clone()).await.expect("a job");
    let Some(job) = found.filter(|_| !draw.once_in(4)) else {
        let payload = Body::base(&draw.value()).expect("a storable value");
        return JobWrite::Enqueue(NewJob::new(id, draw.pick(&KINDS), payload));
    };
    let expected = JobExpected::Version(job.version + u64::from(draw.once_in(5)));
    if draw.once_in(4) {
        return JobWrite::Remove { id, expected };
    }
    let state = draw.pick(&[JobState::Pending, JobState::Done, JobState::Paused, JobState::Failed]);
    let detail = draw.once_in(2).then(|| Body::base(&draw.value()).expect("a storable value"));
    let (attempts, generation) = (job.now.attempts + 1, job.now.generation + draw.below(2));
    let run_at = Timestamp::from_millis(i64::try_from(draw.below(1000)).expect("small"));
    let mut next = JobUpdate::new(state, run_at);
    (next.attempts, next.generation, next.detail) = (attempts, generation, detail);
    JobWrite::Update { id, expected, next }
}

/// A part of a batch that mostly expects what is there, and mostly writes what can be written.
async fn part(draw: &mut Draw, oracle: &Arc<dyn Storage>, name: &str) -> SessionBatch {
    let record = oracle.session(id(name)).await.expect("a record");
    let mut part = match record.as_ref().map(|record| record.head) {
        Some(head) if !draw.once_in(20) => SessionBatch::after(id(name), head),
        _ => SessionBatch::create(id(name), draw.pick(&KINDS)),
    };
    if let (Expected::Head(head), true) = (&mut part.expected, draw.once_in(8)) {
        *head = head.next();
    }
    if draw.once_in(3) {
        // Mostly the session that is there, and sometimes one that never was.
        part.number = Some(record.filter(|_| !draw.once_in(4)).map_or(u64::MAX, |record| record.number));
    }
    let count = draw.below(4);
    for _ in 0..count {
        let address = address(draw);
        if part.writes.iter().all(|write| write.address() != &address) || draw.once_in(50) {
            part.writes.push(write(draw, oracle, name, address).await);
        }
    }
    if draw.once_in(3) {
        let value = draw.pick(&[None, Some("waiting"), Some("done")]);
        part.labels.push(("status".into(), value.map(Into::into)));
    }
    part
}

fn address(draw: &mut Draw) -> Address {
    let address = match draw.below(5) {
        0 => Address::singleton("kit.state"),
        1 => Address::singleton("kit.newest"),
        2 => Address::member("kit.bulk", draw.pick(&["", "a", "b"])),
        _ => Address::member("kit.f", draw.pick(&["", "a", "b", "a\0b", "ü"])),
    };
    address.within(draw.pick(&SCOPES))
}

async fn write(draw: &mut Draw, oracle: &Arc<dyn Storage>, name: &str, address: Address) -> Write {
    let living = oracle.document(id(name), address.clone(), At::Current).await.expect("a document");
    let retention = match address.kind() {
        "kit.newest" => Retention::Current,
        "kit.bulk" => Retention::Bulk,
        _ => Retention::Full,
    };
    match living {
        Some(_) if draw.once_in(6) => retire(&address),
        Some(stored) if !draw.once_in(if retention == Retention::Bulk { 2 } else { 4 }) => {
            let new = draw.changed(&stored.value);
            let version = if draw.once_in(30) { 9 } else { stored.version };
            delta_of(&address, &stored.value, &new, version)
        }
        None if draw.once_in(30) => retire(&address),
        _ => {
            let version = if draw.once_in(10) { 2 } else { 1 };
            base_of(&address, &draw.value(), retention, version)
        }
    }
}

async fn compare_reads(draw: &mut Draw, subject: &Arc<dyn Storage>, oracle: &Arc<dyn Storage>, place: &str) {
    for name in SESSIONS {
        let found = subject.session(id(name)).await.expect("a record");
        let expected = oracle.session(id(name)).await.expect("a record");
        let head = expected.as_ref().map_or(0, |record| record.head.get());
        assert_eq!(found.map(timeless), expected.map(timeless), "{place}, session {name}");

        let after = Seq::new(draw.below(head + 3)); // the greatest are beyond the head
        let limit = draw.index(5) + 1;
        let log = async |storage: &Arc<dyn Storage>| {
            let mut log = storage.changes(id(name), after, limit).await.map_err(|error| error.kind())?;
            let record = storage.session(id(name)).await.expect("a record");
            for commit in &mut log {
                let number = record.as_ref().map(|record| record.number);
                assert_eq!(Some(commit.session), number, "{place}, log of {name}");
                (commit.time, commit.session) = (Timestamp::from_millis(0), 0);
            }
            Ok::<_, StorageErrorKind>(log)
        };
        assert_eq!(log(subject).await, log(oracle).await, "{place}, log of {name} after {after}");

        let point = if draw.once_in(2) { At::Current } else { At::Seq(Seq::new(draw.below(head + 2))) };
        let address = address(draw);
        let read = async |storage: &Arc<dyn Storage>| {
            storage.document(id(name), address.clone(), point).await.map_err(|error| error.kind())
        };
        assert_eq!(read(subject).await, read(oracle).await, "{place}, {address} of {name} at {point:?}");

        let mut query = FamilyQuery::new(id(name), draw.pick(&["kit.f", "kit.bulk"]));
        (query.at, query.limit, query.scope) = (point, limit, draw.pick(&SCOPES));
        query.order = draw.pick(&[Order::Ascending, Order::Descending]);
        query.after = draw.once_in(2).then(|| "a".into());
        let family = async |storage: &Arc<dyn Storage>| -> Result<Page<StoredDocument>, StorageErrorKind> {
            storage.family(query.clone()).await.map_err(|error| error.kind())
        };
        assert_eq!(family(subject).await, family(oracle).await, "{place}, {query:?}");

        let mut query = DocumentsQuery::new(id(name), draw.pick(&SCOPES));
        (query.at, query.limit) = (point, limit);
        query.after = draw.once_in(2).then(|| Address::member("kit.f", "a"));
        let list = async |storage: &Arc<dyn Storage>, query: &DocumentsQuery| {
            storage.documents(query.clone()).await.map_err(|error| error.kind())
        };
        assert_eq!(list(subject, &query).await, list(oracle, &query).await, "{place}, {query:?}");
        let mut query = DocumentsQuery::all(id(name));
        query.at = point;
        // The order of the scopes is the storage's own.
        let sorted = |page: Result<Page<DocumentRecord>, StorageErrorKind>| {
            page.map(|mut page| {
                page.items.sort_by(|one, other| one.address.cmp(&other.address));
                page
            })
        };
        let (found, expected) = (list(subject, &query).await, list(oracle, &query).await);
        assert_eq!(sorted(found), sorted(expected), "{place}, {query:?}");
    }
    compare_lists(draw, subject, oracle, place).await;
}

/// What is listed of all sessions.
async fn compare_lists(draw: &mut Draw, subject: &Arc<dyn Storage>, oracle: &Arc<dyn Storage>, place: &str) {
    let mut query = SessionsQuery::kind(draw.pick(&KINDS)).limit(draw.index(3) + 1);
    if draw.once_in(2) {
        query = query.label("status", draw.pick(&["waiting", "done"]));
    }
    (query.newest_first, query.after) = (draw.once_in(2), None);
    let beyond = draw.once_in(2).then(|| id(draw.pick(&SESSIONS)));
    let list = async |storage: &Arc<dyn Storage>| {
        let mut query = query.clone();
        if let Some(beyond) = &beyond {
            let record = storage.session(beyond.clone()).await.expect("a record");
            query.after = record.map(|record| record.number);
        }
        let page = storage.sessions(query).await.expect("a page");
        Page::new(page.items.into_iter().map(timeless).collect::<Vec<_>>(), page.more)
    };
    assert_eq!(list(subject).await, list(oracle).await, "{place}, {query:?} beyond {beyond:?}");
}

async fn compare_jobs(draw: &mut Draw, subject: &Arc<dyn Storage>, oracle: &Arc<dyn Storage>, place: &str) {
    let mut jobs = JobsQuery::all();
    (jobs.limit, jobs.after) = (draw.index(5) + 1, draw.once_in(2).then(|| draw.pick(&JOBS).into()));
    jobs.state = draw.once_in(2).then(|| draw.pick(JobState::ALL));
    jobs.kind = draw.once_in(2).then(|| draw.pick(&KINDS).into());
    let list_jobs = async |storage: &Arc<dyn Storage>| {
        let mut page = storage.jobs(jobs.clone()).await.expect("a page");
        for job in &mut page.items {
            (job.created, job.updated) = (Timestamp::from_millis(0), Timestamp::from_millis(0));
        }
        page
    };
    assert_eq!(list_jobs(subject).await, list_jobs(oracle).await, "{place}, {jobs:?}");
    let counts = async |storage: &Arc<dyn Storage>| storage.job_counts().await.expect("jobs are counted");
    assert_eq!(counts(subject).await, counts(oracle).await, "{place}");
}

fn timeless(mut record: SessionRecord) -> SessionRecord {
    (record.created, record.updated) = (Timestamp::from_millis(0), Timestamp::from_millis(0));
    record.number = 0;
    record
}
