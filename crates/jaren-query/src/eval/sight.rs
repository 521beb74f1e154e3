//! Values in plain sight: constants, and single steps from what is borrowed. Most operands are such, and need neither an
//! item nor a sequence.

use jaren_json::Value;

use super::Run;
use super::item::{Item, Seq};
use crate::path::step_into;
use crate::plan::{Expr, From, Kind};

impl<'a> Run<'a> {
    /// The value of an expression in plain sight, or that it has none; `None` where the expression has to be evaluated.
    /// The caller counts the step.
    #[inline]
    pub(super) fn sight(&self, expr: &'a Expr) -> Option<Option<&'a Value>> {
        match &expr.kind {
            Kind::Literal(value) => Some(Some(value)),
            Kind::Path(root) if root.path.leaps.is_empty() => {
                let start = match root.from {
                    From::Input => self.scope.whole(),
                    From::Variable(slot) => match self.slot(slot) {
                        Seq::One(Item::Ref(value)) => Some(*value),
                        _ => None,
                    },
                    From::External(_) => None,
                };
                start.map(|start| step_into(start, &root.path.head))
            }
            Kind::Variable(slot) => match self.slot(*slot) {
                Seq::One(Item::Ref(value)) => Some(Some(value)),
                _ => None,
            },
            _ => None,
        }
    }
}
