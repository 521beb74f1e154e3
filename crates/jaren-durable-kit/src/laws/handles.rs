//! Laws of a handle over a storage that fails, is slow, or is not waited for.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jaren_durable::{Batch, CommitError, Family, Retry, Seq, Session, SessionError, Singleton, Storage};
use jaren_json::value;

use crate::faults::{Call, Fault, Faults};
use crate::steps::{commit, create, head, id, value, writing};

const COUNT: Singleton = Singleton::new("kit.count", 1);
const EACH: Family = Family::new("kit.each", 1);

/// A commit that counts: the number in one document, and one document a number.
async fn count(session: &mut Session, n: u32) -> Result<(), CommitError> {
    let mut draft = session.draft();
    draft.put(&COUNT, value!({"n": n, "text": "long enough that the next change is a delta over this"}));
    draft.put_member(&EACH, &n.to_string(), value!({"n": n}));
    session.commit(draft).await.map(drop)
}

async fn counted(session: &mut Session) -> u32 {
    let count = session.document(&COUNT).await.expect("it can be read");
    let Some(count) = count else { return 0 };
    (0..1000).find(|n| count.get("n") == Some(&value!(*n))).expect("a small number")
}

/// Every number up to `last` was counted exactly once.
async fn check(storage: &Arc<dyn Storage>, last: u32) {
    assert_eq!(head(storage, "a").await, Some(u64::from(last)), "one commit a number");
    assert_eq!(value(storage, "a", &COUNT.address()).await.unwrap().get("n"), Some(&value!(last)));
    let mut fresh = Session::open(storage.clone(), id("a")).await.unwrap().expect("it exists");
    assert_eq!(fresh.family(&EACH).await.unwrap().len(), usize::try_from(last).unwrap());
}

/// Whatever happens to a commit and its answer, the handle says what is known, a refresh finds out the rest, and
/// nothing is lost or done twice.
pub async fn a_handle_settles_every_fault(storage: Arc<dyn Storage>) {
    let failing = Faults::new(storage.clone());
    let mut session = Session::create(failing.clone(), id("a"), "kit");
    let faults = [
        Fault::Refused,
        Fault::NotWritten,
        Fault::ReplyLost,
        Fault::Part(0),
        Fault::Silence,
        Fault::Delay(3),
    ];
    let mut last = 0;
    for round in 0..4 {
        for fault in faults {
            failing.plan([Some(fault)]);
            last += 1;
            let patience = Duration::from_millis(if fault == Fault::Silence { 100 } else { 20_000 });
            let answered = tokio::time::timeout(patience, count(&mut session, last));
            let unknown = match (fault, answered.await) {
                (Fault::Delay(_), Ok(Ok(()))) => false,
                (Fault::Refused, Ok(Err(CommitError::Storage(error)))) => {
                    assert_eq!(error.retry(), Retry::Safe);
                    count(&mut session, last).await.expect("trying again is right");
                    false
                }
                (
                    Fault::NotWritten | Fault::Part(_) | Fault::ReplyLost,
                    Ok(Err(CommitError::Storage(error))),
                ) => {
                    assert_eq!(error.retry(), Retry::Unknown);
                    true
                }
                (Fault::Silence, Err(_)) => true,
                (_, other) => panic!("{fault:?} in round {round}: {other:?}"),
            };
            if unknown {
                let refused = count(&mut session, last).await;
                assert!(matches!(refused, Err(CommitError::Session(SessionError::Unsettled))));
                // Whatever was handed over before is done once this is.
                first(Session::create(storage.clone(), id(&format!("after-{last}")), "kit")).await;
                session.refresh().await.expect("it reads what happened");
                let done = counted(&mut session).await == last;
                assert_eq!(done, fault.writes(1) == 1, "{fault:?} in round {round}");
                if !done {
                    count(&mut session, last).await.expect("it was not done");
                }
            }
            check(&storage, last).await;
        }
    }
}

/// Of a group whose answer is lost a part may have been applied: each of its sessions is settled by itself.
pub async fn a_part_of_a_group_is_settled_session_by_session(storage: Arc<dyn Storage>) {
    let failing = Faults::new(storage.clone());
    let names = ["a", "b", "c"];
    for part in 0..=names.len() {
        let name = |session: &str| format!("{session}{part}");
        let group = names.map(|session| writing(create(&name(session)), [])).to_vec();
        failing.plan([Some(Fault::Part(part))]);
        let lost = Storage::apply(&*failing, group).await.expect_err("the answer is lost");
        assert_eq!(lost.retry(), Retry::Unknown);
        for (at, session) in names.iter().enumerate() {
            let mut handle = Session::create(storage.clone(), id(&name(session)), "kit");
            handle.refresh().await.expect("it reads what happened");
            assert_eq!(handle.head(), Seq::new(u64::from(at < part)), "{session} of {part}");
            if at >= part {
                first(handle).await;
            }
        }
    }
}

/// A read that fails is told with its class, wherever a handle makes it, changes nothing, and may be made again.
pub async fn a_failed_read_changes_nothing(storage: Arc<dyn Storage>) {
    let mut writer = Session::create(storage.clone(), id("a"), "kit");
    for n in 1..=2 {
        count(&mut writer, n).await.expect("a commit");
    }
    let failing = Faults::new(storage.clone());
    failing.fail_next(Call::Read);
    assert_eq!(Session::open(failing.clone(), id("a")).await.expect_err("it fails").retry(), Retry::Safe);
    let mut reader = Session::open(failing.clone(), id("a")).await.unwrap().expect("it exists");

    failing.fail_next(Call::Read);
    assert_eq!(reader.document(&COUNT).await.expect_err("it fails").retry(), Retry::Safe);
    assert_eq!(counted(&mut reader).await, 2);
    failing.fail_next(Call::Read);
    assert_eq!(reader.family(&EACH).await.expect_err("it fails").retry(), Retry::Safe);
    assert_eq!(reader.family(&EACH).await.unwrap().len(), 2);
    failing.fail_next(Call::Moved);
    assert_eq!(reader.moved().await.expect_err("it fails").retry(), Retry::Safe);

    count(&mut writer, 3).await.expect("a commit");
    failing.fail_next(Call::Read);
    assert_eq!(reader.refresh().await.expect_err("it fails").retry(), Retry::Safe);
    assert_eq!((reader.head(), counted(&mut reader).await), (Seq::new(2), 2));
    assert_eq!(reader.refresh().await.unwrap().to, Seq::new(3));
    assert_eq!(counted(&mut reader).await, 3);

    // A commit that has to read first.
    let mut fresh = Session::open(failing.clone(), id("a")).await.unwrap().expect("it exists");
    failing.fail_next(Call::Read);
    assert_eq!(count(&mut fresh, 4).await.expect_err("it fails").retry(), Retry::Safe);
    check(&storage, 3).await;
    count(&mut fresh, 4).await.expect("trying again is right");
    check(&storage, 4).await;
}

/// What a handle plans is committed by whoever applies it, with that of other sessions or alone; the handle that is told
/// goes on, and the one that is not meets a conflict.
pub async fn a_plan_is_committed_by_whoever_applies_it(storage: Arc<dyn Storage>) {
    let mut sessions = ["a", "b"].map(|name| Session::create(storage.clone(), id(name), "kit"));
    for n in 1..=40 {
        let mut plans = Vec::new();
        let mut both = Batch::new();
        for session in &mut sessions {
            let mut draft = session.draft();
            draft.put(
                &COUNT,
                value!({"n": n, "text": "long enough that the next change is a delta over this"}),
            );
            draft.put_member(&EACH, &n.to_string(), value!({"n": n}));
            let planned = session.plan(&draft).await.expect("a plan");
            both.sessions.extend(planned.batch().sessions.iter().cloned());
            plans.push(planned);
        }
        let committed = commit(&storage, both).await;
        for ((session, planned), done) in sessions.iter_mut().zip(plans).zip(&committed.commits) {
            let receipt = session.settle(planned, *done, committed.time).expect("it follows");
            assert_eq!((receipt.seq, session.number()), (done.seq, Some(done.session)));
        }
    }
    for session in &mut sessions {
        assert_eq!(counted(session).await, 40);
        assert_eq!(session.family(&EACH).await.unwrap().len(), 40);
    }
    check(&storage, 40).await;

    let [told, _] = &mut sessions;
    let mut draft = told.draft();
    draft.put_member(&EACH, "41", value!({"n": 41}));
    let planned = told.plan(&draft).await.expect("a plan");
    let committed = commit(&storage, planned.batch().clone()).await;
    assert!(matches!(told.commit(draft).await, Err(CommitError::Conflict(_))), "it was not told");
    told.refresh().await.expect("it reads what happened");
    let late = told.settle(planned, committed.commits[0], committed.time).expect_err("it knows already");
    assert_eq!(late.retry(), Retry::Never);
    assert_eq!(told.family(&EACH).await.unwrap().len(), 41);
}

/// Polls a future so often and drops it; answers what it answered, if it did.
async fn polled<T>(polls: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..polls {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut context) {
            return Some(answer);
        }
        // Others go on in between: the storage's threads, if it has some.
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    None
}

/// A commit that is dropped at any poll happened wholly or not at all, and a refresh of its handle tells which (durable
/// H20).
pub async fn a_commit_may_be_dropped_at_every_poll(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    let mut last = 0;
    for polls in (0..8).chain(0..8) {
        last += 1;
        if polled(polls, count(&mut session, last)).await.is_none() {
            let waits = Session::create(storage.clone(), id(&format!("after-{last}")), "kit");
            first(waits).await; // whatever was handed over before is done once this is
            session.refresh().await.expect("it reads what happened");
            if counted(&mut session).await != last {
                count(&mut session, last).await.expect("it was not done");
            }
        }
        check(&storage, last).await;
    }
}

async fn first(mut session: Session) {
    let draft = session.draft();
    session.commit(draft).await.expect("a commit");
}

/// Reads and waits that are dropped at any poll change nothing for whoever reads next.
pub async fn a_read_may_be_dropped_at_every_poll(storage: Arc<dyn Storage>) {
    let mut session = Session::create(storage.clone(), id("a"), "kit");
    for n in 1..=3 {
        count(&mut session, n).await.expect("a commit");
    }
    let mut reader = Session::open(storage.clone(), id("a")).await.unwrap().expect("it exists");
    for polls in 0..6 {
        let _ = polled(polls, reader.document(&COUNT)).await;
        let _ = polled(polls, reader.family(&EACH)).await;
        let _ = polled(polls, reader.refresh()).await;
        let _ = polled(polls, reader.moved()).await;
        let _ = polled(polls, storage.changes(id("a"), Seq::ZERO, 10)).await;
    }
    assert_eq!(counted(&mut reader).await, 3);
    assert_eq!(reader.family(&EACH).await.unwrap().len(), 3);
    count(&mut reader, 4).await.expect("it goes on");
    check(&storage, 4).await;
}
