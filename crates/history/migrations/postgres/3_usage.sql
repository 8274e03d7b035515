CREATE TABLE nicety.usage (
    host TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    start BIGINT NOT NULL,
    sent_bytes BIGINT NOT NULL, sent_frames BIGINT NOT NULL, sent_unseen BIGINT NOT NULL,
    sent_least BIGINT NOT NULL, sent_most BIGINT NOT NULL,
    received_bytes BIGINT NOT NULL, received_frames BIGINT NOT NULL, received_unseen BIGINT NOT NULL,
    received_least BIGINT NOT NULL, received_most BIGINT NOT NULL,
    limited_ms BIGINT NOT NULL, watched_ms BIGINT NOT NULL,
    PRIMARY KEY (start, tenant, host)
);
CREATE VIEW nicety.usage_rates AS SELECT
    to_timestamp(start) AS time, host, tenant,
    sent_bytes * 8 / 300.0 AS sent_bps, received_bytes * 8 / 300.0 AS received_bps,
    limited_ms / 1000.0 AS limited_s, watched_ms / 1000.0 AS watched_s
FROM nicety.usage;
