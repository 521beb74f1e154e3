//! Other embedded stores doing what crates/jaren-sqlite/benches/store does, with the same keys in the lines that it prints.
//!
//! A commit of a session is two entries: the commit's own, and a change of 200 bytes. Neither store groups the commits of
//! several callers by itself, so a caller at a time stands for one, and a transaction of 8, 64 or 256 commits for as many
//! callers whose commits share a sync perfectly. `store-bench FOLDER SECONDS`.
use std::path::Path;
use std::time::{Duration, Instant};

const CALLERS: [u64; 4] = [1, 8, 64, 256];
const CHANGE: usize = 200;
const NOISE: usize = 1 << 20;

type Key = [u8; 24];

fn key(session: u64, document: u64, seq: u64) -> Key {
    let mut key = [0; 24];
    for (place, number) in key.chunks_exact_mut(8).zip([session, document, seq]) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    key
}

/// A store that takes some entries in one durable transaction, and gives one back.
trait Store: Sized {
    const NAME: &'static str;
    fn open(folder: &Path) -> Self;
    fn commit(&self, entries: &[(Key, &[u8])]);
    fn read(&self, key: &Key) -> Vec<u8>;
}

const TABLE: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("log");

struct Redb(redb::Database);

impl Store for Redb {
    const NAME: &'static str = "redb";

    fn open(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        Self(redb::Database::create(folder.join("store.redb")).unwrap())
    }

    fn commit(&self, entries: &[(Key, &[u8])]) {
        let transaction = self.0.begin_write().unwrap();
        {
            let mut table = transaction.open_table(TABLE).unwrap();
            for (key, value) in entries {
                table.insert(key.as_slice(), *value).unwrap();
            }
        }
        transaction.commit().unwrap();
    }

    fn read(&self, key: &Key) -> Vec<u8> {
        use redb::ReadableDatabase;
        let table = self.0.begin_read().unwrap().open_table(TABLE).unwrap();
        let value = table.get(key.as_slice()).unwrap().unwrap();
        value.value().to_vec()
    }
}

struct Fjall(fjall::Database, fjall::Keyspace);

impl Store for Fjall {
    const NAME: &'static str = "fjall";

    fn open(folder: &Path) -> Self {
        let database = fjall::Database::builder(folder).open().unwrap();
        let log = database.keyspace("log", fjall::KeyspaceCreateOptions::default).unwrap();
        Self(database, log)
    }

    fn commit(&self, entries: &[(Key, &[u8])]) {
        let mut batch = self.0.batch();
        for (key, value) in entries {
            batch.insert(&self.1, key.as_slice(), *value);
        }
        batch.commit().unwrap();
        self.0.persist(fjall::PersistMode::SyncData).unwrap();
    }

    fn read(&self, key: &Key) -> Vec<u8> {
        self.1.get(key.as_slice()).unwrap().unwrap().to_vec()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, seconds) = (Path::new(&words[0]), Duration::from_secs_f64(words[1].parse().unwrap()));
    all::<Redb>(&folder.join("redb"), seconds);
    all::<Fjall>(&folder.join("fjall"), seconds);
}

fn all<S: Store>(folder: &Path, time: Duration) {
    for callers in CALLERS {
        let _ = std::fs::remove_dir_all(folder);
        commits(&S::open(folder), callers, time);
    }
    let _ = std::fs::remove_dir_all(folder);
    size(&S::open(folder));
    for commits in [1, 1_000, 100_000] {
        let _ = std::fs::remove_dir_all(folder);
        age::<S>(folder, commits);
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Bytes that no store can write shorter.
fn noise() -> Vec<u8> {
    let mut word = 0x9E37_79B9_7F4A_7C15_u64;
    let next = |_| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word.to_le_bytes()
    };
    (0..NOISE / 8).flat_map(next).collect()
}

/// Other bytes for each commit.
fn piece(noise: &[u8], number: u64, bytes: usize) -> &[u8] {
    let from = (number as usize).wrapping_mul(977) % (noise.len() - bytes);
    &noise[from..from + bytes]
}

/// The entries of the next commit of each of so many sessions.
fn entries(sessions: u64, seq: u64, noise: &[u8]) -> Vec<(Key, &[u8])> {
    let of = |session| {
        let change = piece(noise, seq * sessions + session, CHANGE);
        [(key(session, 0, seq), &change[..8]), (key(session, 1, seq), change)]
    };
    (0..sessions).flat_map(of).collect()
}

fn commits<S: Store>(store: &S, callers: u64, time: Duration) {
    let change = noise();
    let (mut latencies, mut seq) = (Vec::new(), 0);
    let warm = Instant::now();
    while warm.elapsed() < time / 2 {
        seq += 1;
        store.commit(&entries(callers, seq, &change));
    }
    let (bytes, begun) = (bytes_written(), Instant::now());
    while begun.elapsed() < time {
        seq += 1;
        let entries = entries(callers, seq, &change);
        let at = Instant::now();
        store.commit(&entries);
        latencies.push(at.elapsed());
    }
    let (elapsed, commits) = (begun.elapsed(), latencies.len() as u64 * callers);
    let bytes = (bytes_written() - bytes) / commits;
    latencies.sort_unstable();
    let at = |part: usize| latencies[(latencies.len() - 1) * part / 100].as_secs_f64() * 1e6;
    println!(
        r#"{{"who":"{}","callers":{callers},"per_s":{:.0},"p50_us":{:.1},"p99_us":{:.1},"bytes":{bytes}}}"#,
        S::NAME,
        commits as f64 / elapsed.as_secs_f64(),
        at(50),
        at(99),
    );
}

/// A document is one entry here, so that a change of it writes it whole.
fn size<S: Store>(store: &S) {
    const COMMITS: u64 = 100;
    for kilobytes in [1_usize, 100] {
        let noise = noise();
        let before = bytes_written();
        for seq in 1..=COMMITS {
            let document = piece(&noise, seq, kilobytes << 10);
            store.commit(&[(key(0, 0, seq), &document[..8]), (key(0, 1, 0), document)]);
        }
        one(S::NAME, "bytes of a change, mean", kilobytes as u64, ((bytes_written() - before) / COMMITS) as f64);
    }
}

fn age<S: Store>(folder: &Path, commits: u64) {
    const TOGETHER: u64 = 1_000;
    let change = noise();
    let store = S::open(folder);
    for first in (1..=commits).step_by(TOGETHER as usize) {
        let together: Vec<_> =
            (first..(first + TOGETHER).min(commits + 1)).flat_map(|seq| entries(1, seq, &change)).collect();
        store.commit(&together);
    }
    drop(store);
    let begun = Instant::now();
    let store = S::open(folder);
    one(S::NAME, "open", commits, begun.elapsed().as_secs_f64() * 1e6);
    let begun = Instant::now();
    store.read(&key(0, 1, commits));
    one(S::NAME, "first read", commits, begun.elapsed().as_secs_f64() * 1e6);
}

fn one(who: &str, what: &str, of: u64, value: f64) {
    println!(r#"{{"who":"{who}","what":"{what}","of":{of},"value":{value:.1}}}"#);
}

/// What this process has handed to the system to write.
fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}
