//! The bounds of what a storage takes, each checked before anything is written.
//!
//! They are generous: their purpose is that no input can make a storage or a reader use unbounded memory.

/// Bytes of a session id.
pub const SESSION_ID_BYTES_MAX: usize = 512;
/// Bytes of a session's or a document's kind.
pub const KIND_BYTES_MAX: usize = 128;
/// Bytes of a family member's key.
pub const KEY_BYTES_MAX: usize = 2048;
/// Bytes of a label's name.
pub const LABEL_NAME_BYTES_MAX: usize = 64;
/// Bytes of a label's value.
pub const LABEL_VALUE_BYTES_MAX: usize = 512;
/// Labels that one batch may set on one session.
pub const LABELS_MAX: usize = 32;
/// Sessions that one batch may touch.
pub const BATCH_SESSIONS_MAX: usize = 64;
/// Document writes of one session in one batch.
pub const SESSION_WRITES_MAX: usize = 4096;
/// Jobs that one batch may write, and leases that it may name.
pub const BATCH_JOBS_MAX: usize = 4096;
/// Bytes of one stored base or delta, as compact JSON text.
pub const BODY_BYTES_MAX: usize = 64 << 20;
/// Bytes of all bodies of one batch.
pub const BATCH_BYTES_MAX: usize = 128 << 20;
/// Nesting of a stored value; what is deeper is refused when it is written, so that all that is stored can be read.
pub const DEPTH_MAX: u32 = 512;
/// Items of one page; a larger `limit` is cut to it.
pub const PAGE_ITEMS_MAX: usize = 1000;
/// Bytes of bodies after which a page ends early (it always holds at least one item).
pub const PAGE_BYTES_MAX: usize = 16 << 20;
/// Deltas that gather over a base before the next revision is a base again (durable decision 4).
pub const DELTAS_MAX: u32 = 32;
/// For so many bytes of the base one delta more may gather: reading them takes about as long as reading it.
pub const BASE_BYTES_PER_DELTA: usize = 1024;
