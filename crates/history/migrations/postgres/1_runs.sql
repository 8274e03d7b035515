CREATE SCHEMA nicety;
CREATE TABLE nicety.version (version BIGINT NOT NULL);
INSERT INTO nicety.version VALUES (0);
CREATE TABLE nicety.runs (
    id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    identity TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    started TEXT COLLATE "C" NOT NULL,
    preset TEXT NOT NULL,
    loss_goal DOUBLE PRECISION NOT NULL,
    complete BOOLEAN NOT NULL,
    nicety TEXT NOT NULL,
    kernel TEXT NOT NULL,
    cpu_model TEXT NOT NULL
);
CREATE INDEX runs_started ON nicety.runs (started);
CREATE TABLE nicety.files (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    packed BYTEA NOT NULL,
    PRIMARY KEY (run, name)
);
ALTER TABLE nicety.files ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE TABLE nicety.figures (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    cell TEXT COLLATE "C" NOT NULL,
    metric TEXT COLLATE "C" NOT NULL,
    mean DOUBLE PRECISION, min DOUBLE PRECISION, max DOUBLE PRECISION,
    repeats BIGINT NOT NULL,
    verdict TEXT NOT NULL,
    PRIMARY KEY (cell, metric, run)
);
CREATE INDEX figures_run ON nicety.figures (run);
CREATE TABLE nicety.labels (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    label TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, label)
);
