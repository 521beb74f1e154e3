//! The operator that a format above adds to the language.

use jaren_json::Value;

use super::item::Item;
use super::{Run, Sink, Stop};
use crate::budget::{Allowance, Spent};
use crate::error::EvalError;
use crate::extension::{Located, Location};
use crate::path::Around;
use crate::plan::{Expr, Extended, From, Kind};

impl<'a> Run<'a> {
    /// The whole operand is evaluated before the host sees its first item, and the host has seen the last one before the
    /// first answer is handed on: whoever receives an answer may fail.
    pub(super) fn extended(&mut self, phrase: &'a Extended, sink: Sink<'_, 'a>) -> Result<(), Stop> {
        let Extended { tag, operand } = phrase;
        let mut answer = Vec::new();
        if let Some(nodes) = self.located(operand)? {
            for (value, location) in nodes {
                self.apply(*tag, value, Some(location), &mut answer)?;
            }
        } else {
            for item in self.seq(operand)?.as_slice() {
                self.apply(*tag, item.value(), None, &mut answer)?;
            }
        }
        answer.into_iter().try_for_each(|value| sink(self, Item::Own(value)))
    }

    fn apply(
        &mut self,
        tag: usize,
        item: &Value,
        location: Option<Location>,
        answer: &mut Vec<Value>,
    ) -> Result<(), EvalError> {
        let mut allowance = Allowance::default();
        self.exchange(&mut allowance);
        // Only `ExtendedQuery` compiles an extension, and it never evaluates without a host.
        let applied = self
            .host
            .as_deref_mut()
            .map_or(Ok(()), |host| host.apply(tag, (item, location), &mut allowance, answer));
        self.exchange(&mut allowance);
        applied
    }

    /// Exchanges what is left for this evaluation and for others.
    pub(crate) fn exchange(&mut self, allowance: &mut Allowance) {
        std::mem::swap(&mut self.steps_left, &mut allowance.steps);
        std::mem::swap(&mut self.work, &mut allowance.work);
    }

    /// The nodes that an operand selects, with their locations; nothing where it has no locations to give.
    fn located(&mut self, operand: &'a Expr) -> Result<Option<Vec<(&'a Value, Location)>>, EvalError> {
        let (from, path) = match &operand.kind {
            Kind::Input => (From::Input, None),
            Kind::External(index) => (From::External(*index), None),
            Kind::Path(root) => (root.from, Some(&root.path)),
            _ => return Ok(None),
        };
        let external = match from {
            From::Input => None,
            From::External(index) => self.plan.externals.get(index).map(|name| &**name),
            From::Variable(_) => return Ok(None),
        };
        let Some(location) = self.host.as_deref().and_then(|host| host.location(external)) else {
            return Ok(None);
        };
        let start = match from {
            From::External(index) => Some(self.external(index, operand.place)?),
            From::Input | From::Variable(_) => self.scope.whole(),
        };
        let Some(start) = start else { return Ok(None) };
        self.step(operand)?;
        let document = if path.is_some_and(|path| path.reads_document) { self.document() } else { None };
        let root = document.as_ref().or_else(|| self.scope.whole()).unwrap_or(&Value::Null);
        let Some(host) = self.host.as_deref_mut() else { return Ok(None) };
        let mut nodes = Vec::new();
        let around = Around { root, budget: &self.work };
        match path {
            None => nodes.push((start, location)),
            Some(path) => {
                let walked =
                    path.walk(&mut Located(host), around, (start, location), &mut |_, node| nodes.push(node));
                walked.map_err(|Spent| self.spent(operand.place))?;
            }
        }
        Ok(Some(nodes))
    }
}
