//! Laws of jobs: rows beside the documents, leases that fence, claims that share nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{
    Address, Batch, Body, Claim, CommitError, Job, JobCounts, JobExpected, JobState, JobUpdate, JobWrite,
    JobsQuery, LeaseCondition, NewJob, Outcome, RefusalKind, Session, Singleton, Storage, StorageErrorKind,
};
use jaren_host::Timestamp;
use jaren_json::value;

use crate::steps::{
    after, apply, base, commit, conflict, create, head, id, job_conflict, refusal, value, writing,
};

const HOUR: Duration = Duration::from_hours(1);
const INSTANT: Duration = Duration::from_millis(1);

fn new(id: &str) -> NewJob {
    NewJob::new(id, "kit.job", Body::base(&value!({"for": id})).expect("a storable value"))
}

fn enqueue(jobs: impl IntoIterator<Item = NewJob>) -> Batch {
    let mut batch = Batch::new();
    batch.jobs = jobs.into_iter().map(JobWrite::Enqueue).collect();
    batch
}

fn write(write: JobWrite) -> Batch {
    let mut batch = Batch::new();
    batch.jobs.push(write);
    batch
}

fn settle(id: &str, expected: JobExpected, next: JobUpdate) -> Batch {
    write(JobWrite::Update { id: id.into(), expected, next })
}

fn held(token: &str) -> JobExpected {
    JobExpected::Lease(token.into())
}

fn done(job: &Job) -> JobUpdate {
    let detail = Some(Body::base(&value!({"ok": true})).expect("a storable value"));
    let mut next = given_back(job, JobState::Done);
    next.detail = detail;
    next
}

/// What a holder writes who gives a job back in that state.
fn given_back(job: &Job, state: JobState) -> JobUpdate {
    let mut next = job.now.clone();
    (next.state, next.lease) = (state, None);
    next
}

async fn claim(storage: &Arc<dyn Storage>, lease: Duration, tokens: &[&str]) -> Vec<Job> {
    let tokens = tokens.iter().map(|token| (*token).into()).collect();
    storage.claim(Claim::new(vec!["kit.job".into()], "kit", lease, tokens)).await.expect("a claim")
}

async fn job(storage: &Arc<dyn Storage>, id: &str) -> Option<Job> {
    storage.job(id.into()).await.expect("a job")
}

fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| &*job.id).collect()
}

/// A job is enqueued with the documents of its batch or not at all; an id that exists is left alone, and said so.
pub async fn jobs_are_enqueued_once_and_with_their_batch(storage: Arc<dyn Storage>) {
    let state = Address::singleton("kit.state");
    let outbox = |part, jobs: &[&str]| {
        let mut batch = writing(part, [base(&state, &value!({}))]);
        batch.jobs = jobs.iter().map(|id| JobWrite::Enqueue(new(id))).collect();
        batch
    };
    assert_eq!(conflict(apply(&storage, outbox(after("a", 3), &["x"])).await).found, None);
    assert_eq!(job(&storage, "x").await, None);
    let committed = commit(&storage, outbox(create("a"), &["x", "y"])).await;
    assert_eq!(committed.enqueued, [true, true]);
    let x = job(&storage, "x").await.expect("it was enqueued");
    assert_eq!((&*x.kind, x.payload.value().unwrap(), x.version), ("kit.job", value!({"for": "x"}), 1));
    assert_eq!((x.now.state, x.created, x.updated), (JobState::Pending, committed.time, committed.time));

    let mut other = new("x");
    other.kind = "kit.other".into();
    let again = commit(&storage, enqueue([other, new("z")])).await;
    assert_eq!((again.enqueued, job(&storage, "x").await), (vec![false, true], Some(x)));
    let twice = refusal(apply(&storage, enqueue([new("v"), new("v")])).await);
    assert_eq!(twice.kind, RefusalKind::Repeated("a job"));
    let nameless = refusal(apply(&storage, enqueue([new("v"), new("")])).await);
    assert!(matches!(nameless.kind, RefusalKind::Name(_)));
    assert_eq!(job(&storage, "v").await, None);
}

/// While a lease holds nobody else gets the job, its token alone may settle it, and afterwards nothing may; once it
/// has ended the token is worth nothing, and another claim gets the job.
pub async fn a_lease_holds_until_it_ends_or_is_given_back(storage: Arc<dyn Storage>) {
    commit(&storage, enqueue([new("x")])).await;
    let [x] = claim(&storage, HOUR, &["secret"]).await.try_into().expect("one job");
    assert_eq!((x.now.state, x.now.attempts, x.now.generation, x.version), (JobState::Leased, 1, 1, 2));
    let lease = x.now.lease.as_ref().expect("it is leased");
    assert_eq!((&*lease.token, &*lease.owner), ("secret", "kit"));
    assert_eq!(lease.until.since(x.updated), HOUR);
    assert_eq!(job(&storage, "x").await.as_ref(), Some(&x));
    assert!(claim(&storage, HOUR, &["two"]).await.is_empty());

    let found = job_conflict(apply(&storage, settle("x", held("two"), done(&x))).await);
    assert!(!format!("{found} {found:?}").contains("secret"), "a token is told to nobody");
    let found = found.found.expect("there is a job");
    assert_eq!((found.state, found.version, found.until), (JobState::Leased, 2, Some(lease.until)));
    commit(&storage, settle("x", held("secret"), done(&x))).await;
    let settled = job(&storage, "x").await.expect("it stays");
    assert_eq!((settled.now.state, settled.version, settled.now.lease.clone()), (JobState::Done, 3, None));
    assert_eq!(settled.now.detail.as_ref().unwrap().value().unwrap(), value!({"ok": true}));
    job_conflict(apply(&storage, settle("x", held("secret"), done(&x))).await);
    assert!(claim(&storage, HOUR, &["two"]).await.is_empty(), "it is done");

    commit(&storage, enqueue([new("y")])).await;
    let [first] = claim(&storage, INSTANT, &["short"]).await.try_into().expect("one job");
    tokio::time::sleep(Duration::from_millis(20)).await;
    job_conflict(apply(&storage, settle("y", held("short"), done(&first))).await);
    let [second] = claim(&storage, HOUR, &["long"]).await.try_into().expect("it comes back");
    assert_eq!((second.now.attempts, second.now.generation), (2, 2));
    job_conflict(apply(&storage, settle("y", held("short"), done(&first))).await);
}

/// A batch with a lease that does not hold, or over a version that has passed, changes nothing: no document, no job.
pub async fn leases_and_versions_are_conditions_of_a_batch(storage: Arc<dyn Storage>) {
    let state = Address::singleton("kit.state");
    commit(&storage, enqueue([new("x"), new("y")])).await;
    let claimed = claim(&storage, HOUR, &["t1"]).await;
    assert_eq!(ids(&claimed), ["x"]);
    let under = |token: &str, version: u64| {
        let mut batch = writing(create("a"), [base(&state, &value!({}))]);
        batch.leases.push(LeaseCondition::new("x", token));
        let (id, expected) = ("y".into(), JobExpected::Version(version));
        batch.jobs.push(JobWrite::Remove { id, expected });
        batch.jobs.push(JobWrite::Enqueue(new("z")));
        batch
    };
    for (token, version, job) in [("t2", 1, "x"), ("t1", 2, "y")] {
        assert_eq!(&*job_conflict(apply(&storage, under(token, version)).await).job, job);
        assert_eq!(head(&storage, "a").await, None);
    }
    let absent = settle("none", JobExpected::Version(1), done(&claimed[0]));
    assert_eq!(job_conflict(apply(&storage, absent).await).found, None);
    assert!(job(&storage, "y").await.is_some() && job(&storage, "z").await.is_none());
    commit(&storage, under("t1", 1)).await;
    assert_eq!(value(&storage, "a", &state).await, Some(value!({})));
    assert!(job(&storage, "y").await.is_none() && job(&storage, "z").await.is_some());
    let bare = given_back(&claimed[0], JobState::Leased);
    assert_eq!(refusal(apply(&storage, settle("x", held("t1"), bare)).await).kind, RefusalKind::Lease);
}

/// Claims take jobs of their kinds that are due: by priority, then the longest due, then by age and id; and one whose
/// attempts are used up only as long as its lease was given back.
pub async fn claims_take_what_is_due_in_order(storage: Arc<dyn Storage>) {
    let made = |id: &str, priority: i32, run_at: i64| {
        let mut job = new(id);
        (job.priority, job.run_at) = (priority, Timestamp::from_millis(run_at));
        job
    };
    let mut stranger = new("stranger");
    stranger.kind = "kit.other".into();
    let later = made("later", 9, i64::MAX);
    commit(
        &storage,
        enqueue([made("c", 0, 5), made("b", 0, 7), made("a", 0, 7), made("first", 1, 9), stranger, later]),
    )
    .await;
    assert!(claim(&storage, HOUR, &[]).await.is_empty());
    let none = Claim::new(Vec::new(), "kit", HOUR, vec!["t".into()]);
    assert!(storage.claim(none).await.unwrap().is_empty(), "no kind is not any kind");
    assert_eq!(ids(&claim(&storage, HOUR, &["1", "2", "3"]).await), ["first", "c", "a"]);
    assert_eq!(ids(&claim(&storage, HOUR, &["4", "5"]).await), ["b"]);
    let none = Claim::new(vec!["kit.job".into()], "kit", Duration::ZERO, vec!["t".into()]);
    let error = storage.claim(none).await.expect_err("a lease must have a length");
    assert_eq!(error.kind(), StorageErrorKind::Invalid);

    let mut once = new("once");
    once.max_attempts = 1;
    commit(&storage, enqueue([once])).await;
    let [once] = claim(&storage, INSTANT, &["6"]).await.try_into().expect("one job");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(claim(&storage, HOUR, &["7"]).await.is_empty(), "it crashed its workers too often");
    let failed = given_back(&once, JobState::Failed);
    commit(&storage, settle("once", JobExpected::Version(once.version), failed)).await;
    assert_eq!(ids(&claim(&storage, HOUR, &["8"]).await), ["once"]);
}

/// A handle's change carries jobs and stands under leases: both are committed and compared with its documents, and a job
/// alone is a commit.
pub async fn a_change_of_a_handle_carries_jobs_and_leases(storage: Arc<dyn Storage>) {
    const STATE: Singleton = Singleton::new("kit.state", 1);
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    let mut draft = session.draft();
    draft.put(&STATE, value!({"n": 1}));
    draft.job(JobWrite::Enqueue(new("x")));
    assert_eq!(session.commit(draft).await.expect("a commit").enqueued, [true]);
    let mut draft = session.draft();
    draft.job(JobWrite::Enqueue(new("x")));
    let receipt = session.commit(draft).await.expect("a commit");
    assert_eq!((receipt.seq.get(), receipt.enqueued), (2, vec![false]));

    let [x] = claim(&storage, HOUR, &["secret"]).await.try_into().expect("one job");
    for (token, holds) in [("another", false), ("secret", true)] {
        let mut draft = session.draft();
        draft.put(&STATE, value!({"n": 2}));
        draft.under(LeaseCondition::new("x", token));
        let settled = JobWrite::Update { id: "x".into(), expected: held(token), next: done(&x) };
        draft.job(settled);
        match session.commit(draft).await {
            Ok(receipt) => assert!(holds && receipt.seq.get() == 3),
            Err(CommitError::Job(conflict)) => {
                assert!(!holds && &*conflict.job == "x");
                let seen = session.document(&STATE).await.unwrap();
                assert_eq!((head(&storage, "a").await, seen), (Some(2), Some(value!({"n": 1}))));
            }
            other => panic!("expected a commit or a conflict on the job, found {other:?}"),
        }
    }
    assert_eq!(job(&storage, "x").await.expect("it stays").now.state, JobState::Done);
    assert_eq!(value(&storage, "a", &STATE.address()).await, Some(value!({"n": 2})));
}

/// Many claimers at once get each job once.
pub async fn concurrent_claims_share_no_job(storage: Arc<dyn Storage>) {
    const JOBS: usize = 60;
    commit(&storage, enqueue((0..JOBS).map(|n| new(&format!("{n:02}"))))).await;
    let mut claimers = Vec::new();
    for claimer in 0..6 {
        let storage = storage.clone();
        claimers.push(tokio::spawn(async move {
            let mut all = Vec::new();
            for n in 0.. {
                let tokens = [format!("{claimer}-{n}-a"), format!("{claimer}-{n}-b")];
                let claimed = claim(&storage, HOUR, &[&tokens[0], &tokens[1]]).await;
                if claimed.is_empty() {
                    break;
                }
                for job in claimed {
                    let token = job.now.lease.as_ref().expect("a lease").token.clone();
                    let outcome =
                        apply(&storage, settle(&job.id, JobExpected::Lease(token), done(&job))).await;
                    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
                    all.push(job.id);
                }
            }
            all
        }));
    }
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.expect("a claimer ends"));
    }
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (JOBS, JOBS));
}

/// Jobs are listed by the bytes of their ids, whatever the page size, and by state and kind.
pub async fn jobs_are_listed_by_id(storage: Arc<dyn Storage>) {
    let mut names = ["b", "a", "Z", "ü", "10", "9"];
    commit(&storage, enqueue(names.map(new))).await;
    names.sort_unstable();
    assert_eq!(claim(&storage, HOUR, &["1", "2"]).await.len(), 2);
    for limit in [1, 2, 10] {
        let list = async |state| {
            let (mut query, mut found) = (JobsQuery::all(), Vec::new());
            (query.limit, query.state, query.kind) = (limit, state, Some("kit.job".into()));
            loop {
                let page = storage.jobs(query.clone()).await.expect("a page");
                query.after = page.items.last().map(|job| job.id.clone());
                found.extend(page.items.iter().map(|job| job.id.to_string()));
                if !page.more {
                    return found;
                }
            }
        };
        assert_eq!(list(None).await, names);
        assert_eq!(list(Some(JobState::Leased)).await, names[..2]);
        assert_eq!(list(Some(JobState::Pending)).await, names[2..]);
        assert!(list(Some(JobState::Dead)).await.is_empty());
    }
}

/// Jobs are counted by kind, in the order of the kinds, and by state, as they are after each commit.
pub async fn jobs_are_counted_by_kind_and_state(storage: Arc<dyn Storage>) {
    assert!(storage.job_counts().await.unwrap().is_empty());
    let mut other = new("z");
    other.kind = "a.other".into();
    commit(&storage, enqueue([new("a"), new("b"), new("c"), other])).await;
    let [a] = claim(&storage, HOUR, &["t"]).await.try_into().expect("one job");
    commit(&storage, settle("b", JobExpected::Version(1), done(&a))).await;
    let counts = storage.job_counts().await.unwrap();
    let [first, second] = counts.as_slice() else { panic!("two kinds, found {counts:?}") };
    assert_eq!((&*first.kind, &*second.kind), ("a.other", "kit.job"));
    let by_state = |counts: &JobCounts| {
        [JobState::Pending, JobState::Leased, JobState::Failed, JobState::Done].map(|state| counts.of(state))
    };
    assert_eq!((by_state(first), by_state(second)), ([1, 0, 0, 0], [1, 1, 0, 1]));
    let (id, expected) = ("z".into(), JobExpected::Version(1));
    commit(&storage, write(JobWrite::Remove { id, expected })).await;
    assert_eq!(storage.job_counts().await.unwrap(), counts[1..]);
}
