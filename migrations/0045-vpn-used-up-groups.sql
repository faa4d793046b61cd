-- Groups of nodes of which a subscription has used up its part, with spaces between their names; NULL is none.
ALTER TABLE vpn_subscriptions ADD COLUMN used_up_groups TEXT;
CREATE INDEX vpn_subscriptions_used_up ON vpn_subscriptions (uuid) WHERE used_up_groups IS NOT NULL;
