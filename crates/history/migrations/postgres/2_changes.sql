CREATE TABLE nicety.changes (
    run BIGINT NOT NULL REFERENCES nicety.runs (id) ON DELETE CASCADE,
    cell TEXT COLLATE "C" NOT NULL,
    metric TEXT COLLATE "C" NOT NULL,
    before DOUBLE PRECISION NOT NULL,
    after DOUBLE PRECISION NOT NULL,
    ratio DOUBLE PRECISION NOT NULL,
    p DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (cell, metric, run)
);
CREATE INDEX changes_run ON nicety.changes (run);
CREATE VIEW nicety.run_facts AS SELECT
    id AS run,
    CASE WHEN started ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d' THEN started::timestamptz END AS time,
    name, complete, preset, loss_goal, nicety, kernel, cpu_model,
    ARRAY(SELECT label FROM nicety.labels WHERE labels.run = runs.id ORDER BY label) AS labels
FROM nicety.runs;
CREATE VIEW nicety.points AS SELECT
    facts.*, cell, metric, mean AS value, min, max, repeats, verdict
FROM nicety.figures JOIN nicety.run_facts AS facts USING (run);
CREATE VIEW nicety.change_points AS SELECT
    facts.*, cell, metric, before, after, ratio, p
FROM nicety.changes JOIN nicety.run_facts AS facts USING (run);
