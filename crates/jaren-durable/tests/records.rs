//! Ids, conversations, entries and tasks: the cases of the specification's section H that apply, by their numbers.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use jaren_durable::records::{
    Abort, ConversationsQuery, Entry, NewEntry, NewTask, RecordError, Records, Task, TaskError, TaskOutcome,
    TaskStart, TaskState, TasksQuery,
};
use jaren_durable::{
    At, Body, CommitError, Draft, Family, MemoryStorage, Order, Replay, Scope, Seq, Session, SessionId,
    Singleton, Storage, subscribe,
};
use jaren_host::Timestamp;
use jaren_json::{Value, value};

const SCRATCH: Singleton = Singleton::new("test.scratch", 1);
const LINES: Family = Family::new("test.line", 1).bulk();

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn entry(kind: &str) -> NewEntry {
    NewEntry::new(kind).data(value!({"text": "hello"}))
}

fn running(phase: &str) -> TaskState {
    TaskState::Running { checkpoint: value!({"phase": phase}) }
}

fn terminal() -> TaskState {
    TaskState::Terminal { outcome: TaskOutcome::Completed { result: value!(1) } }
}

fn new_task(conversation: u64) -> NewTask {
    NewTask::new("test.work", 1, conversation, value!({"n": 1}), value!({"phase": "one"}))
}

async fn fresh() -> (Arc<dyn Storage>, Session) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut session = Session::create(storage.clone(), id(), "test");
    let mut draft = session.draft();
    assert_eq!(Records::of(&mut session).create_root_conversation(&mut draft).await.unwrap(), 1);
    commit(&mut session, draft).await;
    (storage, session)
}

async fn reopen(storage: &Arc<dyn Storage>) -> Session {
    Session::open(storage.clone(), id()).await.unwrap().unwrap()
}

async fn commit(session: &mut Session, draft: Draft) -> Seq {
    session.commit(draft).await.unwrap().seq
}

/// A committed task of the root conversation.
async fn task(session: &mut Session) -> Task {
    let mut draft = session.draft();
    let id = Records::of(session).create_task(&mut draft, new_task(1)).await.unwrap();
    commit(session, draft).await;
    Records::of(session).task(id).await.unwrap().unwrap()
}

async fn put(session: &mut Session, task: Task) -> Task {
    let mut draft = session.draft();
    Records::of(session).put_task(&mut draft, &task).await.unwrap();
    commit(session, draft).await;
    task
}

// H1, H5: the first id is 2; an id that was not committed may be minted again, a committed one never, also by others.
#[tokio::test]
async fn ids_are_minted_once() {
    let (storage, mut session) = fresh().await;
    assert_eq!(session.head(), Seq::new(1));
    let mut again = session.draft();
    let error = Records::of(&mut session).create_root_conversation(&mut again).await.unwrap_err();
    assert_eq!(error.to_string(), "id 1 already belongs to a conversation");

    let mut dropped = session.draft();
    assert_eq!(Records::of(&mut session).mint(&mut dropped).await.unwrap(), 2);
    let mut draft = session.draft();
    for expected in 2..=4 {
        assert_eq!(Records::of(&mut session).mint(&mut draft).await.unwrap(), expected);
    }
    assert_eq!(commit(&mut session, draft).await, Seq::new(2));
    let mut other = reopen(&storage).await;
    let mut draft = other.draft();
    assert_eq!(Records::of(&mut other).mint(&mut draft).await.unwrap(), 5);
    commit(&mut other, draft).await;

    let mut draft = session.draft();
    assert_eq!(Records::of(&mut session).mint(&mut draft).await.unwrap(), 5, "the same, over an older view");
    session.refresh().await.unwrap();
    draft.rebase(&session);
    let refused = session.commit(draft).await.unwrap_err();
    assert!(matches!(refused, CommitError::Conflict(_)), "and so it cannot be carried over: {refused}");
}

// H2, H3.
#[tokio::test]
async fn ids_go_on_after_given_ones_until_they_are_exhausted() {
    let (_, mut session) = fresh().await;
    let mut draft = session.draft();
    Records::of(&mut session).reserve_id(&mut draft, 100).await.unwrap();
    assert_eq!(Records::of(&mut session).mint(&mut draft).await.unwrap(), 101);
    Records::of(&mut session).reserve_id(&mut draft, 7).await.unwrap();
    assert!(Records::of(&mut session).mint(&mut draft).await.unwrap() > 101, "never backwards");
    Records::of(&mut session).reserve_id(&mut draft, (1 << 53) - 1).await.unwrap();
    commit(&mut session, draft).await;
    for _ in 0..2 {
        let mut draft = session.draft();
        let error = Records::of(&mut session).mint(&mut draft).await.unwrap_err();
        assert!(matches!(error, RecordError::Exhausted) && error.to_string().contains("exhausted"));
    }
}

// H6, H7: entries by id in both directions, and a page is not moved by what is appended.
#[tokio::test]
async fn entries_are_scanned_in_both_directions() {
    let (storage, mut session) = fresh().await;
    let mut draft = session.draft();
    for kind in ["a", "b", "c", "d", "e"] {
        Records::of(&mut session).append_entry(&mut draft, 1, entry(kind)).await.unwrap();
    }
    commit(&mut session, draft).await;
    let mut reader = reopen(&storage).await;
    let page = Records::of(&mut reader).entries(1, Order::Descending, None, 2).await.unwrap();
    let ids =
        |page: &jaren_durable::Page<Entry>| -> Vec<u64> { page.items.iter().map(|entry| entry.id).collect() };
    assert_eq!((ids(&page), page.more), (vec![6, 5], true));
    let mut draft = session.draft();
    assert_eq!(Records::of(&mut session).append_entry(&mut draft, 1, entry("f")).await.unwrap(), 7);
    commit(&mut session, draft).await;
    reader.refresh().await.unwrap();
    let page = Records::of(&mut reader).entries(1, Order::Descending, Some(5), 2).await.unwrap();
    assert_eq!((ids(&page), page.more), (vec![4, 3], true));
    let page = Records::of(&mut reader).entries(1, Order::Ascending, Some(3), 10).await.unwrap();
    assert_eq!((ids(&page), page.more), (vec![4, 5, 6, 7], false));
    assert_eq!(page.items[0].kind, "c");
    assert_eq!(page.items[0].data, Some(value!({"text": "hello"})));
}

// H21: a mistake is told, and harms nothing.
#[tokio::test]
async fn an_unknown_conversation_is_an_error_that_harms_nothing() {
    let (_, mut session) = fresh().await;
    let mut draft = session.draft();
    let error = Records::of(&mut session).append_entry(&mut draft, 77, entry("a")).await.unwrap_err();
    assert_eq!(error.to_string(), "conversation 77 does not exist");
    Records::of(&mut session).entries(77, Order::Ascending, None, 1).await.expect_err("there is none");
    assert!(matches!(
        Records::of(&mut session).append_entry(&mut draft, 1, entry("")).await,
        Err(RecordError::Kind)
    ));
    assert_eq!(commit(&mut session, draft).await, Seq::new(1), "nothing was planned");
}

// H22: who may own something.
#[tokio::test]
async fn an_owner_must_be_alive_and_go_on() {
    let (_, mut session) = fresh().await;
    let mut draft = session.draft();
    let error = Records::of(&mut session).create_conversation(&mut draft, Some(99)).await.unwrap_err();
    assert_eq!(error.to_string(), "task 99 does not exist");
    let owner = task(&mut session).await;
    let started = put(&mut session, owner.advance(running("one"), at(1)).unwrap()).await;
    let outcome = TaskOutcome::Completed { result: value!(1) };
    let completing = started.clone().advance(TaskState::Completing { outcome }, at(2)).unwrap();
    let ended = started.clone().advance(terminal(), at(2)).unwrap();
    let marked = started.clone().request_abort().unwrap();
    for (record, what) in [(&completing, "completing"), (&ended, "terminal"), (&marked, "abort-marked")] {
        // In either order within one change.
        let mut draft = session.draft();
        Records::of(&mut session).put_task(&mut draft, record).await.unwrap();
        let first =
            Records::of(&mut session).create_conversation(&mut draft, Some(record.id)).await.unwrap_err();
        let mut draft = session.draft();
        Records::of(&mut session).create_conversation(&mut draft, Some(record.id)).await.unwrap();
        let second = Records::of(&mut session).put_task(&mut draft, record).await.unwrap_err();
        for error in [first, second] {
            assert_eq!(error.to_string(), format!("owner task {} is {what}", record.id));
        }
    }
    let mut draft = session.draft();
    let conversation =
        Records::of(&mut session).create_conversation(&mut draft, Some(started.id)).await.unwrap();
    let mut child = new_task(1);
    child.owner = Some(started.id);
    Records::of(&mut session).create_task(&mut draft, child.clone()).await.unwrap();
    child.background = true;
    let error = Records::of(&mut session).create_task(&mut draft, child.clone()).await.unwrap_err();
    assert!(matches!(error, RecordError::Background));
    (child.background, child.conversation) = (false, conversation);
    let error = Records::of(&mut session).create_task(&mut draft, child).await.unwrap_err();
    assert!(matches!(error, RecordError::Moved(_)), "{error}");
    commit(&mut session, draft).await;
    let owner = Records::of(&mut session).conversation(conversation).await.unwrap().unwrap().owner.unwrap();
    assert_eq!((owner.conversation_id, owner.task_id), (1, started.id));
}

// H8, H29, A37: a terminal record is a receipt, what belonged to the task ends with it, and nothing new belongs to it.
#[tokio::test]
async fn a_task_ends_with_its_documents() {
    let (storage, mut session) = fresh().await;
    let pending = task(&mut session).await;
    let mine = Scope::Task(pending.id);
    let mut draft = session.draft();
    let started = pending.advance(running("one"), at(5)).unwrap();
    Records::of(&mut session).put_task(&mut draft, &started).await.unwrap();
    draft.put(&SCRATCH.within(mine), value!({"n": 1}));
    draft.put_member(&LINES.within(mine), "1", value!({}));
    commit(&mut session, draft).await;

    let mut other = reopen(&storage).await;
    let mut draft = other.draft();
    draft.put(&SCRATCH.within(mine), value!({"n": 2}));
    let ended = started.clone().advance(terminal(), at(9)).unwrap();
    Records::of(&mut other).put_task(&mut draft, &ended).await.unwrap();
    commit(&mut other, draft).await;
    assert_eq!(other.document(&SCRATCH.within(mine)).await.unwrap(), None);
    assert_eq!(other.member(&LINES.within(mine), "1").await.unwrap(), None);
    assert_eq!((ended.started_at, ended.ended_at), (Some(5), Some(9)));

    let mut draft = other.draft();
    let error = Records::of(&mut other).put_task(&mut draft, &started).await.unwrap_err();
    assert_eq!(error.to_string(), format!("task {} is already terminal", ended.id));
    let (mut scratch, mut line) = (other.draft(), other.draft());
    scratch.put(&SCRATCH.within(mine), value!({}));
    line.put_member(&LINES.within(mine), "2", value!({}));
    for late in [scratch, line] {
        let error = other.commit(late).await.unwrap_err();
        assert!(error.to_string().starts_with("task 2 is terminal"), "{error}");
    }
    let page = Records::of(&mut other).tasks(&TasksQuery::of_status("pending")).await.unwrap();
    assert!(page.items.is_empty());
    let page = Records::of(&mut other).tasks(&TasksQuery::of_status("terminal")).await.unwrap();
    assert_eq!(page.items, [ended]);
}

// H58, H8: of several memos under one name the first counts; it survives a restart, and is gone once the outcome is
// settled.
#[tokio::test]
async fn a_memo_is_written_once_and_ends_with_the_task() {
    let (storage, mut session) = fresh().await;
    let noted =
        task(&mut session).await.memo("cursor", value!(1)).unwrap().memo("cursor", value!(2)).unwrap();
    assert_eq!(noted.memos.get("cursor"), Some(&value!(1)));
    let started = noted.advance(running("one"), at(1)).unwrap().memo("other", value!({})).unwrap();
    put(&mut session, started).await;
    let mut session = reopen(&storage).await;
    let back = Records::of(&mut session).task(2).await.unwrap().unwrap().recover();
    assert_eq!((back.memos.len(), back.restarts), (2, 1));
    let back = back.advance(running("one"), at(2)).unwrap();
    let outcome = TaskOutcome::Completed { result: value!(1) };
    let settled = back.clone().advance(TaskState::Completing { outcome }, at(3)).unwrap();
    assert_eq!(settled.clone().memo("late", value!(1)).unwrap_err(), TaskError::Settled(2));
    let ended = back.advance(terminal(), at(3)).unwrap();
    assert_eq!(ended.clone().memo("late", value!(1)).unwrap_err(), TaskError::Terminal(2));
    for record in [&settled, &ended] {
        assert!(record.memos.is_empty() && record.restarts == 0);
    }
    let marked = record().memo("cursor", value!(1)).unwrap().request_abort().unwrap();
    assert!(marked.orphan("missing_task", at(9)).unwrap().memos.is_empty());
    put(&mut session, ended).await;
    assert_eq!(
        Records::of(&mut session).task_commit(2).await.unwrap(),
        Some(session.head()),
        "the record's own commit"
    );
    assert_eq!(Records::of(&mut session).task_commit(99).await.unwrap(), None);
}

// H63: a task waits for tasks that exist, its change's own included, and not for itself.
#[tokio::test]
async fn a_task_waits_only_for_what_exists() {
    let (_, mut session) = fresh().await;
    let first = task(&mut session).await.advance(running("one"), at(1)).unwrap();
    let waiting = |on| TaskState::Waiting { checkpoint: value!({"phase": "one"}), on };
    let mut draft = session.draft();
    let itself = first.clone().advance(waiting(vec![77, 2]), at(2)).unwrap_err();
    assert_eq!(itself, TaskError::Cycle(2));
    let lost = first.clone().advance(waiting(vec![77]), at(2)).unwrap();
    let error = Records::of(&mut session).put_task(&mut draft, &lost).await.unwrap_err();
    assert_eq!(error.to_string(), "task 77 does not exist");
    put(&mut session, first.clone()).await;
    let mut draft = session.draft();
    let second = Records::of(&mut session).create_task(&mut draft, new_task(1)).await.unwrap();
    let waits = first.advance(waiting(vec![second]), at(2)).unwrap();
    Records::of(&mut session).put_task(&mut draft, &waits).await.unwrap();
    commit(&mut session, draft).await;
}

/// A task with what it owns, another one with a conversation; the running record of the first.
async fn owners() -> (Arc<dyn Storage>, Session, Task) {
    let (storage, mut session) = fresh().await;
    let owner = task(&mut session).await; // 2
    let mut draft = session.draft();
    for _ in 0..2 {
        Records::of(&mut session).create_conversation(&mut draft, Some(owner.id)).await.unwrap(); // 3, 4
    }
    let mut other = new_task(3);
    (other.kind, other.background) = ("test.other".to_owned(), true);
    let other = Records::of(&mut session).create_task(&mut draft, other).await.unwrap(); // 5
    Records::of(&mut session).create_conversation(&mut draft, Some(other)).await.unwrap(); // 6
    let mut child = new_task(1);
    child.owner = Some(owner.id);
    Records::of(&mut session).create_task(&mut draft, child).await.unwrap(); // 7
    commit(&mut session, draft).await;
    let sleeping = TaskState::Sleeping { checkpoint: value!({}), until: 9 };
    let noted = owner.memo("m", value!(1)).unwrap().advance(running("one"), at(1)).unwrap();
    put(&mut session, noted.clone().advance(sleeping, at(2)).unwrap()).await;
    let marked = Records::of(&mut session).task(5).await.unwrap().unwrap().request_abort().unwrap();
    put(&mut session, marked).await;
    (storage, session, noted)
}

// durable C.3 cases 7, 8 and 10 to 13: records are listed by id in both directions, by what they are, whatever the page
// size; a replaced record has nothing of the one before it.
#[tokio::test]
async fn conversations_and_tasks_are_listed_by_what_they_are() {
    let (storage, mut session, noted) = owners().await;
    let mut reader = reopen(&storage).await;
    let records = Records::of(&mut reader);
    for limit in [1, 2, 100] {
        let conversations = async |owner_conversation, owner_task, order| {
            let (mut query, mut found) = (ConversationsQuery::all(), Vec::new());
            (query.owner_conversation, query.owner_task) = (owner_conversation, owner_task);
            (query.order, query.limit) = (order, limit);
            loop {
                let page = records.conversations(&query).await.unwrap();
                assert!(page.items.len() <= limit && (page.items.len() == limit || !page.more));
                query.after = page.items.last().map(|conversation| conversation.id);
                found.extend(page.items.into_iter().map(|conversation| conversation.id));
                if !page.more {
                    return found;
                }
            }
        };
        assert_eq!(conversations(None, None, Order::Ascending).await, [1, 3, 4, 6]);
        assert_eq!(conversations(None, None, Order::Descending).await, [6, 4, 3, 1]);
        assert_eq!(conversations(Some(1), None, Order::Ascending).await, [3, 4]);
        assert_eq!(conversations(None, Some(5), Order::Ascending).await, [6]);
        assert_eq!(conversations(Some(3), Some(5), Order::Descending).await, [6]);
        assert!(conversations(Some(1), Some(5), Order::Ascending).await.is_empty());

        let tasks = async |set: fn(&mut TasksQuery)| {
            let (mut query, mut found) = (TasksQuery::all(), Vec::new());
            query.limit = limit;
            set(&mut query);
            loop {
                let page = records.tasks(&query).await.unwrap();
                assert!(page.items.len() <= limit && (page.items.len() == limit || !page.more));
                query.after = page.items.last().map(|task| task.id);
                found.extend(page.items.into_iter().map(|task| task.id));
                if !page.more {
                    return found;
                }
            }
        };
        assert_eq!(tasks(|_| {}).await, [2, 5, 7]);
        assert_eq!(tasks(|query| query.order = Order::Descending).await, [7, 5, 2]);
        assert_eq!(tasks(|query| query.conversation = Some(3)).await, [5]);
        assert_eq!(tasks(|query| query.owner = Some(2)).await, [7]);
        assert_eq!(tasks(|query| query.kind = Some("test.work".into())).await, [2, 7]);
        assert_eq!(tasks(|query| query.status = Some("sleeping".into())).await, [2]);
        assert_eq!(tasks(|query| query.status = Some("pending".into())).await, [5, 7]);
        assert!(tasks(|query| query.status = Some("waiting".into())).await.is_empty());
        assert_eq!(tasks(|query| query.abort = Some(true)).await, [5]);
        assert_eq!(tasks(|query| query.background = Some(false)).await, [2, 7]);
        assert!(tasks(|query| (query.abort, query.background) = (Some(false), Some(true))).await.is_empty());
    }
    let mut plain = noted;
    plain.memos.clear();
    put(&mut session, plain.clone()).await;
    assert_eq!(
        Records::of(&mut reopen(&storage).await).task(2).await.unwrap(),
        Some(plain),
        "the record is replaced whole"
    );
}

// H9, H19.
#[tokio::test]
async fn of_several_writes_the_last_counts_and_of_none_there_is_no_commit() {
    let (_, mut session) = fresh().await;
    let pending = task(&mut session).await;
    let one = pending.advance(running("one"), at(1)).unwrap();
    let two = one.clone().advance(running("two"), at(2)).unwrap();
    let mut draft = session.draft();
    Records::of(&mut session).put_task(&mut draft, &one).await.unwrap();
    Records::of(&mut session).put_task(&mut draft, &two).await.unwrap();
    let head = commit(&mut session, draft).await;
    assert_eq!(Records::of(&mut session).task(two.id).await.unwrap(), Some(two));
    let mut draft = session.draft();
    draft.retire(&SCRATCH);
    assert_eq!(commit(&mut session, draft).await, head);
}

// H56, E2: the transitions that exist, and no other.
#[test]
fn a_task_moves_along_its_transitions() {
    let pending = record();
    let checkpoint = value!({"phase": "one"});
    let one = pending.clone().advance(running("one"), at(10)).unwrap();
    let two = one.clone().advance(running("two"), at(20)).unwrap();
    let sleeping = TaskState::Sleeping { checkpoint: checkpoint.clone(), until: 50 };
    let asleep = two.clone().advance(sleeping, at(30)).unwrap();
    let error = asleep.clone().advance(running("two"), at(49)).unwrap_err();
    assert_eq!(error.to_string(), "task 5 cannot become running while it is sleeping");
    let awake = asleep.clone().advance(running("two"), at(50)).unwrap();
    asleep.request_abort().unwrap().advance(running("two"), at(31)).expect("an abort ends a sleep (H62)");
    let waiting = |on| TaskState::Waiting { checkpoint: checkpoint.clone(), on };
    let error = awake.clone().advance(waiting(vec![5]), at(51)).unwrap_err();
    assert_eq!(error, TaskError::Cycle(5)); // H63
    let waits = awake.advance(waiting(vec![6]), at(51)).unwrap();
    let back = waits.advance(running("three"), at(60)).unwrap();
    let outcome = TaskOutcome::Completed { result: Value::Null };
    let completing = back.advance(TaskState::Completing { outcome }, at(70)).unwrap();
    completing.clone().advance(terminal(), at(80)).expect_err("a settled outcome is final");
    let outcome = TaskOutcome::Completed { result: Value::Null };
    let ended = completing.advance(TaskState::Terminal { outcome }, at(80)).unwrap();
    assert_eq!((ended.started_at, ended.ended_at), (Some(10), Some(80)));
    assert_eq!(ended.clone().advance(running("one"), at(90)).unwrap_err(), TaskError::Terminal(5));
    assert_eq!(ended.request_abort().unwrap_err(), TaskError::Terminal(5));
    pending.clone().advance(terminal(), at(1)).expect_err("a pending task has not run");
    pending
        .advance(TaskState::Pending { checkpoint }, at(1))
        .expect_err("a task never becomes pending itself");
}

// H59, H60: cut off five times without progress a task is parked; a retry, progress and an abort lead on.
#[test]
fn a_task_that_is_cut_off_too_often_is_parked() {
    let crash = |task: Task| task.advance(running("one"), at(1)).unwrap().recover();
    let mut task = record();
    for restarts in 1..=5 {
        assert!(!task.is_parked());
        task = crash(task);
        assert_eq!(task.restarts, restarts);
        task = task.recover();
        assert_eq!(task.restarts, restarts, "what does not run is not cut off");
    }
    assert!(task.is_parked());
    task.clone().advance(running("one"), at(2)).expect_err("it does not run");
    let retried = task.clone().retry();
    assert!(!retried.is_parked());
    let clean = retried.clone().advance(running("one"), at(2)).unwrap().hand_back();
    assert_eq!((clean.restarts, clean.state.status()), (0, "pending"), "a clean stop is not counted");
    let once = crash(retried).advance(running("one"), at(3)).unwrap();
    assert_eq!(once.restarts, 1);
    assert_eq!(once.advance(running("two"), at(4)).unwrap().restarts, 0, "progress");
    let marked = task.request_abort().unwrap();
    assert!(!marked.is_parked());
    let again = marked.clone().request_abort().unwrap();
    assert_eq!(again.abort, Some(Abort::Requested));
    let orphan = marked.orphan("missing_task", at(9)).unwrap(); // H61
    assert_eq!(orphan.state.status(), "terminal");
    record().orphan("missing_task", at(9)).expect_err("a missing definition alone ends nothing");
}

// E12.
#[test]
fn a_task_to_abandon_is_marked_when_it_was_cut_off() {
    let mut task = record();
    task.abandon_on_restart = true;
    let cut = task.advance(running("one"), at(1)).unwrap().recover();
    assert_eq!((cut.abort, cut.state.status()), (Some(Abort::Restart), "pending"));
}

fn record() -> Task {
    let text = r#"{"id":5,"conversationId":1,"kind":"k","version":1,"input":null,
        "state":{"status":"pending","checkpoint":{"phase":"one"}}}"#;
    let value = jaren_json::read(text.as_bytes(), &jaren_json::ReadOptions::document()).unwrap();
    jaren_json::from_value(&value).unwrap()
}

// H64: three starts of one key are one task.
#[tokio::test]
async fn a_start_by_key_is_created_attached_or_settled() {
    let (storage, mut session) = fresh().await;
    let mut handles = [reopen(&storage).await, reopen(&storage).await, reopen(&storage).await];
    let mut ids = Vec::new();
    for handle in &mut handles {
        loop {
            let mut draft = handle.draft();
            let started = Records::of(handle).start_task(&mut draft, "order-7", new_task(1)).await.unwrap();
            match (handle.commit(draft).await, started) {
                (Ok(_), TaskStart::Created(id)) => break ids.push((true, id)),
                (Ok(_), TaskStart::Attached(task)) => break ids.push((false, task.id)),
                (Err(CommitError::Conflict(_)), _) => handle.refresh().await.map(drop).unwrap(),
                other => panic!("expected a start, found {other:?}"),
            }
        }
    }
    assert_eq!(ids, [(true, 2), (false, 2), (false, 2)]);
    session.refresh().await.unwrap();
    let task =
        Records::of(&mut session).task(2).await.unwrap().unwrap().advance(running("one"), at(1)).unwrap();
    let ended = task.advance(terminal(), at(2)).unwrap();
    put(&mut session, ended.clone()).await;
    let mut draft = session.draft();
    let started = Records::of(&mut session).start_task(&mut draft, "order-7", new_task(1)).await.unwrap();
    assert_eq!(started, TaskStart::Settled(ended));
}

// What a host logs with `{:?}` has no stored values in it.
#[tokio::test]
async fn debug_tells_no_values() {
    let (storage, mut session) = fresh().await;
    let secret = || value!({"secret": "hunter2"});
    let mut subscription = subscribe(storage.clone(), id()).await.unwrap().unwrap();
    let said = entry("note").data(secret());
    let work = NewTask::new("test.work", 1, 1, secret(), secret());
    let mut draft = session.draft();
    draft.put(&SCRATCH, secret());
    let mut told = vec![format!("{draft:?} {said:?} {work:?}")];
    commit(&mut session, draft).await;
    let stored = storage.document(id(), SCRATCH.address(), At::Current).await.unwrap().unwrap();
    let body = Body::base(&secret()).unwrap();
    let replay = Replay::base(Seq::new(1), 1, &body).unwrap();
    let log = storage.changes(id(), Seq::ZERO, 10).await.unwrap();
    let published = subscription.next().await.unwrap();
    told.push(format!("{stored:?} {body:?} {replay:?} {log:?} {published:?}"));
    let mut states = vec![
        TaskState::Pending { checkpoint: secret() },
        TaskState::Running { checkpoint: secret() },
        TaskState::Waiting { checkpoint: secret(), on: vec![1] },
        TaskState::Sleeping { checkpoint: secret(), until: 1 },
    ];
    for outcome in [
        TaskOutcome::Completed { result: secret() },
        TaskOutcome::Failed { error: secret() },
        TaskOutcome::Aborted { reason: Some("hunter2".to_owned()) },
        TaskOutcome::Orphaned { reason: "hunter2".to_owned() },
        TaskOutcome::Faulted { error: secret() },
    ] {
        states.push(TaskState::Completing { outcome: outcome.clone() });
        states.push(TaskState::Terminal { outcome });
    }
    let mut holding = task(&mut session).await;
    (holding.input, holding.memos) = (secret(), [("memo".to_owned(), secret())].into());
    for state in states {
        holding.state = state;
        told.push(format!("{holding:?}"));
    }
    let told = told.join(" ");
    assert!(told.contains("bytes)") && told.contains("test.scratch"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}
