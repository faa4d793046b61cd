-- Whoever was let in may be shut out before his purchase has its turn. Each account counts how often that happened to its
-- customer or to one of his tokens. A sale, which holds the account anyway, compares the count with what it was at the
-- door, and asks for more only where they differ.
-- rewords: two triggers of SQLite's ask the same after a row was written that they asked before
ALTER TABLE accounts ADD COLUMN shut_count BIGINT NOT NULL DEFAULT 0;
-- @postgres
CREATE FUNCTION count_shut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET shut_count = shut_count + 1 WHERE customer_id = to_jsonb(OLD) ->> TG_ARGV[0];
  RETURN NULL;
END
$$;
CREATE TRIGGER customers_shut AFTER UPDATE OF blocked_at ON customers FOR EACH ROW
WHEN (OLD.blocked_at IS DISTINCT FROM NEW.blocked_at) EXECUTE FUNCTION count_shut('id');
CREATE TRIGGER tokens_shut AFTER UPDATE OF customer_id, expires_at, revoked_at ON tokens FOR EACH ROW
WHEN (OLD.customer_id IS DISTINCT FROM NEW.customer_id OR OLD.expires_at IS DISTINCT FROM NEW.expires_at
  OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
EXECUTE FUNCTION count_shut('customer_id');
CREATE TRIGGER tokens_gone AFTER DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION count_shut('customer_id');
-- @sqlite
CREATE TRIGGER customers_shut AFTER UPDATE OF blocked_at ON customers WHEN OLD.blocked_at IS NOT NEW.blocked_at
BEGIN UPDATE accounts SET shut_count = shut_count + 1 WHERE customer_id = OLD.id; END;
CREATE TRIGGER tokens_shut AFTER UPDATE OF customer_id, expires_at, revoked_at ON tokens
WHEN OLD.customer_id IS NOT NEW.customer_id OR OLD.expires_at IS NOT NEW.expires_at OR OLD.revoked_at IS NOT NEW.revoked_at
BEGIN UPDATE accounts SET shut_count = shut_count + 1 WHERE customer_id = OLD.customer_id; END;
CREATE TRIGGER tokens_gone AFTER DELETE ON tokens
BEGIN UPDATE accounts SET shut_count = shut_count + 1 WHERE customer_id = OLD.customer_id; END;
-- Asked after the row has been written and not before: SQLite need not look for it twice then.
DROP TRIGGER postings_refunded_within;
CREATE TRIGGER postings_refunded_within AFTER INSERT ON postings
WHEN NEW.kind = 'refund' AND (SELECT SUM(amount) FROM postings
    WHERE customer_id = NEW.customer_id AND refund_of = NEW.refund_of) >
  -COALESCE((SELECT amount FROM postings WHERE customer_id = NEW.customer_id AND seq = NEW.refund_of AND kind = 'charge'), 0)
BEGIN
  SELECT RAISE(ABORT, 'a charge is refunded no more than it was');
END;
DROP TRIGGER stock_of_one_product_again;
CREATE TRIGGER stock_of_one_product_again AFTER UPDATE OF state ON stock
WHEN OLD.state = 'retired' AND NEW.state <> 'retired'
  AND EXISTS (SELECT 1 FROM exits WHERE host = NEW.address AND kind = 'local' AND drained_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'the address is an exit');
END;
-- @both
