//! Values in plain sight: constants, and single steps from what is borrowed. Most operands are such, and need neither an
//! item nor a sequence.

use super::Run;
use super::item::{Item, Seq};
use crate::path::{Sight, step_into};
use crate::plan::{Expr, From, Kind};

impl<'a> Run<'a> {
    /// What an expression is at first sight. The caller counts the step.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked of every operand: a call costs as much as the answer")]
    pub(super) fn sight(&self, expr: &'a Expr) -> Sight<'a> {
        match &expr.kind {
            Kind::Literal(value) => Sight::At(value),
            Kind::Path(root) if root.path.leaps.is_empty() => {
                let start = match root.from {
                    From::Input => self.scope.whole(),
                    From::Variable(slot) => match self.slot(slot) {
                        Seq::One(Item::Ref(value)) => Some(*value),
                        _ => None,
                    },
                    From::External(_) => None,
                };
                start.map_or(Sight::Hidden, |start| step_into(start, &root.path.head).into())
            }
            Kind::Variable(slot) => match self.slot(*slot) {
                Seq::One(Item::Ref(value)) => Sight::At(value),
                _ => Sight::Hidden,
            },
            _ => Sight::Hidden,
        }
    }
}
