//! The conformance kit of jaren storages: what every storage must do, as named laws.
//!
//! A host runs it on its own storage with three lines in a test:
//!
//! ```
//! use std::sync::Arc;
//! use jaren_durable::MemoryStorage;
//! use jaren_durable_kit::Fixture;
//!
//! jaren_durable_kit::laws! { Fixture::new(Arc::new(MemoryStorage::new())) }
//! ```
//!
//! Each law becomes a test of its own name. [`histories::compare`] runs generated histories on a storage and on the
//! memory storage, and compares all that can be read. [`faults::Faults`] makes any storage fail when a test wants it to.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a law fails by panicking, as a test does"
)]

mod draw;
pub mod faults;
pub mod histories;
pub mod laws;
mod steps;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use jaren_durable::Storage;

/// A fresh, empty storage for one law, and what must live as long as it.
pub struct Fixture<S: ?Sized = dyn Storage> {
    storage: Arc<S>,
    kept: Option<Box<dyn Any>>,
}

impl<S: Storage + ?Sized> Fixture<S> {
    /// A storage that needs nothing else.
    pub fn new(storage: Arc<S>) -> Self {
        Self { storage, kept: None }
    }

    /// Keeps something, such as a temporary folder, until the law has ended.
    #[must_use]
    pub fn keeping(self, kept: impl Any) -> Self {
        Self { kept: Some(Box::new(kept)), ..self }
    }

    /// The storage.
    pub fn storage(&self) -> Arc<S> {
        self.storage.clone()
    }
}

impl<S: Storage + ?Sized> fmt::Debug for Fixture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.is_some();
        f.debug_struct("Fixture").field("storage", &&*self.storage).field("kept", &kept).finish()
    }
}

/// Runs one law to its end on a runtime of its own.
pub fn run(law: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime starts").block_on(law);
}

/// Makes each law a test of its own name, each on a fresh [`Fixture`] from the expression.
///
/// `laws! { upkeep … }` are the laws of [`Upkeep`](jaren_durable::Upkeep), for a storage that has it; a storage without
/// jobs keeps those of `laws! { sessions … }`, which with `laws! { jobs … }` are all the others.
#[macro_export]
macro_rules! laws {
    (upkeep $fixture:expr) => {
        $crate::laws! { @each $fixture;
            upkeep::a_sound_store_is_clean_and_counted
            upkeep::pruning_keeps_what_it_promises
            upkeep::pruning_takes_from_one_session_only
            upkeep::a_handle_that_missed_what_was_pruned_begins_anew
            upkeep::a_subscriber_is_told_of_what_was_pruned
            removal::a_removed_session_is_gone_and_leaves_no_trace_in_others
            removal::a_session_that_moved_stays
            removal::whoever_knew_a_removed_session_is_told
            removal::another_session_of_the_name_is_not_the_removed_one
            removal::sessions_are_removed_by_age
        }
    };
    (jobs $fixture:expr) => {
        $crate::laws! { @each $fixture;
            jobs::jobs_are_enqueued_once_and_with_their_batch
            jobs::a_lease_holds_until_it_ends_or_is_given_back
            jobs::leases_and_versions_are_conditions_of_a_batch
            jobs::a_change_of_a_handle_carries_jobs_and_leases
            jobs::claims_take_what_is_due_in_order
            jobs::concurrent_claims_share_no_job
            jobs::jobs_are_listed_by_id
            jobs::jobs_are_counted_by_kind_and_state
        }
    };
    (sessions $fixture:expr) => {
        $crate::laws! { @each $fixture;
            conditions::an_absent_session_reads_as_nothing
            conditions::a_session_is_created_once
            conditions::a_stale_head_is_a_conflict_that_changes_nothing
            conditions::a_batch_may_name_the_session_that_it_means
            conditions::a_group_answers_each_batch
            conditions::a_batch_sees_those_before_it
            conditions::two_sessions_change_together_or_not_at_all
            conditions::a_refused_batch_changes_nothing
            conditions::limits_are_kept_at_their_edge
            conditions::concurrent_writers_lose_no_update
            conditions::a_dropped_apply_is_whole_or_nothing
            conditions::a_storage_has_jobs_or_says_so
            handles::a_handle_settles_every_fault
            handles::a_part_of_a_group_is_settled_session_by_session
            handles::a_failed_read_changes_nothing
            handles::a_plan_is_committed_by_whoever_applies_it
            handles::a_commit_may_be_dropped_at_every_poll
            handles::a_read_may_be_dropped_at_every_poll
            documents::revisions_replay_to_the_value
            documents::a_fresh_handle_writes_what_a_kept_one_does
            documents::a_long_chain_across_a_replacement_is_exact
            documents::full_retention_keeps_every_point
            documents::current_retention_refuses_the_past
            documents::addresses_are_lossless
            documents::lifetimes_are_half_open
            documents::values_come_back_exactly
            documents::a_small_change_is_stored_small
            documents::a_delta_that_does_not_apply_harms_one_document_only
            documents::an_update_brings_a_document_to_the_value
            documents::a_version_change_is_a_base
            documents::bulk_is_stored_newest_and_counted
            documents::scopes_are_told_apart
            listings::families_page_in_key_order
            listings::a_family_at_a_point_has_its_members_then
            listings::sessions_page_by_kind_and_label
            listings::documents_are_listed_by_scope_and_all
            listings::the_change_log_tells_what_each_commit_changed
            listings::moved_wakes_whoever_waits
            publications::a_follower_is_complete_and_in_order
            publications::nobody_who_commits_waits_for_a_subscriber
            publications::a_subscriber_that_joins_has_a_consistent_start
            publications::a_publication_has_whole_values_and_what_led_to_them
            publications::a_subscriber_may_join_beside_writers
        }
    };
    ($fixture:expr) => {
        $crate::laws! { sessions $fixture }
        $crate::laws! { jobs $fixture }
    };
    (@each $fixture:expr; $($module:ident :: $law:ident)*) => {$(
        #[test]
        fn $law() {
            $crate::run(async {
                let fixture = $fixture;
                $crate::laws::$module::$law(fixture.storage()).await;
            });
        }
    )*};
}
