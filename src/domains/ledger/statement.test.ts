import { describe, expect, test } from 'bun:test'
import { play, squeezed } from '../../../test/harness/bank-statement.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'

/** Each is a guarantee and the bank statement that shows it. The text after an arrow is the expected result. */
const statements: readonly [guarantee: string, script: string][] = [
  [
    'a customer can spend the balance to the last kopeck and not more',
    `
    open anna                      → balance 0.00
    charge anna 0.01 for vpn       → refused: insufficient_funds
    credit anna 100 from operator  → #1 balance 100.00
    charge anna 30.50 for vpn      → #2 balance 69.50
    charge anna 69.51 for vpn      → refused: insufficient_funds
    charge anna 69.50 for premium  → #3 balance 0.00
    charge anna 0.01 for vpn       → refused: insufficient_funds
    history anna                   → #3 charge -69.50 revenue:premium, #2 charge -30.50 revenue:vpn,
                                     #1 credit 100.00 funds:operator
    house                          → funds:operator -100.00, revenue:premium 69.50, revenue:vpn 30.50
    verify                         → clean
    `,
  ],
  [
    'concurrent charges never exceed the balance',
    `
    open anna                       → balance 0.00
    credit anna 100 from operator   → #1 balance 100.00
    race anna 30 for vpn times 8    → 3 paid, 5 refused: insufficient_funds, balance 10.00
    verify                          → clean
    `,
  ],
  [
    'charges and refunds of one customer do not affect another customer',
    `
    open anna                       → balance 0.00
    open boris                      → balance 0.00
    credit anna 50 from operator    → #1 balance 50.00
    charge boris 1 for vpn          → refused: insufficient_funds
    credit boris 7 from operator    → #1 balance 7.00
    charge anna 20 for vpn          → #2 balance 30.00
    refund boris #2 all             → refused: not_found
    charge boris 7 for vpn          → #2 balance 0.00
    orders anna                     → order2
    orders boris                    → order3
    house                           → funds:operator -57.00, revenue:vpn 27.00
    verify                          → clean
    `,
  ],
  [
    'orders are listed newest first, below a given posting',
    `
    open anna                       → balance 0.00
    credit anna 50 from operator    → #1 balance 50.00
    charge anna 1 for vpn           → #2 balance 49.00
    charge anna 2 for vpn           → #3 balance 47.00
    credit anna 1 from operator     → #4 balance 48.00
    charge anna 3 for vpn           → #5 balance 45.00
    orders anna                     → order3, order2, order1
    orders anna below #5            → order2, order1
    orders anna below #4            → order2, order1
    orders anna below #3            → order1
    orders anna below #2            → none
    `,
  ],
  [
    'a charge of 0 posts nothing, and a credit of 0 is a fault',
    `
    open anna                       → balance 0.00
    charge anna 0 for vpn           → nothing
    credit anna 0 from operator     → fault: a credit is more than nothing
    credit anna 1 from operator     → #1 balance 1.00
    charge anna 0 for vpn           → nothing
    history anna                    → #1 credit 1.00 funds:operator
    verify                          → clean
    `,
  ],
  [
    'a credit, charge or refund without an account is refused',
    `
    credit nobody 1 from operator   → refused: not_found
    charge nobody 1 for vpn         → refused: not_found
    refund nobody #1 all            → refused: not_found
    verify                          → clean
    `,
  ],
  [
    'a balance is at most 10 trillion roubles',
    `
    open anna                                  → balance 0.00
    credit anna 9999999999999.99 from operator → #1 balance 9999999999999.99
    credit anna 0.02 from operator             → refused: conflict
    credit anna 0.01 from operator             → #2 balance 10000000000000.00
    credit anna 0.01 from operator             → refused: conflict
    charge anna 1 for vpn                      → #3 balance 9999999999999.00
    verify                                     → clean
    `,
  ],
  [
    'a charge is refunded once, whole or in part, and only a charge',
    `
    open anna                       → balance 0.00
    credit anna 100 from operator   → #1 balance 100.00
    charge anna 40 for vpn          → #2 balance 60.00
    charge anna 60 for dedicated    → #3 balance 0.00
    refund anna #1 all              → refused: not_found
    refund anna #9 all              → refused: not_found
    refund anna #2 40.01            → refused: conflict
    refund anna #2 0                → refused: conflict
    refund anna #2 15               → #4 balance 15.00
    refund anna #2 25               → refused: conflict
    refund anna #2 all              → refused: conflict
    refund anna #4 all              → refused: not_found
    refund anna #3 all              → #5 balance 75.00
    history anna                    → #5 refund 60.00 revenue:dedicated, #4 refund 15.00 revenue:vpn,
                                      #3 charge -60.00 revenue:dedicated, #2 charge -40.00 revenue:vpn,
                                      #1 credit 100.00 funds:operator
    house                           → funds:operator -100.00, revenue:dedicated 0.00, revenue:vpn 25.00
    verify                          → clean
    `,
  ],
  [
    'charges by a token count as API spending, less their refunds, and other charges do not',
    `
    open anna                         → balance 0.00
    credit anna 100 from operator     → #1 balance 100.00
    charge anna 10 for vpn            → #2 balance 90.00
    charge anna 20 for vpn by phone   → #3 balance 70.00, api 20.00
    charge anna 5 for vpn by laptop   → #4 balance 65.00, api 25.00
    refund anna #2 all                → #5 balance 75.00
    refund anna #3 8                  → #6 balance 83.00, api 17.00
    refund anna #4 all                → #7 balance 88.00, api 12.00
    verify                            → clean
    `,
  ],
  [
    'a token spends up to its cap, and a refund frees that part of the cap',
    `
    open anna                                   → balance 0.00
    credit anna 1000 from operator              → #1 balance 1000.00
    charge anna 30 for vpn by phone capped 50   → #2 balance 970.00, api 30.00, phone 30.00
    charge anna 20.01 for vpn by phone          → refused: forbidden
    charge anna 20.01 for vpn by laptop         → #3 balance 949.99, api 50.01
    charge anna 20 for vpn by phone             → #4 balance 929.99, api 70.01, phone 50.00
    charge anna 0.01 for vpn by phone           → refused: forbidden
    refund anna #2 10                           → #5 balance 939.99, api 60.01, phone 40.00
    charge anna 10.01 for vpn by phone          → refused: forbidden
    charge anna 10 for vpn by phone             → #6 balance 929.99, api 70.01, phone 50.00
    race anna 1 for vpn by phone times 4        → 4 refused: forbidden, balance 929.99
    verify                                      → clean
    `,
  ],
  [
    'a refund frees the cap of the token that was charged, and of no other token',
    `
    open anna                                   → balance 0.00
    open boris                                  → balance 0.00
    credit anna 1000 from operator              → #1 balance 1000.00
    credit boris 1000 from operator             → #1 balance 1000.00
    charge anna 30 for vpn by phone capped 50   → #2 balance 970.00, api 30.00, phone 30.00
    charge anna 30 for vpn by laptop capped 50  → #3 balance 940.00, api 60.00, laptop 30.00
    charge boris 30 for vpn by desk capped 50   → #2 balance 970.00, api 30.00, desk 30.00
    refund anna #2 all                          → #4 balance 970.00, api 30.00, phone 0.00
    charge anna 20.01 for vpn by laptop         → refused: forbidden
    charge boris 20.01 for vpn by desk          → refused: forbidden
    charge anna 50 for vpn by phone             → #5 balance 920.00, api 80.00, phone 50.00
    verify                                      → clean
    `,
  ],
  [
    'a cap above the balance does not allow a charge above the balance',
    `
    open anna                                   → balance 0.00
    credit anna 10 from operator                → #1 balance 10.00
    charge anna 11 for vpn by phone capped 50   → refused: insufficient_funds
    charge anna 10 for vpn by phone             → #2 balance 0.00, api 10.00, phone 10.00
    verify                                      → clean
    `,
  ],
  [
    'a posting is never dated before the previous one, even if the clock is set back',
    `
    open anna                       → balance 0.00
    clock +100s
    credit anna 10 from operator    → #1 balance 10.00
    clock -60s
    charge anna 1 for vpn           → #2 balance 9.00
    clock +90s
    charge anna 1 for vpn           → #3 balance 8.00
    times anna                      → #3 130s, #2 100s, #1 100s
    verify                          → clean
    `,
  ],
  [
    'the database refuses to change or delete a posting',
    `
    open anna                       → balance 0.00
    credit anna 10 from operator    → #1 balance 10.00
    charge anna 4 for vpn           → #2 balance 6.00
    forge anna #2 note lie          → refused by the database
    forge anna #2 amount -1         → refused by the database
    erase anna #2                   → refused by the database
    history anna                    → #2 charge -4.00 revenue:vpn, #1 credit 10.00 funds:operator
    verify                          → clean
    `,
  ],
  [
    'verify reports a changed posting as a broken chain at that posting',
    `
    open anna                       → balance 0.00
    open boris                      → balance 0.00
    credit anna 10 from operator    → #1 balance 10.00
    charge anna 4 for vpn           → #2 balance 6.00
    charge anna 1 for vpn           → #3 balance 5.00
    credit boris 10 from operator   → #1 balance 10.00
    unguard
    forge anna #2 note lie
    verify                          → chain: posting 2 of anna
    `,
  ],
  [
    'verify reports a deleted posting as a gap in the chain and as wrong sums',
    `
    open anna                       → balance 0.00
    credit anna 10 from operator    → #1 balance 10.00
    charge anna 4 for vpn           → #2 balance 6.00
    charge anna 1 for vpn           → #3 balance 5.00
    unguard
    erase anna #2
    verify                          → chain: posting 3 of anna, balance: posting 3 of anna, balance: account of anna,
                                      chain: postings, sum: all accounts
    `,
  ],
  [
    'a checkpoint covers settled postings once, and verify reports a posting deleted after it',
    `
    open anna                       → balance 0.00
    open boris                      → balance 0.00
    credit anna 10 from operator    → #1 balance 10.00
    clock +61s
    charge anna 4 for vpn           → #2 balance 6.00
    checkpoint                      → number 1, accounts 1, postings 1
    checkpoint                      → nothing
    clock +61s
    checkpoint                      → number 2, accounts 1, postings 2
    verify                          → clean
    unguard
    erase anna #2
    verify                          → balance: account of anna, chain: account of anna, chain: postings,
                                      sum: all accounts, checkpoint: checkpoint 2
    `,
  ],
  [
    'a checkpoint includes a posting of exactly 60 s ago',
    `
    open anna                       → balance 0.00
    credit anna 10 from operator    → #1 balance 10.00
    clock +60s
    checkpoint                      → number 1, accounts 1, postings 1
    charge anna 4 for vpn           → #2 balance 6.00
    clock +60s
    charge anna 1 for vpn           → #3 balance 5.00
    checkpoint                      → number 2, accounts 1, postings 2
    verify                          → clean
    `,
  ],
]

describe.each([...engines])('bank statements of the ledger on %s', (engine) => {
  test.each([...statements])('the ledger guarantees: %s', async (_guarantee, script) => {
    const opened = await openTestDatabase(engine)
    try {
      expect(await play(opened.db, script)).toBe(squeezed(script))
    } finally {
      await opened.close()
    }
  })
})
