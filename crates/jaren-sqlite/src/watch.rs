//! Waiting for commits: of this process, told by the writer; of other processes, found by looking.
//!
//! A waiter first registers and then reads the head, so no commit falls between. While anybody waits, a thread looks
//! whether another process has committed, reads the new end of the log, and wakes those whose sessions are in it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jaren_durable::SessionId;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::open::ReaderSource;
use crate::schema::REMOVALS;

/// How often the thread looks for commits of other processes.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Commits since the last look from which on everybody is woken instead of picking.
const PICKED_MAX: i64 = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Watch {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<SessionId, Waiting>,
    closing: bool,
}

#[derive(Debug)]
struct Waiting {
    waiters: usize,
    tick: watch::Sender<()>,
}

/// One who waits for a session; leaves when dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    watch: Arc<Watch>,
    session: SessionId,
    ticks: watch::Receiver<()>,
}

impl Waiter {
    /// Forgets ticks so far; called before the head is read.
    pub(crate) fn begin(&mut self) {
        self.ticks.mark_unchanged();
    }

    /// Waits until the session may have moved. False if the storage was closed.
    pub(crate) async fn ticked(&mut self) -> bool {
        self.ticks.changed().await.is_ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut state = self.watch.state();
        if let Some(waiting) = state.waiting.get_mut(&self.session) {
            waiting.waiters -= 1;
            if waiting.waiters == 0 {
                state.waiting.remove(&self.session);
            }
        }
    }
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(self: &Arc<Self>, session: &SessionId) -> Waiter {
        let mut state = self.state();
        let entry = state.waiting.entry(session.clone());
        let waiting = entry.or_insert_with(|| Waiting { waiters: 0, tick: watch::Sender::new(()) });
        waiting.waiters += 1;
        let ticks = waiting.tick.subscribe();
        drop(state);
        self.wake.notify_one();
        Waiter { watch: self.clone(), session: session.clone(), ticks }
    }

    /// Wakes those who wait for one of the sessions.
    pub(crate) fn tick<'a>(&self, sessions: impl Iterator<Item = &'a SessionId>) {
        let state = self.state();
        if state.waiting.is_empty() {
            return;
        }
        for session in sessions {
            if let Some(waiting) = state.waiting.get(session) {
                waiting.tick.send_replace(());
            }
        }
    }

    fn tick_all(&self) {
        for waiting in self.state().waiting.values() {
            waiting.tick.send_replace(());
        }
    }

    /// Ends the thread and all waiting.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        state.waiting.clear();
        drop(state);
        self.wake.notify_one();
    }

    /// Starts the thread.
    pub(crate) fn start(self: &Arc<Self>, source: ReaderSource) -> std::io::Result<JoinHandle<()>> {
        let this = self.clone();
        std::thread::Builder::new().name("jaren-watch".to_owned()).spawn(move || this.run(&source))
    }

    fn run(&self, source: &ReaderSource) {
        let mut look = None;
        let mut state = self.state();
        loop {
            while state.waiting.is_empty() && !state.closing {
                look = None; // what happens while nobody waits need not be picked apart
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.closing {
                return;
            }
            drop(state);
            self.look(source, &mut look);
            state = self.state();
            if !state.closing {
                state = self.wake.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn look(&self, source: &ReaderSource, look: &mut Option<Look>) {
        let looked = match look {
            None => Look::begin(source).map(|begun| {
                *look = Some(begun);
                None
            }),
            Some(look) => look.moved(),
        };
        match looked {
            Ok(Some(sessions)) => self.tick(sessions.iter()),
            Ok(None) => self.tick_all(),
            Err(error) => {
                // Whoever waits reads for himself, and reports what is wrong.
                tracing::debug!(target: "jaren::sqlite", %error, "cannot look for commits");
                *look = None;
                self.tick_all();
            }
        }
    }
}

/// Where the last look ended.
struct Look {
    connection: Connection,
    data_version: i64,
    entry: i64,
}

impl Look {
    fn begin(source: &ReaderSource) -> rusqlite::Result<Self> {
        let connection = source.connect()?;
        let data_version = data_version(&connection)?;
        let entry = last_entry(&connection)?;
        Ok(Self { connection, data_version, entry })
    }

    /// The sessions that moved since the last look; `None` for too many to pick.
    fn moved(&mut self) -> rusqlite::Result<Option<Vec<SessionId>>> {
        let now = data_version(&self.connection)?;
        if now == self.data_version {
            return Ok(Some(Vec::new()));
        }
        self.data_version = now;
        let (from, to) = (self.entry, last_entry(&self.connection)?);
        self.entry = to;
        if to.saturating_sub(from) > PICKED_MAX {
            return Ok(None);
        }
        let sql = "SELECT 1 FROM log WHERE session = ?1 AND entry > ?2";
        if self.connection.prepare_cached(sql)?.exists([REMOVALS, from])? {
            return Ok(None); // who waited for what is gone has no name here
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT s.id FROM log l JOIN sessions s ON s.number = l.session
             WHERE l.entry > ?1 AND l.entry <= ?2 AND l.document = 0",
        )?;
        let ids = statement.query_map([from, to], |row| row.get::<_, Arc<str>>(0))?;
        let ids: Vec<Arc<str>> = ids.collect::<rusqlite::Result<_>>()?;
        Ok(Some(ids.into_iter().filter_map(|id| SessionId::new(id).ok()).collect()))
    }
}

/// A number that changes when another connection has committed.
pub(crate) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

fn last_entry(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(max(entry), 0) FROM log";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}
