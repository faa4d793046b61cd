import { customerIdSql, tokenIdSql } from './people.ts'

/** The price and texts of a charge, here and in the compared bench. */
export const thing = {
  kopecks: 900,
  product: 'things',
  note: '1 thing',
  input: '{"count": 1}',
  calculation: '{"each_rub": 9}',
} as const

/** Now, in milliseconds. */
export const nowSql = 'CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)'

/** An id that sorts by time, of the same length as ours. */
export const orderIdSql = (nowMs: string): string =>
  `'ord_' || lpad(to_hex(${nowMs}), 12, '0') || left(replace(CAST(gen_random_uuid() AS text), '-', ''), 14)`

/** The hashed text of a charge, exactly as the ledger writes it, so that `verify` accepts these postings. */
export const sealedSql = (of: {
  head: string
  customer: string
  seq: string
  house: string
  amount: string
  after: string
  order: string
  token: string
  note: string
  at: string
}): string =>
  `sha256(convert_to('["' || encode(${of.head}, 'hex') || '","' || ${of.customer} || '",' || ${of.seq} || ',"charge","' || ${of.house}
    || '","' || ${of.amount} || '","' || ${of.after} || '","' || ${of.order} || '","' || ${of.token} || '",null,"' || ${of.note} || '",'
    || ${of.at} || ']', 'UTF8'))`

/** The reference: one round trip, with all logic in a function. It takes the number of a customer. */
export const chargeFunction = `
CREATE FUNCTION bench_charge(number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  customer text := ${customerIdSql('number')};
  token text := ${tokenIdSql('number')};
  now_ms bigint := ${nowSql};
  new_order text := ${orderIdSql('now_ms')};
  account accounts%ROWTYPE;
  price bigint := ${thing.kopecks};
  at_ms bigint;
  new_hash bytea;
BEGIN
  SELECT * INTO account FROM accounts WHERE customer_id = customer FOR UPDATE;
  IF account.balance < price THEN RAISE EXCEPTION 'insufficient funds'; END IF;
  at_ms := greatest(now_ms, account.last_at);
  new_hash := ${sealedSql({
    head: 'account.head',
    customer: 'customer',
    seq: '(account.seq + 1)',
    house: `'revenue:${thing.product}'`,
    amount: '(-price)',
    after: '(account.balance - price)',
    order: 'new_order',
    token: 'token',
    note: `'${thing.note}'`,
    at: 'at_ms',
  })};
  UPDATE accounts SET balance = account.balance - price, api_spent = account.api_spent + price, seq = account.seq + 1,
    head = new_hash, last_at = at_ms WHERE customer_id = customer;
  INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash)
    VALUES (customer, account.seq + 1, 'charge', 'revenue:${thing.product}', -price, account.balance - price, new_order, token,
      NULL, '${thing.note}', at_ms, new_hash);
  INSERT INTO orders (id, customer_id, product, action, price, charge_seq, token_id, input, calculation, created_at)
    VALUES (new_order, customer, '${thing.product}', 'buy', price, account.seq + 1, token, '${thing.input}', '${thing.calculation}', now_ms);
  RETURN account.balance - price;
END
$$`

export const chargeByFunction = (people: number): string => `
\\set number random(1, ${people})
SELECT bench_charge(:number);
`

/** pgbench reads a colon before a letter as a variable, also between quotes. */
const house = `U&'revenue\\003a${thing.product}'`

/** The same statements sent one by one, as from a program without stored functions. */
export const chargeByStatements = (people: number): string => `
\\set number random(1, ${people})
BEGIN;
SELECT balance, api_spent, seq, head, last_at FROM accounts WHERE customer_id = ${customerIdSql(':number')} FOR UPDATE \\gset
\\set after :balance - ${thing.kopecks}
\\set spent :api_spent + ${thing.kopecks}
\\set next :seq + 1
INSERT INTO orders (id, customer_id, product, action, price, charge_seq, token_id, input, calculation, created_at)
  SELECT ${orderIdSql('now_ms')}, ${customerIdSql(':number')}, '${thing.product}', 'buy', ${thing.kopecks}, CAST(:next AS bigint),
    ${tokenIdSql(':number')}, '${thing.input}', '${thing.calculation}', now_ms FROM (SELECT ${nowSql} AS now_ms) AS now
  RETURNING id AS new_order, greatest(created_at, CAST(:last_at AS bigint)) AS at_ms \\gset
UPDATE accounts SET balance = CAST(:after AS bigint), api_spent = CAST(:spent AS bigint), seq = CAST(:next AS bigint),
  last_at = CAST(:at_ms AS bigint), head = ${sealedSql({
    head: 'CAST(:head AS bytea)',
    customer: 'customer_id',
    seq: 'CAST(:next AS text)',
    house,
    amount: `'-${thing.kopecks}'`,
    after: 'CAST(:after AS text)',
    order: 'CAST(:new_order AS text)',
    token: tokenIdSql(':number'),
    note: `'${thing.note}'`,
    at: 'CAST(:at_ms AS text)',
  })}
  WHERE customer_id = ${customerIdSql(':number')} AND balance >= ${thing.kopecks} RETURNING head AS new_hash \\gset
INSERT INTO postings (customer_id, seq, kind, house, amount, balance_after, order_id, token_id, refund_of, note, at, hash)
  VALUES (${customerIdSql(':number')}, CAST(:next AS bigint), 'charge', ${house}, -${thing.kopecks}, CAST(:after AS bigint),
    CAST(:new_order AS text), ${tokenIdSql(':number')}, NULL, '${thing.note}', CAST(:at_ms AS bigint), CAST(:new_hash AS bytea));
COMMIT;
`
