-- How often somebody has asked, where several shops share one database. `back_at` is when all that was taken from a bucket will
-- have come back, in microseconds. Nothing is lost with it, so PostgreSQL need not write it down twice.
-- @sqlite
CREATE TABLE rate_buckets (
-- @postgres
CREATE UNLOGGED TABLE rate_buckets (
-- @both
  name TEXT PRIMARY KEY,
  back_at BIGINT NOT NULL
);
