//! What a host lends to its tasks beside their input: pools, clients, leases.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Values of the host's own that handlers ask for by their type ([`TaskContext::resource`](crate::TaskContext::resource)).
///
/// They never leave the process: nothing here is stored, compared, traced or part of a run's identity, and their `Debug`
/// is not asked. Each task holds those of its drive until it has ended, so a value is dropped after the last task that
/// could use it, whatever ended the run: its end, a failure, a cancellation, or a drive whose future was dropped.
///
/// ```
/// use jaren_engine::Resources;
///
/// struct Pool(u8);
///
/// let resources = Resources::new().with(Pool(4)).with(String::from("eu-1"));
/// assert_eq!(format!("{resources:?}"), "Resources { .. }");
/// ```
#[derive(Clone, Default)]
pub struct Resources {
    held: Arc<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Resources {
    /// No resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with this value. A type has one value: a later one takes its place.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        Arc::make_mut(&mut self.held).insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// These, and those of `others` whose types are not among them.
    pub(crate) fn or(&self, others: &Resources) -> Resources {
        if self.held.is_empty() || others.held.is_empty() {
            return if self.held.is_empty() { others.clone() } else { self.clone() };
        }
        let mut held = (*others.held).clone();
        held.extend(self.held.iter().map(|(of, value)| (*of, Arc::clone(value))));
        Resources { held: Arc::new(held) }
    }

    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(self.held.get(&TypeId::of::<T>())?).downcast().ok()
    }

    pub(crate) fn has(&self, need: &Need) -> bool {
        self.held.contains_key(&need.of)
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").finish_non_exhaustive()
    }
}

/// A resource that a task cannot do without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    of: TypeId,
    name: &'static str,
}

impl Need {
    pub(crate) fn of<T: Any>() -> Self {
        Need { of: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// What is wrong when it is not there.
    pub(crate) fn missing(&self) -> String {
        format!("the host lends no resource of type `{}`; give it to the engine or to the drive", self.name)
    }
}
