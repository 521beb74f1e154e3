//! The memory storage under the kit. As the oracle it is also compared with itself, which proves the comparison runs.

use std::sync::Arc;

use jaren_durable::{MemoryStorage, Storage, Upkeep};
use jaren_durable_kit::{Fixture, histories, run};

jaren_durable_kit::laws! { Fixture::new(Arc::new(MemoryStorage::new())) }

#[test]
fn generated_histories_are_deterministic() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    run(histories::compare(1, 50, || storage.clone()));
    let storage: Arc<dyn Upkeep> = Arc::new(MemoryStorage::new());
    run(histories::compare_upkeep(2, 50, || storage.clone()));
}

jaren_durable_kit::laws! { upkeep Fixture::new(Arc::new(MemoryStorage::new())) }
