CREATE TABLE version (version INTEGER NOT NULL) STRICT;
INSERT INTO version VALUES (0);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    started TEXT NOT NULL,
    preset TEXT NOT NULL,
    loss_goal REAL NOT NULL,
    complete INTEGER NOT NULL,
    nicety TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL
) STRICT;
CREATE INDEX runs_started ON runs (started);
CREATE TABLE files (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;
CREATE TABLE figures (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    cell TEXT NOT NULL,
    metric TEXT NOT NULL,
    mean REAL, min REAL, max REAL,
    repeats INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (cell, metric, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX figures_run ON figures (run);
CREATE TABLE labels (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (run, label)
) STRICT, WITHOUT ROWID;
