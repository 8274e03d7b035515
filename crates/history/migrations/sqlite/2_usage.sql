CREATE TABLE usage (
    host TEXT NOT NULL,
    tenant TEXT NOT NULL,
    start INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL, sent_frames INTEGER NOT NULL, sent_unseen INTEGER NOT NULL,
    sent_least INTEGER NOT NULL, sent_most INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL, received_frames INTEGER NOT NULL, received_unseen INTEGER NOT NULL,
    received_least INTEGER NOT NULL, received_most INTEGER NOT NULL,
    limited_ms INTEGER NOT NULL, watched_ms INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (start, tenant, host)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_changed ON usage (changed);
CREATE TABLE book (
    port TEXT NOT NULL PRIMARY KEY,
    line TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE book_state (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
