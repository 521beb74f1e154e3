//! The durable layer of jaren: sessions, documents, batches; the storage port and a memory storage.
