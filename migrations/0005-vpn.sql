-- Machines that carry traffic. An endpoint that is not set follows the operator's settings.
CREATE TABLE nodes (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('gateway', 'vpn')),
  name TEXT NOT NULL UNIQUE,
  location TEXT NOT NULL,
  country_code TEXT,
  city TEXT,
  endpoint_host TEXT,
  endpoint_port BIGINT CHECK (endpoint_port BETWEEN 1 AND 65535),
  public_key TEXT UNIQUE CHECK (kind = 'gateway' OR public_key IS NOT NULL),
  -- Sealed, and only of a node whose keys the shop has made.
  private_key BYTEA,
  state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
  version TEXT,
  last_seen_at BIGINT,
  created_at BIGINT NOT NULL
);

-- A subscription as it stands. What it was paid with stands in vpn_terms, and adds up to it.
CREATE TABLE vpn_subscriptions (
  uuid TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL,
  anchor_day BIGINT NOT NULL CHECK (anchor_day BETWEEN 1 AND 31),
  expires_at BIGINT NOT NULL,
  device_limit BIGINT NOT NULL CHECK (device_limit > 0),
  traffic_limit BIGINT CHECK (traffic_limit >= 0),
  speed_mbit BIGINT CHECK (speed_mbit > 0),
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  auto_renew_months BIGINT CHECK (auto_renew_months > 0),
  -- When a renewal that was refused may be tried again, and why it was refused.
  renew_after BIGINT NOT NULL,
  renew_problem TEXT,
  link_digest BYTEA NOT NULL UNIQUE,
  link_secret BYTEA,
  created_at BIGINT NOT NULL,
  disabled_at BIGINT,
  swept_at BIGINT,
  deleted_at BIGINT
);
CREATE INDEX vpn_subscriptions_of_customer ON vpn_subscriptions (customer_id, uuid);
CREATE INDEX vpn_subscriptions_to_renew ON vpn_subscriptions (expires_at)
  WHERE auto_renew_months IS NOT NULL AND deleted_at IS NULL AND disabled_at IS NULL;
CREATE INDEX vpn_subscriptions_to_sweep ON vpn_subscriptions (expires_at)
  WHERE swept_at IS NULL AND deleted_at IS NULL;

-- Time that was paid for: one row for each order, each beginning where the one before it ends, or when it was bought.
CREATE TABLE vpn_terms (
  subscription_uuid TEXT NOT NULL REFERENCES vpn_subscriptions (uuid),
  seq BIGINT NOT NULL CHECK (seq > 0),
  order_id TEXT NOT NULL UNIQUE,
  months BIGINT NOT NULL CHECK (months > 0),
  price BIGINT NOT NULL CHECK (price >= 0),
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL CHECK (ends_at > starts_at),
  -- Bytes that came with it, or none for traffic without a limit; and how many had been used when it was bought.
  traffic_grant BIGINT CHECK (traffic_grant > 0),
  used_before BIGINT NOT NULL CHECK (used_before >= 0),
  refund TEXT NOT NULL CHECK (refund IN ('pro_rata', 'none')),
  refunded BIGINT NOT NULL CHECK (refunded BETWEEN 0 AND price),
  PRIMARY KEY (subscription_uuid, seq)
);

-- Devices. A removed one keeps its row, because what it has carried still counts.
CREATE TABLE vpn_peers (
  id TEXT PRIMARY KEY,
  subscription_uuid TEXT NOT NULL REFERENCES vpn_subscriptions (uuid),
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  -- Sealed; none when the customer brought the key, or when the device is removed.
  private_key BYTEA CHECK (private_key IS NULL OR removed_at IS NULL),
  own_key BIGINT NOT NULL CHECK (own_key IN (0, 1)),
  ipv4 BIGINT NOT NULL,
  ipv6 TEXT NOT NULL,
  location TEXT,
  received BIGINT NOT NULL CHECK (received >= 0),
  sent BIGINT NOT NULL CHECK (sent >= 0),
  last_handshake_at BIGINT,
  created_at BIGINT NOT NULL,
  removed_at BIGINT,
  changed_at BIGINT NOT NULL
);
CREATE INDEX vpn_peers_of_subscription ON vpn_peers (subscription_uuid, id);
CREATE INDEX vpn_peers_held ON vpn_peers (subscription_uuid, id) WHERE removed_at IS NULL;
-- What nodes ask for again and again: everything that changed since they last asked.
CREATE INDEX vpn_peers_by_change ON vpn_peers (changed_at, id);
-- No key and no address is held twice at once.
CREATE UNIQUE INDEX vpn_peers_key ON vpn_peers (public_key) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX vpn_peers_ipv4 ON vpn_peers (ipv4) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX vpn_peers_ipv6 ON vpn_peers (ipv6) WHERE removed_at IS NULL;

-- Every address that was ever given out: held by a device, or resting until `free_at`. One row an address, so it cannot be
-- held and rest, nor be held twice.
CREATE TABLE vpn_addresses (
  ipv4 BIGINT PRIMARY KEY,
  peer_id TEXT UNIQUE,
  free_at BIGINT NOT NULL
);
CREATE INDEX vpn_addresses_free ON vpn_addresses (free_at, ipv4) WHERE peer_id IS NULL;
