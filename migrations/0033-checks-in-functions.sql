-- PostgreSQL reads the text of every check anew in every statement that writes to its table: a sale spent a fifth of the
-- server's time on that. A function is read once for a connection. The same promises, one function to a table that a sale
-- writes; SQLite keeps its checks as they are.
-- rewords: every row that was allowed is, and no other
-- @postgres
CREATE FUNCTION is_account(balance BIGINT, api_spent BIGINT, seq BIGINT)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN balance BETWEEN -1000000000000000 AND 1000000000000000 AND api_spent >= 0 AND seq >= 0;
END
$$;
CREATE FUNCTION is_posting(
  seq BIGINT, kind text, house text, amount BIGINT, balance_after BIGINT, order_id text, refund_of BIGINT, key text,
  reference text
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN seq > 0
    AND kind IN ('charge', 'credit', 'refund', 'debit')
    AND (house LIKE 'funds:%' OR house LIKE 'revenue:%')
    AND amount <> 0 AND (kind IN ('charge', 'debit')) = (amount < 0)
    AND (balance_after >= 0 OR amount > 0 OR (kind = 'debit' AND house <> 'funds:operator'))
    AND (kind IN ('credit', 'debit') OR order_id IS NOT NULL)
    AND (kind = 'refund') = (refund_of IS NOT NULL)
    AND (key IS NULL OR kind IN ('credit', 'debit'))
    AND (reference IS NULL OR kind IN ('credit', 'debit'));
END
$$;
CREATE FUNCTION is_order(price BIGINT, charge_seq BIGINT)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN price >= 0 AND (price = 0) = (charge_seq IS NULL);
END
$$;
CREATE FUNCTION is_place(
  slot BIGINT, ipv BIGINT, state text, rest_until BIGINT, retiring BIGINT, quarantined BIGINT, range_id BIGINT,
  carrier text
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN slot BETWEEN 0 AND 2 AND (ipv = 3 OR slot = 0)
    AND ipv IN (3, 4, 6)
    AND state IN ('free', 'leased', 'resting', 'retired')
    AND (state = 'resting') = (rest_until IS NOT NULL)
    AND retiring IN (0, 1)
    AND quarantined IN (0, 1)
    AND (carrier IS NULL OR range_id IS NOT NULL);
END
$$;
CREATE FUNCTION is_proxy(
  ipv BIGINT, port_type text, state text, started_at BIGINT, expires_at BIGINT, both_protocols BIGINT,
  entry_port BIGINT, replaced_by text, ended_at BIGINT, interrupted_at BIGINT, interrupted_by text
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN ipv IN (3, 4, 6)
    AND port_type IN ('http', 'socks')
    AND state IN ('held', 'gone')
    AND expires_at > started_at
    AND both_protocols IN (0, 1)
    AND entry_port BETWEEN 1024 AND 65535
    AND replaced_by IN ('customer', 'operator', 'outage')
    AND (ended_at IS NULL OR state = 'gone')
    AND (interrupted_by IS NULL) = (interrupted_at IS NULL) AND interrupted_by IN ('outage', 'quarantine');
END
$$;
ALTER TABLE accounts
  ADD CONSTRAINT accounts_are_whole CHECK (is_account(balance, api_spent, seq)),
  DROP CONSTRAINT accounts_api_spent_check,
  DROP CONSTRAINT accounts_balance_check,
  DROP CONSTRAINT accounts_seq_check;
ALTER TABLE postings
  ADD CONSTRAINT postings_are_whole
    CHECK (is_posting(seq, kind, house, amount, balance_after, order_id, refund_of, key, reference)),
  DROP CONSTRAINT postings_balance_after_check,
  DROP CONSTRAINT postings_seq_check,
  DROP CONSTRAINT postings_house_check,
  DROP CONSTRAINT postings_kind_check,
  DROP CONSTRAINT postings_check,
  DROP CONSTRAINT postings_check1,
  DROP CONSTRAINT postings_check2,
  DROP CONSTRAINT postings_check3,
  DROP CONSTRAINT postings_check4;
ALTER TABLE orders
  ADD CONSTRAINT orders_are_whole CHECK (is_order(price, charge_seq)),
  DROP CONSTRAINT orders_check,
  DROP CONSTRAINT orders_price_check;
ALTER TABLE stock
  ADD CONSTRAINT stock_is_whole
    CHECK (is_place(slot, ipv, state, rest_until, retiring, quarantined, range_id, carrier)),
  DROP CONSTRAINT stock_state_check,
  DROP CONSTRAINT stock_ipv_check,
  DROP CONSTRAINT stock_retiring_check,
  DROP CONSTRAINT stock_quarantined_check,
  DROP CONSTRAINT stock_check,
  DROP CONSTRAINT stock_check1,
  DROP CONSTRAINT stock_check2;
ALTER TABLE proxies
  ADD CONSTRAINT proxies_are_whole
    CHECK (is_proxy(ipv, port_type, state, started_at, expires_at, both_protocols, entry_port, replaced_by, ended_at,
      interrupted_at, interrupted_by)),
  DROP CONSTRAINT proxies_ipv_check,
  DROP CONSTRAINT proxies_port_type_check,
  DROP CONSTRAINT proxies_state_check,
  DROP CONSTRAINT proxies_replaced_by_check,
  DROP CONSTRAINT proxies_both_protocols_check,
  DROP CONSTRAINT proxies_entry_port_check,
  DROP CONSTRAINT proxies_check,
  DROP CONSTRAINT proxies_check1,
  DROP CONSTRAINT proxies_check2;
-- The conditions of triggers are read anew in every statement too: the shortest will do, or the function decides. Whoever
-- adds addresses asks for exits among them once in a statement, and not once for each.
DROP TRIGGER postings_refunded_within ON postings;
CREATE TRIGGER postings_refunded_within BEFORE INSERT ON postings FOR EACH ROW WHEN (NEW.refund_of IS NOT NULL)
EXECUTE FUNCTION refuse_excess();
CREATE OR REPLACE FUNCTION refuse_exit_as_stock() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1953526895, 15);
  IF EXISTS (SELECT 1 FROM added JOIN exits ON host = address WHERE kind = 'local' AND drained_at IS NULL) THEN
    RAISE EXCEPTION 'the address is an exit' USING ERRCODE = '23P01';
  END IF;
  RETURN NULL;
END
$$;
CREATE FUNCTION assert_no_exit(place_address text) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1953526895, 15);
  IF EXISTS (SELECT 1 FROM exits WHERE host = place_address AND kind = 'local' AND drained_at IS NULL) THEN
    RAISE EXCEPTION 'the address is an exit' USING ERRCODE = '23P01';
  END IF;
END
$$;
CREATE FUNCTION refuse_exit_as_stock_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state = 'retired' AND NEW.state <> 'retired' THEN
    PERFORM assert_no_exit(NEW.address);
  END IF;
  RETURN NEW;
END
$$;
DROP TRIGGER stock_of_one_product ON stock;
CREATE TRIGGER stock_of_one_product AFTER INSERT ON stock REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION refuse_exit_as_stock();
DROP TRIGGER stock_of_one_product_again ON stock;
CREATE TRIGGER stock_of_one_product_again BEFORE UPDATE OF state ON stock FOR EACH ROW
EXECUTE FUNCTION refuse_exit_as_stock_again();
-- @both
