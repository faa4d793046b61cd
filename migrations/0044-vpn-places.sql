-- Machines that use VPN devices through gateways now: a device and a digest of the network from which it connects. Rows
-- that have not been active for minutes are deleted.
CREATE TABLE vpn_places (
  device_id TEXT NOT NULL,
  place TEXT NOT NULL,
  subscription_uuid TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  active_at BIGINT NOT NULL,
  PRIMARY KEY (device_id, place)
);
CREATE INDEX vpn_places_of_subscription ON vpn_places (subscription_uuid);
CREATE INDEX vpn_places_by_time ON vpn_places (active_at);
