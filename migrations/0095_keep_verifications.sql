-- Breaks running code: no
set local lock_timeout = '5s';

-- The results of `sliproad verify`, for the dashboard.
create table verifications (
  id uuid primary key,
  at timestamptz not null,
  accounts integer not null,
  -- The first wrong row; null when there was none.
  fault text,
  -- Whether heads in a log file were compared, too.
  has_anchors boolean not null,
  took_ms integer not null,
  -- Of all columns, with a key that the database does not have.
  mac bytea not null
);
create index verifications_newest on verifications (at desc);
