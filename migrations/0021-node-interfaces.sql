-- The summed speed of a node's network interfaces, as it reported: at most 800 Gbit/s. NULL if the node reports none.
ALTER TABLE nodes ADD COLUMN interface_mbit BIGINT CHECK (interface_mbit BETWEEN 1 AND 800000);
