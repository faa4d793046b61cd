-- How many ports that stand for customers a gateway has room for, as it last said; null for one that has not said.
ALTER TABLE nodes ADD COLUMN most_ports BIGINT CHECK (most_ports >= 0);
