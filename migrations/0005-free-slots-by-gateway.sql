-- A sale draws a gateway by its free slots and then takes the first free slot of that gateway. Shops of 0.2 use
-- stock_free, which stays until the next minor release.
CREATE INDEX stock_free_of_node ON stock (country, ipv, serving_node, id) WHERE state = 'free';
