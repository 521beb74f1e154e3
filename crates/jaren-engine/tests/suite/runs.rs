//! Starting, opening, reading.

use jaren_durable::{Session, SessionId, Singleton};
use jaren_engine::{
    Drive, ErrorKind, Failure, RunStatus, RunView, RunsQuery, Start, Status, TaskContext, Tasks, runs,
};
use jaren_host::Timestamp;
use jaren_json::{Value, value};

use crate::support::{World, chain, done, fork, waiting};

#[tokio::test]
async fn the_same_start_is_the_same_run() {
    let world = World::new();
    let engine = world.engine();
    let start = || Start::new(chain(1), value!(1)).with_id("r");
    assert!(engine.start(start()).await.unwrap().is_new());
    let mut again = engine.start(start()).await.unwrap();
    assert!(!again.is_new());
    assert_eq!(again.drive().await.unwrap(), done(value!(2)));
    assert_eq!(world.log.take(), ["add /states/begin 1"]);

    let revised = Value::Object(chain(1).as_object().unwrap().with("revision", "test/2"));
    for (start, what, place) in [
        (Start::new(chain(1), value!(2)).with_id("r"), "input", "at the root"),
        (Start::new(chain(2), value!(1)).with_id("r"), "workflow document", "at /states/begin/then"),
        (Start::new(revised, value!(1)).with_id("r"), "\"test/1\" (sha256:", "at /revision"),
    ] {
        let error = engine.start(start).await.unwrap_err();
        assert_eq!((error.kind(), error.code(), error.run()), (ErrorKind::Changed, "JF2013", Some("r")));
        let told = error.to_string();
        // By name, with what was and what is, and where they part.
        assert!(told.contains(what) && told.contains(" then, ") && told.contains(place), "{error}");
    }
}

#[tokio::test]
async fn a_minted_id_is_new_each_time() {
    let engine = World::new().engine();
    let first = engine.start(Start::new(chain(1), value!(1))).await.unwrap();
    let second = engine.start(Start::new(chain(1), value!(1))).await.unwrap();
    assert!(first.id().starts_with("run_") && first.id() != second.id());
}

#[tokio::test]
async fn a_document_that_does_not_compile_stores_nothing() {
    let world = World::new();
    let engine = world.engine_with(Tasks::new());
    let error = engine.start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Document, "JF0018"));
    assert!(error.report().is_some());
    assert_eq!(RunView::load(&*world.storage, "r").await.unwrap(), None);
}

#[tokio::test]
async fn a_run_opens_only_with_its_tasks_but_when_it_is_done() {
    let world = World::new();
    let mut run = world.engine().start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap();
    let missing = world.engine_with(Tasks::new()).open("r").await.unwrap_err();
    assert_eq!((missing.kind(), missing.code()), (ErrorKind::Document, "JF0018"));
    let mut other = Tasks::new();
    other.add("add", "2", async |_: TaskContext, (): (), input: f64| Ok::<_, Failure>(input));
    let other = world.engine_with(other).open("r").await.unwrap_err();
    assert_eq!((other.kind(), other.code()), (ErrorKind::Document, "JF0019"));
    assert!(other.to_string().contains("version '1'") && other.to_string().contains("'2'"), "{other}");

    let _ = run.drive().await.unwrap();
    let mut run = world.engine_with(Tasks::new()).open("r").await.unwrap();
    let commits = world.view("r").await.commits;
    assert_eq!(run.drive().await.unwrap(), done(value!(2)));
    assert_eq!(world.view("r").await.commits, commits, "an answer writes nothing");
}

#[tokio::test]
async fn unknown_runs_and_foreign_sessions_are_told_apart() {
    let world = World::new();
    let engine = world.engine();
    assert_eq!(engine.open("nobody").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(engine.open("").await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(RunView::load(&*world.storage, "nobody").await.unwrap(), None);

    let mut session = Session::create(world.storage.clone(), SessionId::new("shop").unwrap(), "shop.order");
    let mut change = session.draft();
    change.label("status", "open");
    session.commit(change).await.unwrap();
    assert_eq!(engine.open("shop").await.unwrap_err().kind(), ErrorKind::Unreadable);
    assert_eq!(RunView::load(&*world.storage, "shop").await.unwrap_err().kind(), ErrorKind::Unreadable);
    let taken = engine.start(Start::new(chain(1), value!(1)).with_id("shop")).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Unreadable);
}

#[tokio::test]
async fn an_unknown_behaviour_flag_refuses_to_run_and_still_reads() {
    const DEFINITION: Singleton = Singleton::new("jaren.run.definition", 1);
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let mut session =
        Session::open(world.storage.clone(), SessionId::new("r").unwrap()).await.unwrap().unwrap();
    let mut opened = world.engine().open("r").await.unwrap();
    let definition = session.document(&DEFINITION).await.unwrap().unwrap();
    let mut change = session.draft();
    let flagged = definition.as_object().unwrap().with("flags", value!(["from-the-future"]));
    change.put(&DEFINITION, Value::Object(flagged));
    session.commit(change).await.unwrap();

    let error = world.engine().open("r").await.unwrap_err();
    assert_eq!((error.kind(), error.code(), error.run()), (ErrorKind::UnknownFlag, "JE0004", Some("r")));
    let error = world.engine().start(Start::new(waiting(), value!(1)).with_id("r")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFlag);
    // A handle from before does not run it either.
    let error = opened.drive().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFlag);
    let view = world.view("r").await;
    assert_eq!((view.status, view.flags), (RunStatus::Waiting, vec!["from-the-future".into()]));
}

#[tokio::test]
async fn a_status_from_the_future_refuses_to_run_and_still_reads() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(1)).await.unwrap();
    let mut session =
        Session::open(world.storage.clone(), SessionId::new("r").unwrap()).await.unwrap().unwrap();
    let mut change = session.draft();
    change.label("status", "paused");
    session.commit(change).await.unwrap();
    assert_eq!(world.view("r").await.status, RunStatus::Unknown);
    let page = runs(&*world.storage, RunsQuery::new()).await.unwrap();
    assert_eq!(page.runs[0].status, RunStatus::Unknown);
    let error = world.engine().open("r").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert!(error.to_string().contains("\"paused\""), "{error}");
}

/// What is composed of tasks has their versions in its identity, though the document does not name them.
#[tokio::test]
async fn a_task_version_that_changed_inside_a_task_is_told_with_both() {
    let world = World::new();
    let with = |version: &str| {
        let mut tasks = Tasks::new();
        let nested = [("inner".to_owned(), version.to_owned())].into();
        tasks.add_nested("add", "1", nested, async |_: TaskContext, _: Value, input: Value| Ok(input));
        world.engine_with(tasks)
    };
    with("1").start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap();
    let error = with("2").open("r").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Changed, "JF2013"));
    assert!(error.to_string().contains("/states/begin/task/inner \"1\" then, \"2\" now"), "{error}");
}

#[tokio::test]
async fn a_view_tells_everything() {
    let world = World::new();
    let start =
        Start::new(waiting(), value!(1)).with_id("r").with_attachment(value!({ "tasks": "tasks.toml" }));
    let mut run = world.engine().start(start).await.unwrap();
    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state), (RunStatus::Running, "/states/begin"));
    let status = run.drive_with(Drive::new().without_timers()).await.unwrap();
    let deadline = Some(Timestamp::from_millis(61_000));
    assert_eq!(status, Status::Waiting { events: vec!["ok".into(), "again".into()], deadline });

    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state, &*view.revision), (RunStatus::Waiting, "/states/wait", "test/1"));
    assert_eq!((view.events, view.deadline), (vec!["ok".into(), "again".into()], deadline));
    let visits = vec![("/states/begin".into(), 1), ("/states/wait".into(), 1)];
    assert_eq!((view.visits, view.input, view.data, view.result), (visits, value!(1), value!(2), None));
    assert_eq!(view.results.get("/states/begin"), Some(&value!(2)));
    assert_eq!((view.document, view.attachment), (waiting(), value!({ "tasks": "tasks.toml" })));
    assert_eq!((view.failure, view.inbox, view.flags), (None, vec![], vec!["queries/1".into()]));
    assert_eq!(view.snapshot.get("format"), Some(&value!("jaren-workflow-run/0.1")));
    assert_eq!(view.snapshot.get("generation").and_then(Value::as_u64), Some(view.generation));
}

#[tokio::test]
async fn runs_are_listed_by_status_in_pages() {
    let world = World::new();
    let engine = world.engine();
    for number in 0..5 {
        let document = if number % 2 == 0 { chain(1) } else { waiting() };
        let mut run =
            engine.start(Start::new(document, value!(1)).with_id(format!("r{number}"))).await.unwrap();
        let _ = run.drive_with(Drive::new().without_timers()).await.unwrap();
    }
    let list = async |query: RunsQuery| {
        let page = engine.runs(query).await.unwrap();
        (page.runs.into_iter().map(|run| run.id).collect::<Vec<_>>(), page.next)
    };
    let by = |status| RunsQuery::new().with_status(status);
    assert_eq!(list(by(RunStatus::Done)).await.0, ["r0", "r2", "r4"]);
    assert_eq!(list(by(RunStatus::Waiting)).await.0, ["r1", "r3"]);
    let (first, next) = list(RunsQuery::new().with_limit(3)).await;
    assert_eq!(first, ["r0", "r1", "r2"]);
    assert_eq!(list(RunsQuery::new().after(next.unwrap())).await, (vec!["r3".into(), "r4".into()], None));
}

/// A task that is composed of tasks makes their versions a part of the identity; a reader has none of them.
#[tokio::test]
async fn what_runs_a_composed_task_is_published_without_it() {
    let world = World::new();
    let mut tasks = Tasks::new();
    let nested = std::collections::BTreeMap::from([("fetch".to_owned(), "7".to_owned())]);
    tasks.add_nested("add", "1", nested, async |_: TaskContext, _: Value, _: Value| {
        Err::<Value, _>(Failure::new("not today"))
    });
    let mut run = world.engine_with(tasks).start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Failed { .. }));
    let published = world.view("r").await.published().unwrap();
    let versions = published.get("identity").unwrap().get("taskVersions").unwrap();
    assert_eq!(versions, &value!({ "/states/begin/task": "1", "/states/begin/task/fetch": "7" }));
    assert!(published.get("pending").unwrap().get("identity").unwrap().as_object().is_some());
}

#[tokio::test]
async fn a_snapshot_whose_work_is_of_another_state_is_not_believed() {
    let world = World::new();
    let mut run =
        world.engine().start(Start::new(fork("add", "fail"), value!(1)).with_id("r")).await.unwrap();
    assert!(matches!(run.drive().await.unwrap(), Status::Failed { .. }));
    let id = SessionId::new("r").unwrap();
    let mut session = Session::open(world.storage.clone(), id).await.unwrap().unwrap();
    let snapshot = Singleton::new("jaren.run.snapshot", 1);
    let stored = session.document(&snapshot).await.unwrap().unwrap();
    let pending = stored.get("pending").unwrap().as_object().unwrap();
    let mut draft = session.draft();
    let other = pending.with("state", "/states/end");
    draft.put(&snapshot, Value::Object(stored.as_object().unwrap().with("pending", Value::Object(other))));
    session.commit(draft).await.unwrap();
    let error = world.engine().open("r").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Unreadable, "JF2016"));
    assert!(error.to_string().contains("of another state"), "{error}");
}

#[tokio::test]
async fn a_view_prints_no_values() {
    let world = World::new();
    let _ = world.run(&waiting(), value!(4711)).await.unwrap();
    let event = jaren_engine::Event::new("ok", value!({ "card": "4242" }));
    let _ = world.engine().send("r", event).await.unwrap();
    let shown = format!("{:?}", world.view("r").await);
    assert!(shown.contains("/states/wait") && !shown.contains("4711") && !shown.contains("4242"), "{shown}");
}
