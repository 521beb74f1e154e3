//! The SQLite storage under the conformance kit, and against the oracle on generated histories.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use jaren_durable::{Storage, Upkeep};
use jaren_durable_kit::{Fixture, histories, run};
use jaren_sqlite::SqliteStorage;
use tempfile::TempDir;

jaren_durable_kit::laws! {{
    let folder = tempfile::tempdir().unwrap();
    Fixture::new(open(&folder)).keeping(folder)
}}

jaren_durable_kit::laws! { upkeep {
    let folder = tempfile::tempdir().unwrap();
    Fixture::new(open(&folder)).keeping(folder)
}}

fn open(folder: &TempDir) -> Arc<SqliteStorage> {
    Arc::new(SqliteStorage::open(folder.path().join("test.db")).unwrap())
}

#[test]
fn generated_histories_equal_the_oracle() {
    for seed in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = open(&folder);
        run(histories::compare(seed, 60, || storage.clone()));
    }
}

// durable H47. A storage that is dropped without being closed is a process that ends: what it answered is there for the next.
#[test]
fn generated_histories_survive_a_drop_after_every_group() {
    for seed in 100..104 {
        let folder = tempfile::tempdir().unwrap();
        run(histories::compare(seed, 40, || open(&folder)));
    }
}

#[test]
fn generated_histories_with_pruning_equal_the_oracle() {
    for seed in 300..310 {
        let folder = tempfile::tempdir().unwrap();
        let storages: [Arc<dyn Upkeep>; 2] = [open(&folder), open(&folder)];
        let mut turn = 0;
        run(histories::compare_upkeep(seed, 80, || {
            turn += 1;
            storages[turn % 2].clone()
        }));
    }
}

#[test]
fn generated_histories_may_alternate_between_two_storages() {
    for seed in 200..204 {
        let folder = tempfile::tempdir().unwrap();
        let storages: [Arc<dyn Storage>; 2] = [open(&folder), open(&folder)];
        let mut turn = 0;
        run(histories::compare(seed, 60, || {
            turn += 1;
            storages[turn % 2].clone()
        }));
    }
}
