//! The workflow that is run.

use jaren::json::{Object, Value, value};

/// So many steps one after the other, each a task that does nothing.
pub(crate) fn sequence(steps: usize) -> Value {
    let work = (0..steps).map(|step| {
        let next = if step + 1 < steps { format!("step-{}", step + 1) } else { "end".to_owned() };
        let state = value!({ "work": { "task": "nothing", "version": "1" }, "then": next });
        (format!("step-{step}"), state)
    });
    let end = [("end".to_owned(), value!({ "final": true }))];
    let states = work.chain(end).collect::<Object>();
    value!({ "$workflow": "0.2", "revision": "bench/1", "initial": "step-0", "states": states })
}
