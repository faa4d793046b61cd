-- A sale draws a gateway by its free slots and then takes the first free slot of that gateway. A shop of 0.2 that still
-- runs beside this one finds its slots without the dropped index, more slowly.
DROP INDEX stock_free;
CREATE INDEX stock_free_of_node ON stock (country, ipv, serving_node, id) WHERE state = 'free';
