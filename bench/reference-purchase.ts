import { customerIdSql, tokenIdSql } from './people.ts'
import { nowSql, orderIdSql, sealedSql } from './reference-charge.ts'

/** The bought product: dedicated proxies in one country for a month. */
export const purchaseInput = { country: 'DE', ipv: 4, period: 30 } as const

/**
 * A purchase of dedicated proxies as one function: lock, check, take slots, lease, proxies, order, posting. It searches
 * free slots from a given id, so that clients do not all lock the first free row. Passwords are unencrypted random
 * bytes, which saves the cipher.
 */
export const purchaseFunction = `
CREATE FUNCTION bench_purchase(number bigint, start bigint, count bigint, price bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  customer text := ${customerIdSql('number')};
  token text := ${tokenIdSql('number')};
  now_ms bigint := ${nowSql};
  end_ms bigint := now_ms + CAST(${purchaseInput.period} AS bigint) * 86400000;
  new_order text := ${orderIdSql('now_ms')};
  note text := count || ' × ${purchaseInput.country} IPv4, ${purchaseInput.period} days';
  account accounts%ROWTYPE;
  place record;
  places bigint := 0;
  proxy bigint;
  secret bytea;
  answer text := '';
  at_ms bigint;
  new_hash bytea;
BEGIN
  SELECT * INTO account FROM accounts WHERE customer_id = customer FOR UPDATE;
  IF account.balance < price THEN RAISE EXCEPTION 'insufficient funds'; END IF;
  FOR place IN
    UPDATE stock SET state = 'leased' WHERE state = 'free' AND id IN (
      SELECT id FROM stock
      WHERE country = '${purchaseInput.country}' AND ipv = ${purchaseInput.ipv} AND state = 'free' AND id > start
      ORDER BY id LIMIT count FOR UPDATE SKIP LOCKED)
    RETURNING id, address
  LOOP
    places := places + 1;
    proxy := nextval('bench_proxies');
    secret := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
    INSERT INTO leases (slot_id, started_at, proxy_id) VALUES (place.id, now_ms, proxy);
    INSERT INTO proxies (id, customer_id, order_id, slot_id, address, country, ipv, port_type, username, password,
        password_digest, comment, state, started_at, expires_at, changed_at)
      VALUES (proxy, customer, new_order, place.id, place.address, '${purchaseInput.country}', ${purchaseInput.ipv}, 'http',
        'tp' || to_hex(proxy) || left(encode(secret, 'hex'), 4), secret, sha256(secret), '', 'held', now_ms, end_ms, now_ms);
    answer := answer || proxy || ' ' || place.address || ' ' || encode(secret, 'hex') || ',';
  END LOOP;
  IF places < count THEN RAISE EXCEPTION 'out of stock'; END IF;
  at_ms := greatest(now_ms, account.last_at);
  new_hash := ${sealedSql({
    head: 'account.head',
    customer: 'customer',
    seq: '(account.seq + 1)',
    house: `'revenue:dedicated'`,
    amount: '(-price)',
    after: '(account.balance - price)',
    order: 'new_order',
    token: 'token',
    note: 'note',
    at: 'at_ms',
  })};
  UPDATE accounts SET balance = account.balance - price, api_spent = account.api_spent + price, seq = account.seq + 1,
    head = new_hash, last_at = at_ms WHERE customer_id = customer;
  INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash)
    VALUES (customer, account.seq + 1, 'charge', 'revenue:dedicated', -price, account.balance - price, new_order, token,
      NULL, note, at_ms, new_hash);
  INSERT INTO orders (id, customer_id, product, action, price, charge_seq, token_id, input, calculation, created_at)
    VALUES (new_order, customer, 'dedicated', 'buy', price, account.seq + 1, token,
      '{"country_code":"${purchaseInput.country}","period":${purchaseInput.period},"count":' || count || ',"ipv":${purchaseInput.ipv}}',
      '{"catalogue":1,"country":"${purchaseInput.country}","ipv":${purchaseInput.ipv},"period":${purchaseInput.period},"count":' || count || ',"kopecks":"' || price
        || '","discount_percent":5,"expires_at":' || end_ms || '}', now_ms);
  RETURN answer;
END
$$`

/** Numbers of the proxies that pgbench sells, far above those of the shop. */
export const purchaseNumbers = 'CREATE SEQUENCE bench_proxies START 1000000000 CACHE 1000'

export const purchaseScript = (of: { people: number; slots: number; count: number; price: bigint }): string => `
\\set number random(1, ${of.people})
\\set start random(0, ${of.slots})
SELECT bench_purchase(:number, :start, ${of.count}, ${of.price});
`
