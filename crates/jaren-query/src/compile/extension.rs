//! The operator that a format above adds to the language.

use jaren_json::Value;

use super::Compiler;
use crate::error::SHAPE;
use crate::extension::{Reading, Refusal};
use crate::place::Place;
use crate::plan::{Expr, Extended, Kind, Many};

impl<'d> Compiler<'d> {
    /// Whether a `$`-name is the extension's operator.
    pub(super) fn is_extension(&self, name: &str) -> bool {
        self.extension.as_ref().is_some_and(|extension| extension.name() == name)
    }

    /// The extension's phrase that stands at `place`, its argument at `key`.
    pub(super) fn extended(
        &mut self,
        argument: &'d Value,
        [place, key]: [Place; 2],
        depth: usize,
    ) -> Option<Expr> {
        let reading = match self.extension.as_mut()?.read(argument) {
            Ok(reading) => reading,
            Err(refusal) => {
                self.refused(refusal, key);
                return Some(Expr { place, kind: Kind::Literal(Value::Null) });
            }
        };
        let Reading { operand, tag, refusal } = reading;
        let operand = match operand {
            None => self.expr(argument, key, depth + 1),
            Some(index) => {
                let place = self.places.element(key, index);
                self.expr(argument.at(index).unwrap_or(&Value::Null), place, depth + 1)
            }
        };
        if let Some(refusal) = refusal {
            self.refused(refusal, key);
        }
        Some(Expr { place, kind: Kind::Many(Many::Extended(Box::new(Extended { tag, operand }))) })
    }

    fn refused(&mut self, Refusal { element, message }: Refusal, key: Place) {
        let place = element.map_or(key, |index| self.places.element(key, index));
        self.defect(SHAPE, place, message);
    }
}
