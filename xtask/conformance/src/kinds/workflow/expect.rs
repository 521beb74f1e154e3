//! The shorthand of run cases, and what of an answer is compared.

use jaren_json::{Array, Object, Value};

use crate::answer::{Rules, same};
use crate::case::Case;

/// What a case writes once and refers to.
pub(super) struct Shorthand<'a> {
    identity: Option<&'a Value>,
    dag_identities: Option<&'a Value>,
    loose_message: bool,
}

impl<'a> Shorthand<'a> {
    pub(super) fn of(case: &'a Case) -> Self {
        Self {
            identity: case.get("identity"),
            dag_identities: case.get("dagIdentities"),
            loose_message: case.is("looseMessage"),
        }
    }

    /// A run with every reference replaced by what it stands for.
    pub(super) fn expand(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text.as_str() == "@identity" => self.identity.cloned().unwrap_or_default(),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.expand(item)).collect::<Array>())
            }
            Value::Object(members) => self.dag_identity(members).unwrap_or_else(|| {
                let members = members.iter().map(|(name, value)| (name, self.expand(value)));
                Value::Object(members.collect::<Object>())
            }),
            other => other.clone(),
        }
    }

    fn dag_identity(&self, members: &Object) -> Option<Value> {
        let state = members.get("@dagIdentity")?.as_str()?;
        let identity = self.dag_identities?.get(state)?.as_object()?;
        Some(Value::Object(identity.with("input", members.get("input")?)))
    }

    /// Compares the members that the case tells: calls made together tell only how they ended, an aborted one nothing
    /// that depends on timing.
    pub(super) fn same(&self, expected: &Value, found: &Object) -> Result<(), String> {
        let told = found.iter().filter(|(name, _)| {
            expected.get(name).is_some() || matches!(*name, "status" | "result" | "error")
        });
        let found = Value::Object(told.map(|(name, value)| (name, self.cut(value))).collect::<Object>());
        same(&self.cut(expected), &found, Rules::EXACT)
    }

    /// With `looseMessage`, messages only up to the code of the query error that they quote.
    fn cut(&self, value: &Value) -> Value {
        if !self.loose_message {
            return value.clone();
        }
        match value {
            Value::String(text) => match text.find("JQ") {
                Some(at) => Value::from(text.get(..at + "JQ2001".len()).unwrap_or(text)),
                None => value.clone(),
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.cut(item)).collect::<Array>()),
            Value::Object(members) => {
                Value::Object(members.iter().map(|(name, value)| (name, self.cut(value))).collect::<Object>())
            }
            other => other.clone(),
        }
    }
}
