-- Device slots that an order added to a subscription, from the purchase to the end of its term `after_term`, which was the
-- last one then. The next term renews them.
CREATE TABLE vpn_slots (
  order_id TEXT PRIMARY KEY,
  subscription_uuid TEXT NOT NULL REFERENCES vpn_subscriptions (uuid),
  after_term BIGINT NOT NULL CHECK (after_term > 0),
  slots BIGINT NOT NULL CHECK (slots > 0),
  price BIGINT NOT NULL CHECK (price >= 0),
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL CHECK (ends_at > starts_at),
  refund TEXT NOT NULL CHECK (refund IN ('pro_rata', 'none')),
  refunded BIGINT NOT NULL CHECK (refunded BETWEEN 0 AND price)
);
CREATE INDEX vpn_slots_of_subscription ON vpn_slots (subscription_uuid, order_id);

-- How many slots a term has renewed; their price is part of the price of the term.
ALTER TABLE vpn_terms ADD COLUMN slots BIGINT NOT NULL DEFAULT 0 CHECK (slots >= 0);
-- The slots that a subscription has bought now, as its terms and `vpn_slots` say.
ALTER TABLE vpn_subscriptions ADD COLUMN slots BIGINT NOT NULL DEFAULT 0 CHECK (slots >= 0);
