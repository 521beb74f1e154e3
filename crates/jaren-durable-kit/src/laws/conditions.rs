//! Laws of applying: conditions, groups, atomicity, concurrency.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use jaren_durable::{
    Address, At, Batch, Body, Committed, Expected, JobWrite, NewJob, Outcome, RefusalKind, Retention, Seq,
    SessionBatch, Storage, StorageErrorKind, limits,
};
use jaren_json::value;

use crate::steps::{
    after, apply, base, base_of, commit, committed, conflict, create, delta_of, head, id, labelling, refusal,
    retire, value, writing,
};

fn note() -> Address {
    Address::singleton("kit.note")
}

fn seqs(committed: &Committed) -> Vec<u64> {
    committed.commits.iter().map(|commit| commit.seq.get()).collect()
}

/// What was never created is not there, whichever way it is asked for.
pub async fn an_absent_session_reads_as_nothing(storage: Arc<dyn Storage>) {
    assert_eq!(head(&storage, "a").await, None);
    assert_eq!(value(&storage, "a", &note()).await, None);
    assert!(storage.changes(id("a"), Seq::ZERO, 10).await.unwrap().is_empty());
    let family = jaren_durable::FamilyQuery::new(id("a"), "kit.note");
    assert!(storage.family(family).await.unwrap().items.is_empty());
}

/// The first commit creates the session as number 1; a second creation is a conflict that names what it found.
pub async fn a_session_is_created_once(storage: Arc<dyn Storage>) {
    let first = commit(&storage, writing(create("a"), [base(&note(), &value!({"n": 1}))])).await;
    let record = storage.session(id("a")).await.unwrap().expect("it was created");
    assert_eq!(first.commits, [record.newest()]);
    assert_eq!((record.kind.as_ref(), record.head), ("kit", Seq::new(1)));
    assert_eq!((record.created, record.updated), (first.time, first.time));

    let conflict = conflict(apply(&storage, writing(create("a"), [base(&note(), &value!({"n": 2}))])).await);
    assert_eq!(conflict.session, id("a"));
    assert_eq!(conflict.expected, Expected::Absent { kind: "kit".into() });
    assert_eq!(conflict.found, Some(Seq::new(1)));
    assert_eq!(value(&storage, "a", &note()).await, Some(value!({"n": 1})));
}

/// A batch over another head than it expects changes nothing and says what it found.
pub async fn a_stale_head_is_a_conflict_that_changes_nothing(storage: Arc<dyn Storage>) {
    let absent = conflict(apply(&storage, writing(after("a", 1), [])).await);
    assert_eq!((absent.expected, absent.found), (Expected::Head(Seq::new(1)), None));
    assert_eq!(head(&storage, "a").await, None);

    commit(&storage, writing(create("a"), [base(&note(), &value!({"n": 1}))])).await;
    commit(&storage, writing(after("a", 1), [base(&note(), &value!({"n": 2}))])).await;
    for stale in [0, 1, 3] {
        let batch = writing(after("a", stale), [base(&note(), &value!({"n": 9}))]);
        assert_eq!(conflict(apply(&storage, batch).await).found, Some(Seq::new(2)));
    }
    assert_eq!(head(&storage, "a").await, Some(2));
    assert_eq!(value(&storage, "a", &note()).await, Some(value!({"n": 2})));
}

/// A conflicting and a refused batch in a group fail nobody else, and the answers come in order.
pub async fn a_group_answers_each_batch(storage: Arc<dyn Storage>) {
    commit(&storage, writing(create("old"), [])).await;
    let batch = |name: &str, n: u32| writing(create(name), [base(&note(), &value!({"n": n}))]);
    let unknown = writing(after("old", 1), [retire(&note())]);
    let group = vec![batch("a", 1), batch("old", 2), batch("b", 3), unknown, batch("c", 4)];
    let outcomes = storage.apply(group).await.unwrap();
    let [a, old, b, unknown, c] = <[Outcome; 5]>::try_from(outcomes).expect("five outcomes");
    for outcome in [a, b, c] {
        assert_eq!(seqs(&committed(outcome)), [1]);
    }
    assert_eq!(conflict(old).session, id("old"));
    assert_eq!(refusal(unknown).kind, RefusalKind::Unknown);
    assert_eq!(value(&storage, "old", &note()).await, None);
    assert_eq!(head(&storage, "old").await, Some(1));
    for (name, n) in [("a", 1), ("b", 3), ("c", 4)] {
        assert_eq!(value(&storage, name, &note()).await, Some(value!({"n": n})));
    }
}

/// Within a group a batch builds on those before it, failed ones excepted.
pub async fn a_batch_sees_those_before_it(storage: Arc<dyn Storage>) {
    let set = |part: SessionBatch, n: u32| writing(part, [base(&note(), &value!({"n": n}))]);
    let group =
        vec![set(create("a"), 1), set(after("a", 1), 2), set(after("a", 1), 3), set(after("a", 2), 4)];
    let outcomes = storage.apply(group).await.unwrap();
    let [first, second, stale, third] = <[Outcome; 4]>::try_from(outcomes).expect("four outcomes");
    assert_eq!(seqs(&committed(first)), [1]);
    assert_eq!(seqs(&committed(second)), [2]);
    assert_eq!(conflict(stale).found, Some(Seq::new(2)));
    assert_eq!(seqs(&committed(third)), [3]);
    assert_eq!(value(&storage, "a", &note()).await, Some(value!({"n": 4})));
}

/// A batch that names the number of its session is for that one alone; where there is none of that number, none is found.
pub async fn a_batch_may_name_the_session_that_it_means(storage: Arc<dyn Storage>) {
    for name in ["a", "b"] {
        commit(&storage, writing(create(name), [base(&note(), &value!({"n": 1}))])).await;
    }
    let number = async |name| storage.session(id(name)).await.unwrap().expect("it was created").number;
    let (a, b) = (number("a").await, number("b").await);
    assert!(a < b, "numbers grow");
    let next = |part: SessionBatch| writing(part, [base(&note(), &value!({"n": 2}))]);
    for other in [0, b, b + 1, u64::MAX] {
        let found = conflict(apply(&storage, next(after("a", 1).of(other))).await);
        assert_eq!((found.expected, found.found), (Expected::Head(Seq::new(1)), None), "{other} for {a}");
    }
    assert_eq!(conflict(apply(&storage, next(after("a", 2).of(a))).await).found, Some(Seq::new(1)));
    conflict(apply(&storage, next(create("c").of(b + 1))).await); // what is absent has no number
    assert_eq!((head(&storage, "a").await, head(&storage, "c").await), (Some(1), None));
    commit(&storage, next(after("a", 1).of(a))).await;
    assert_eq!(value(&storage, "a", &note()).await, Some(value!({"n": 2})));
}

/// A storage keeps jobs with their batch, or says that it has none and takes no batch with one.
pub async fn a_storage_has_jobs_or_says_so(storage: Arc<dyn Storage>) {
    let mut batch = writing(create("a"), [base(&note(), &value!({}))]);
    let job = NewJob::new("x", "kit.job", Body::base(&value!({})).expect("a storable value"));
    batch.jobs.push(JobWrite::Enqueue(job));
    match apply(&storage, batch).await {
        Outcome::Committed(committed) => {
            assert_eq!(committed.enqueued, [true]);
            assert!(storage.job("x".into()).await.unwrap().is_some());
        }
        Outcome::Refused(refusal) => {
            assert!(matches!(refusal.kind, RefusalKind::Unsupported(_)), "{refusal:?}");
            assert_eq!(head(&storage, "a").await, None);
            let error = storage.job("x".into()).await.expect_err("there are no jobs");
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
        }
        other => panic!("expected a commit or a refusal, found {other:?}"),
    }
}

/// A batch over several sessions commits in all of them or in none.
pub async fn two_sessions_change_together_or_not_at_all(storage: Arc<dyn Storage>) {
    commit(&storage, writing(create("a"), [])).await;
    let both = |b: SessionBatch| {
        let mut batch = writing(after("a", 1), [base(&note(), &value!({"n": 1}))]);
        batch.sessions.extend(writing(b, [base(&note(), &value!({"n": 2}))]).sessions);
        batch
    };
    assert_eq!(conflict(apply(&storage, both(after("b", 7))).await).session, id("b"));
    assert_eq!((head(&storage, "a").await, head(&storage, "b").await), (Some(1), None));

    let mut refused = both(create("b"));
    refused.sessions[1].writes.push(retire(&Address::singleton("kit.other")));
    assert_eq!(refusal(apply(&storage, refused).await).session, Some(id("b")));
    assert_eq!((head(&storage, "a").await, head(&storage, "b").await), (Some(1), None));

    let done = commit(&storage, both(create("b"))).await;
    assert_eq!(seqs(&done), [2, 1]);
    assert_eq!(value(&storage, "b", &note()).await, Some(value!({"n": 2})));
}

/// Mistakes in a batch are refused, each with its kind, and nothing of the batch happens (durable H4, H27, H37; C.3 cases
/// 2, 21 and 22).
pub async fn a_refused_batch_changes_nothing(storage: Arc<dyn Storage>) {
    let (old, new) = (value!({"n": 1}), value!({"n": 2}));
    commit(&storage, writing(create("a"), [base(&note(), &old)])).await;
    let other = Address::singleton("kit.other");
    let good = || base(&other, &new);
    let twice = writing(after("a", 1), [base(&other, &new), retire(&other)]);
    let unknown_delta =
        writing(after("a", 1), [good(), delta_of(&Address::member("kit.f", "x"), &old, &new, 1)]);
    let unknown_retire = writing(after("a", 1), [good(), retire(&Address::singleton("kit.third"))]);
    let version = writing(after("a", 1), [good(), delta_of(&note(), &old, &new, 2)]);
    let zero = writing(after("a", 1), [good(), base_of(&note(), &new, Retention::Full, 0)]);
    let retention = writing(after("a", 1), [good(), base_of(&note(), &new, Retention::Current, 1)]);
    let mut session_twice = writing(after("a", 1), [good()]);
    session_twice.sessions.push(after("a", 1));
    let label_twice = labelling(after("a", 1), &[("x", Some("1")), ("x", None)]);
    for (batch, expected) in [
        (twice, RefusalKind::Repeated("a document")),
        (unknown_delta, RefusalKind::Unknown),
        (unknown_retire, RefusalKind::Unknown),
        (version, RefusalKind::Version { stored: 1, found: 2 }),
        (zero, RefusalKind::VersionZero),
        (retention, RefusalKind::Retention),
        (session_twice, RefusalKind::Repeated("a session")),
        (label_twice, RefusalKind::Repeated("a label")),
    ] {
        assert_eq!(refusal(apply(&storage, batch).await).kind, expected);
        assert_eq!(head(&storage, "a").await, Some(1));
        assert_eq!(value(&storage, "a", &other).await, None);
    }
}

/// What is at a limit is taken, what is one beyond is refused.
pub async fn limits_are_kept_at_their_edge(storage: Arc<dyn Storage>) {
    let keyed = |len: usize| Address::member("kit.f", "k".repeat(len));
    let labels = |count: usize| {
        let mut part = create("a");
        part.labels = (0..count).map(|at| (format!("l{at}").into(), Some("v".into()))).collect();
        Batch::one(part)
    };
    for batch in [
        writing(create("a"), [base(&keyed(limits::KEY_BYTES_MAX + 1), &value!({}))]),
        writing(create("a"), [base(&Address::singleton(""), &value!({}))]),
        writing(
            create("a"),
            [base(&Address::singleton("k".repeat(limits::KIND_BYTES_MAX + 1)), &value!({}))],
        ),
        labelling(create("a"), &[("l", Some(&"v".repeat(limits::LABEL_VALUE_BYTES_MAX + 1)))]),
        labelling(create("a"), &[("", Some("v"))]),
        labels(limits::LABELS_MAX + 1),
        Batch::one(SessionBatch::create(id("a"), "")),
    ] {
        let kind = refusal(apply(&storage, batch).await).kind;
        assert!(matches!(kind, RefusalKind::Limit { .. } | RefusalKind::Name(_)), "{kind:?}");
    }
    assert_eq!(head(&storage, "a").await, None);
    commit(&storage, labels(limits::LABELS_MAX)).await;
    let more = labelling(after("a", 1), &[("one-more", Some("v"))]);
    assert!(matches!(refusal(apply(&storage, more).await).kind, RefusalKind::Limit { .. }));
    let instead = labelling(after("a", 1), &[("one-more", Some("v")), ("l0", None)]);
    commit(&storage, instead).await;
    let longest = keyed(limits::KEY_BYTES_MAX);
    commit(&storage, writing(after("a", 2), [base(&longest, &value!({"n": 1}))])).await;
    assert_eq!(value(&storage, "a", &longest).await, Some(value!({"n": 1})));
}

/// Many writers of one session, each reading and trying again on a conflict, lose no update and leave no gap (durable H15).
pub async fn concurrent_writers_lose_no_update(storage: Arc<dyn Storage>) {
    const WRITERS: u32 = 8;
    const EACH: u32 = 20;
    commit(&storage, writing(create("a"), [base(&note(), &value!({"n": 0}))])).await;
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let storage = storage.clone();
        writers.push(tokio::spawn(async move {
            for _ in 0..EACH {
                loop {
                    let seq = storage.session(id("a")).await.unwrap().expect("it exists").head;
                    let stored = storage.document(id("a"), note(), At::Seq(seq)).await.unwrap();
                    let n = stored.and_then(|stored| stored.value.get("n")?.as_f64()).expect("a count");
                    let next = base(&note(), &value!({"n": n + 1.0}));
                    match apply(&storage, writing(after("a", seq.get()), [next])).await {
                        Outcome::Committed(_) => break,
                        Outcome::Conflict(_) => {}
                        other => panic!("expected a commit or a conflict, found {other:?}"),
                    }
                }
            }
        }));
    }
    for writer in writers {
        writer.await.expect("a writer ends");
    }
    let total = WRITERS * EACH;
    assert_eq!(head(&storage, "a").await, Some(u64::from(1 + total)));
    assert_eq!(value(&storage, "a", &note()).await, Some(value!({"n": total})));
    let log = storage.changes(id("a"), Seq::ZERO, 1000).await.unwrap();
    let seqs: Vec<u64> = log.iter().map(|commit| commit.seq.get()).collect();
    assert_eq!(seqs, (1..=u64::from(1 + total)).collect::<Vec<_>>());
}

/// An apply whose future is dropped after any number of polls is applied wholly or not at all (durable H20).
pub async fn a_dropped_apply_is_whole_or_nothing(storage: Arc<dyn Storage>) {
    let (one, two) = (Address::singleton("kit.one"), Address::singleton("kit.two"));
    for polls in 0..6 {
        let name = format!("a{polls}");
        let batch = writing(create(&name), [base(&one, &value!({"n": 1})), base(&two, &value!({"n": 2}))]);
        {
            let mut future = pin!(storage.apply(vec![batch]));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..polls {
                if let Poll::Ready(outcomes) = future.as_mut().poll(&mut context) {
                    outcomes.expect("a group is applied");
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // Whatever was handed over before is done once a later group is.
        commit(&storage, writing(create(&format!("after-{polls}")), [])).await;
        let (one, two) = (value(&storage, &name, &one).await, value(&storage, &name, &two).await);
        assert_eq!(one.is_some(), two.is_some(), "after {polls} polls");
        assert_eq!(one.is_some(), head(&storage, &name).await.is_some(), "after {polls} polls");
    }
}
