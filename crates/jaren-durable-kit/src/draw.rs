//! Random choices from a seed, for generated histories.

use jaren_host::{Random, SeededRandom};
use jaren_json::{Object, Value};

/// Draws from one seed; the same seed draws the same.
#[derive(Debug)]
pub(crate) struct Draw(SeededRandom);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("an index")
    }

    /// A small document.
    pub(crate) fn value(&mut self) -> Value {
        let members = self.below(6);
        Value::Object((0..members).map(|at| (format!("m{at}"), self.part(3))).collect())
    }

    /// A document that differs from another in few places.
    pub(crate) fn changed(&mut self, value: &Value) -> Value {
        let Value::Object(object) = value else { return self.value() };
        let name = format!("m{}", self.below(8));
        let object: Object =
            if self.once_in(4) { object.without(&name) } else { object.with(&*name, self.part(2)) };
        Value::Object(object)
    }

    fn part(&mut self, depth: u64) -> Value {
        let kinds = if depth == 0 { 4 } else { 6 };
        match self.below(kinds) {
            0 => Value::Null,
            1 => Value::Bool(self.once_in(2)),
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            2 => Value::Number(self.below(1 << 60) as f64 / 1024.0),
            3 => Value::from("é\u{1F600}\n\"x".repeat(self.index(4))),
            4 => Value::Array((0..self.below(4)).map(|_| self.part(depth - 1)).collect()),
            _ => {
                Value::Object((0..self.below(4)).map(|at| (format!("m{at}"), self.part(depth - 1))).collect())
            }
        }
    }
}
