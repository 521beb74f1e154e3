//! The fixed documents, which together take every transition of the core, and what their waits are given.

use crate::history::Reply;
use crate::plan::{Form, Node, Part};

/// A plan, and the answers to its waits.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) name: &'static str,
    pub(crate) plan: Vec<Part>,
    pub(crate) replies: Vec<Reply>,
}

/// Numbers the parts of a plan.
#[derive(Default)]
struct Numbered(usize);

impl Numbered {
    fn part(&mut self, form: Form) -> Part {
        self.0 += 1;
        Part { id: self.0, form }
    }

    fn all(&mut self, forms: impl IntoIterator<Item = Form>) -> Vec<Part> {
        forms.into_iter().map(|form| self.part(form)).collect()
    }
}

fn node(task: bool, kept: bool, from: &[usize]) -> Node {
    Node { task, kept, from: from.to_vec() }
}

/// All of them.
pub(crate) fn documents() -> Vec<Fixed> {
    vec![sequence(), fans(), pauses(), waits(), times(), ways(), failures(), over()]
}

fn sequence() -> Fixed {
    let plan = Numbered::default().all([Form::Work, Form::Work, Form::Work]);
    Fixed { name: "sequence", plan, replies: Vec::new() }
}

/// Wide and deep, kept and not, tasks and sums, and one without a task.
fn fans() -> Fixed {
    let wide = vec![
        node(true, true, &[]),
        node(true, true, &[]),
        node(true, false, &[]),
        node(false, true, &[0, 1]),
        node(true, true, &[2, 3]),
    ];
    let sums = vec![node(true, false, &[]), node(false, false, &[0])];
    let plan = Numbered::default().all([Form::Fan(wide), Form::Fan(sums), Form::Work]);
    Fixed { name: "fans", plan, replies: Vec::new() }
}

/// Time alone, and choices.
fn pauses() -> Fixed {
    let mut numbered = Numbered::default();
    let (even, odd) = (numbered.all([Form::Delay(0), Form::Work]), numbered.all([Form::Work]));
    let plan = numbered.all([Form::Delay(50), Form::Choice { even, odd }, Form::Delay(10)]);
    Fixed { name: "pauses", plan, replies: Vec::new() }
}

/// Events that are taken, refused, or break a guard.
fn waits() -> Fixed {
    let wait = |other| Form::Wait { other, after: None };
    let plan = Numbered::default().all([wait(true), wait(false)]);
    let replies = vec![Reply::Refuse, Reply::Other, Reply::Break, Reply::RefuseThenTake];
    Fixed { name: "waits", plan, replies }
}

/// Deadlines: met, overtaken by events, due at once, one after the other.
fn times() -> Fixed {
    let timed = |ms| Form::Wait { other: false, after: Some(ms) };
    let mut numbered = Numbered::default();
    let body = numbered.all([Form::Delay(0)]);
    let forms = [
        timed(400),
        Form::Work,
        timed(0),
        timed(300),
        Form::Delay(0),
        Form::Delay(50),
        Form::Loop { body, times: 2, limit: 2 },
    ];
    let plan = numbered.all(forms);
    let replies = vec![Reply::RefuseThenTake, Reply::Break, Reply::Refuse, Reply::Time, Reply::Time];
    Fixed { name: "times", plan, replies }
}

/// Choices, loops and nested flows.
fn ways() -> Fixed {
    let mut numbered = Numbered::default();
    let (even, odd) = (numbered.all([Form::Work]), numbered.all([Form::Delay(10), Form::Work]));
    let inner = numbered.all([Form::Choice { even, odd }, Form::Wait { other: false, after: None }]);
    let body = numbered.all([Form::Work, Form::Flow(inner)]);
    let looped = Form::Loop { body, times: 2, limit: 2 };
    let again = numbered.all([Form::Loop { body: Vec::new(), times: 2, limit: 2 }]);
    let waits = numbered.all([Form::Wait { other: false, after: Some(50) }]);
    let last = Form::Choice { even: again, odd: waits };
    let plan = numbered.all([looped, last]);
    Fixed { name: "ways", plan, replies: vec![Reply::Take, Reply::RefuseThenTake] }
}

/// Work that fails and is caught, with and without values that are kept.
fn failures() -> Fixed {
    let mut numbered = Numbered::default();
    let flow = numbered.all([Form::Caught { fan: true }]);
    let plan = numbered.all([Form::Caught { fan: false }, Form::Flow(flow), Form::Work]);
    Fixed { name: "failures", plan, replies: Vec::new() }
}

/// A state that is entered once too often.
fn over() -> Fixed {
    let mut numbered = Numbered::default();
    let body = numbered.all([Form::Work]);
    let plan = numbered.all([Form::Loop { body, times: 3, limit: 2 }]);
    Fixed { name: "over", plan, replies: Vec::new() }
}
