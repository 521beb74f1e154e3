//! What a run does, as a small tree: the one source of its document and of what the oracle expects.

use crate::dice::Dice;

/// One step of a plan. Its id makes the names of its states.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) id: usize,
    pub(crate) form: Form,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// One task.
    Work,
    /// A dataflow.
    Fan(Vec<Node>),
    /// One task, then one of two ways by the parity of its answer.
    Choice { even: Vec<Part>, odd: Vec<Part> },
    /// A wait for `go` (under a guard), perhaps for `other`, perhaps for a time.
    Wait { other: bool, after: Option<u32> },
    /// A wait for time alone.
    Delay(u32),
    /// A nested flow.
    Flow(Vec<Part>),
    /// Steps that are taken so often, and the limit of the state that counts them.
    Loop { body: Vec<Part>, times: u64, limit: u64 },
    /// Work that fails, is caught, and is followed by a task that tells what it was given. In a dataflow a sibling has
    /// a value that is kept.
    Caught { fan: bool },
}

/// A node of a dataflow, beside its input and output.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// A task; else the sum of what flows in.
    pub(crate) task: bool,
    /// Declares `checkpoint`.
    pub(crate) kept: bool,
    /// The earlier nodes that flow into it; none: the input of the dataflow.
    pub(crate) from: Vec<usize>,
}

/// How often a state may be entered more than the loops here need.
const SLACK: u64 = 2;

/// Grows plans.
pub(crate) struct Growth<'a> {
    pub(crate) dice: &'a mut Dice,
    next: usize,
    /// How many parts may still be made.
    left: usize,
}

impl<'a> Growth<'a> {
    pub(crate) fn new(dice: &'a mut Dice) -> Self {
        let left = 3 + dice.below(6);
        Growth { dice, next: 0, left }
    }

    /// A whole plan.
    pub(crate) fn plan(&mut self) -> Vec<Part> {
        let count = 2 + self.dice.below(3);
        self.parts(count, 0, false)
    }

    fn parts(&mut self, count: usize, depth: usize, looped: bool) -> Vec<Part> {
        let count = count.min(self.left);
        (0..count).map(|_| self.part(depth, looped)).collect()
    }

    fn part(&mut self, depth: usize, looped: bool) -> Part {
        self.next += 1;
        self.left = self.left.saturating_sub(1);
        let id = self.next;
        let roll = self.dice.below(100);
        let form = match roll {
            0..25 => Form::Fan(self.nodes()),
            25..45 => {
                let after = if self.dice.percent(60) { Some(self.dice.below(400) as u32) } else { None };
                Form::Wait { other: self.dice.percent(50), after }
            }
            45..50 => Form::Delay(self.dice.below(300) as u32),
            50..60 => Form::Caught { fan: self.dice.percent(50) },
            60..68 if depth < 2 => {
                let (even, odd) = (self.dice.below(3), self.dice.below(3));
                Form::Choice {
                    even: self.parts(even, depth + 1, looped),
                    odd: self.parts(odd, depth + 1, looped),
                }
            }
            68..74 if depth < 2 => {
                let count = 1 + self.dice.below(2);
                Form::Flow(self.parts(count, depth + 1, looped))
            }
            74..80 if !looped && self.left > 0 => {
                let count = 1 + self.dice.below(2);
                let times = 2 + self.dice.below(2) as u64;
                // Now and then the limit is too small: the run must stop there for ever.
                let limit = if self.dice.percent(10) { times - 1 } else { times + SLACK };
                Form::Loop { body: self.parts(count, depth + 1, true), times, limit }
            }
            _ => Form::Work,
        };
        Part { id, form }
    }

    fn nodes(&mut self) -> Vec<Node> {
        let count = 1 + self.dice.below(5);
        (0..count).map(|index| self.node(index)).collect()
    }

    fn node(&mut self, index: usize) -> Node {
        let from: Vec<usize> = (0..index).filter(|_| self.dice.percent(40)).collect();
        let task = from.is_empty() || self.dice.percent(70);
        Node { task, kept: self.dice.percent(60), from }
    }
}
