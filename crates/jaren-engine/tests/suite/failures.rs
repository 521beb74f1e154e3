//! Tasks that fail, panic or misunderstand; failures are stored, shown and can be driven again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use jaren_durable_kit::faults::Fault;
use jaren_engine::{
    Drive, ErrorKind, Event, Failure, Observer, Record, Retry, RetryPolicy, RunStatus, Start, Status,
    TaskContext, Tasks,
};
use jaren_host::{Clock, Timestamp};
use jaren_json::{Value, value};

use crate::support::{World, chain, done, failed, failing_at, work, workflow};

fn one(task: &str) -> Value {
    workflow(value!({ "begin": work(task, "end"), "end": { "final": true } }))
}

#[tokio::test]
async fn a_failure_is_stored_and_the_run_can_be_driven_again() {
    let world = World::new();
    let mut tasks = Tasks::new();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    tasks.add("flaky", "1", move |context: TaskContext, (): (), input: f64| {
        let call = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            assert_eq!(context.attempt, call);
            if call < 3 { Err(Failure::new(format!("call {call}")).with_code("E1")) } else { Ok(input) }
        }
    });
    let engine = world.engine_with(tasks);
    let mut run = engine.start(Start::new(one("flaky"), value!(7)).with_id("r")).await.unwrap();
    for call in 1..3 {
        let told = failed(run.drive().await);
        let view = world.view("r").await;
        assert_eq!(view.status, RunStatus::Failed);
        let failure = view.failure.unwrap();
        assert_eq!(told, failure);
        assert_eq!((&*failure.code, failure.node.as_deref()), ("JF2006", Some("task")));
        assert_eq!(
            (failure.state.as_deref(), failure.at),
            (Some("/states/begin"), Timestamp::from_millis(1_000))
        );
        let said = failure.failure.unwrap();
        assert_eq!((said.code.as_deref(), said.message), (Some("E1"), format!("call {call}").into()));
    }
    assert_eq!(run.drive().await.unwrap(), done(value!(7)));
    let view = world.view("r").await;
    assert_eq!((view.status, view.failure), (RunStatus::Done, None));
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_node() {
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks.add("late", "1", async |_: TaskContext, (): (), _: Value| -> Result<Value, Failure> {
        tokio::task::yield_now().await;
        panic!("out of {}", "luck")
    });
    tasks.add_value(
        "early",
        "1",
        |_: TaskContext, _: Value, _: Value| -> std::future::Ready<Result<Value, Failure>> {
            panic!("at once")
        },
    );
    let engine = world.engine_with(tasks);
    for (task, message) in
        [("late", "the task panicked: out of luck"), ("early", "the task panicked: at once")]
    {
        let mut run = engine.start(Start::new(one(task), value!(1)).with_id(task)).await.unwrap();
        assert_eq!(failed(run.drive().await).failure.unwrap().message, message);
    }
}

#[tokio::test]
async fn what_does_not_fit_a_handler_is_told_with_its_member() {
    let world = World::new();
    let failure = failed(world.run(&chain(1), value!("one")).await).failure.unwrap();
    assert_eq!(failure.code.as_deref(), Some("JE0001"));
    assert!(failure.message.contains("input"), "{failure}");
}

#[tokio::test]
async fn a_broken_guard_fails_the_run_where_it_stands() {
    let world = World::new();
    let document = workflow(value!({
        "begin": work("echo", "check"),
        "check": { "choose": [{ "guard": { "$idiv": [1, "$.context.data"] }, "to": "end" }], "otherwise": "end" },
        "end": { "final": true }
    }));
    let failure = failed(world.run(&document, value!(0)).await);
    assert_eq!((&*failure.code, failure.state.as_deref()), ("JF2016", Some("/states/check")));
    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state), (RunStatus::Failed, "/states/check"));
    // Nothing is done twice by trying again.
    world.log.take();
    assert_eq!(failed(world.run(&document, value!(0)).await).code, "JF2016");
    assert!(world.log.take().is_empty());
}

#[tokio::test]
async fn a_panicking_observer_does_not_matter() {
    struct Bomb;
    impl Observer for Bomb {
        fn record(&self, _: &Record) {
            panic!("I only watch");
        }
    }
    let world = World::new();
    let mut run = world.engine().start(Start::new(chain(2), value!(1)).with_id("r")).await.unwrap();
    assert_eq!(run.drive_with(Drive::new().with_observer(Bomb)).await.unwrap(), done(value!(3)));
}

#[tokio::test]
async fn an_answer_that_the_store_does_not_take_is_a_stored_failure() {
    let world = World::over(failing_at(2, Fault::Unstorable));
    let mut run = world.engine().start(Start::new(chain(2), value!(1)).with_id("r")).await.unwrap();
    let told = failed(run.drive().await);
    let view = world.view("r").await;
    assert_eq!((view.status, &*view.state), (RunStatus::Failed, "/states/begin"));
    let failure = view.failure.unwrap();
    assert_eq!((&*failure.code, failure.state.as_deref()), ("JE0007", Some("/states/begin")));
    assert_eq!(told, failure);
    assert!(told.to_string().ends_with("(state /states/begin)"), "{told}");
    assert_eq!(run.drive().await.unwrap(), done(value!(3)));
}

#[tokio::test]
async fn an_answer_that_could_never_be_stored_is_a_failure_of_its_task() {
    let deep = |depth| (0..depth).fold(value!(1), |inner, _| Value::from([inner]));
    for (answer, limit) in
        [(deep(501), "at most 500"), (Value::from("x".repeat(16 << 20).as_str()), "16777216 bytes")]
    {
        let world = World::new();
        let (mut tasks, calls) = (world.tasks(), Arc::new(AtomicU32::new(0)));
        let counted = calls.clone();
        tasks
            .add_value("huge", "1", move |_: TaskContext, _: Value, _: Value| {
                counted.fetch_add(1, Ordering::SeqCst);
                let answer = answer.clone();
                async move { Ok(answer) }
            })
            .retry(RetryPolicy::times(3));
        let engine = world.engine_with(tasks);
        let mut run = engine.start(Start::new(one("huge"), value!(1)).with_id("r")).await.unwrap();
        let failure = failed(run.drive().await);
        assert_eq!(
            (&*failure.code, failure.state.as_deref(), failure.node.as_deref()),
            ("JF2006", Some("/states/begin"), Some("task"))
        );
        let failure = failure.failure.unwrap();
        assert_eq!((failure.code.as_deref(), failure.retry), (Some("JE0007"), Retry::Never));
        assert!(failure.message.contains(limit), "{failure}");
        // It was run once, and can be caught like any failure of a node.
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let caught = workflow(value!({
            "begin": { "work": { "task": "huge", "version": "1" }, "then": "end", "catch": "rescue" },
            "rescue": work("echo", "end"), "end": { "final": true }
        }));
        let mut run = engine.start(Start::new(caught, value!(1)).with_id("caught")).await.unwrap();
        assert!(matches!(run.drive().await.unwrap(), Status::Done { .. }));
        // Values from outside are refused where they come in.
        let input = deep(501);
        let error = engine.start(Start::new(one("echo"), input.clone()).with_id("s")).await.unwrap_err();
        assert_eq!((error.code(), error.kind()), ("JE0007", ErrorKind::TooLarge));
        assert_eq!(error.run(), Some("s"));
        let error = engine.send("r", Event::new("x", input)).await.unwrap_err();
        assert_eq!(error.code(), "JE0007");
    }
}

/// As deep as it may be, everywhere: answer, input and event.
#[tokio::test]
async fn what_is_within_the_limits_is_stored_wherever_it_goes() {
    let world = World::new();
    let deep = (0..498).fold(value!(1), |inner, _| Value::from([inner]));
    let document = workflow(value!({
        "begin": work("echo", "wait"),
        "wait": { "on": [{ "event": "ok", "to": "again" }] },
        "again": { "work": { "task": "echo", "version": "1" }, "input": "$.context.event.payload", "then": "end" },
        "end": { "final": true }
    }));
    let _ = world.run(&document, deep.clone()).await.unwrap();
    let engine = world.engine();
    let _ = engine.send("r", Event::new("ok", deep.clone())).await.unwrap();
    let mut run = engine.open("r").await.unwrap();
    assert_eq!(run.drive().await.unwrap(), done(deep));
}

#[tokio::test]
async fn a_panic_while_a_handler_is_dropped_is_a_failure_of_its_node() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on the way out");
        }
    }
    let world = World::new();
    let mut tasks = Tasks::new();
    tasks.add_value("bomb", "1", |_: TaskContext, _: Value, input: Value| {
        let bomb = Bomb;
        std::future::poll_fn(move |_| {
            let _held = &bomb;
            std::task::Poll::Ready(Ok(input.clone()))
        })
    });
    let engine = world.engine_with(tasks);
    let mut run = engine.start(Start::new(one("bomb"), value!(1)).with_id("r")).await.unwrap();
    let failure = failed(run.drive().await).failure.unwrap();
    assert_eq!(failure.message, "the task panicked: on the way out");
}

/// Panics once when it is armed.
#[derive(Clone, Debug, Default)]
struct Brittle(Arc<AtomicBool>);

impl Clock for Brittle {
    fn now(&self) -> Timestamp {
        assert!(!self.0.swap(false, Ordering::Relaxed), "the clock broke");
        Timestamp::from_millis(1_000)
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_clock_within_a_task_is_its_failure() {
    let (world, clock, mut tasks) = (World::new(), Brittle::default(), Tasks::new());
    let armed = clock.0.clone();
    tasks.add("add", "1", move |_: TaskContext, (): (), input: f64| {
        let armed = armed.clone();
        async move {
            tokio::task::yield_now().await;
            armed.store(true, Ordering::Relaxed);
            Ok::<f64, Failure>(input)
        }
    });
    let engine = world.engine_with(tasks).with_clock(Arc::new(clock));
    let mut run = engine.start(Start::new(chain(1), value!(1)).with_id("r")).await.unwrap();
    // The time passes at once when nothing else can happen.
    let driven = tokio::time::timeout(Duration::from_hours(1), run.drive()).await;
    assert_eq!(failed(driven.expect("the drive ends")).node.as_deref(), Some("task"));
}
