-- The name that a customer gives a VPN subscription, to tell several apart; NULL without one.
ALTER TABLE vpn_subscriptions ADD COLUMN name TEXT;
