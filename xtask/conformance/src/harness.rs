//! Runs cases on all processors, each on its own: a panic is that case's failure, and one that does not end is named.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::case::Case;

/// A case takes milliseconds.
const CASE_TIME_MAX: Duration = Duration::from_secs(30);

/// What became of a case.
#[derive(Debug, Clone)]
pub(crate) enum Trial {
    Passed,
    Failed(String),
    Crashed(String),
}

impl Trial {
    pub(crate) fn difference(&self) -> &str {
        match self {
            Self::Passed => "as expected",
            Self::Failed(difference) | Self::Crashed(difference) => difference,
        }
    }
}

/// What a worker says: that it takes a case, and what became of it.
enum Said {
    Took(usize),
    Finished(usize, Trial),
}

thread_local! {
    /// The message of the panic that the current case raised.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What became of each case, in the given order.
pub(crate) fn run(cases: &[Case]) -> Vec<Trial> {
    let previous = take_hook();
    set_hook(Box::new(|info| PANIC.set(info.to_string().replace('\n', " "))));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let mut trials: Vec<Option<Trial>> = vec![None; cases.len()];
    thread::scope(|scope| {
        for _ in 0..workers {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || work(cases, next, &sender));
        }
        drop(sender);
        let mut running: Vec<(usize, Instant)> = Vec::new();
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(Said::Took(index)) => running.push((index, Instant::now())),
                Ok(Said::Finished(index, trial)) => {
                    running.retain(|(taken, _)| *taken != index);
                    if let Some(slot) = trials.get_mut(index) {
                        *slot = Some(trial);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => give_up(cases, &running),
            }
        }
    });
    set_hook(previous);
    trials
        .into_iter()
        .map(|trial| trial.unwrap_or_else(|| Trial::Crashed("did not finish".to_owned())))
        .collect()
}

fn work(cases: &[Case], next: &AtomicUsize, sender: &Sender<Said>) {
    while let Some((index, case)) = {
        let index = next.fetch_add(1, Ordering::Relaxed);
        cases.get(index).map(|case| (index, case))
    } {
        let listening = sender.send(Said::Took(index)).is_ok();
        let trial = match catch_unwind(AssertUnwindSafe(|| case.kind.run(case))) {
            Ok(Ok(())) => Trial::Passed,
            Ok(Err(difference)) => Trial::Failed(difference),
            Err(_) => Trial::Crashed(PANIC.take()),
        };
        if !listening || sender.send(Said::Finished(index, trial)).is_err() {
            return;
        }
    }
}

/// Runs what a case has to await, on the thread that runs the case.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map_err(|error| format!("no runtime: {error}"))?.block_on(future)
}

/// Ends the program when a case does not: its thread cannot be stopped.
#[expect(clippy::exit, reason = "a thread that does not end cannot be joined")]
fn give_up(cases: &[Case], running: &[(usize, Instant)]) {
    let late = running.iter().find(|(_, start)| start.elapsed() > CASE_TIME_MAX);
    if let Some(case) = late.and_then(|(index, _)| cases.get(*index)) {
        println!("{}: the case `{}` did not end within {CASE_TIME_MAX:?}", case.kind.label(), case.name);
        std::process::exit(1);
    }
}

#[cfg(test)]
mod tests {
    use jaren_json::value;

    use super::*;
    use crate::kind::Kind;

    #[test]
    fn results_come_back_in_the_order_of_the_cases() {
        let cases: Vec<Case> = (0..100)
            .map(|index| {
                let canonical = if index % 2 == 0 { "1" } else { "2" };
                let body = value!({"name": (index.to_string()), "text": "1.0", "canonical": canonical});
                Case::new(Kind::Canonical, body).unwrap()
            })
            .collect();
        for (index, trial) in run(&cases).iter().enumerate() {
            assert_eq!(matches!(trial, Trial::Passed), index % 2 == 0, "{index}: {trial:?}");
        }
    }
}
